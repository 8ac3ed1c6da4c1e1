#include <map>
#include <stdexcept>

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torchport/checkpoint.h>

namespace torchport {

namespace {

TensorSlot slot_of(const std::string& name, const at::Tensor& tensor) {
  return {name, tensor.sizes().vec(), tensor.scalar_type()};
}

// Keeps only the tensors under "key.", and removes that prefix.
void choose(std::vector<NamedTensor>& tensors, const std::string& key, const std::string& path) {
  if (key.empty()) return;
  const std::string prefix = key + ".";
  std::erase_if(tensors, [&](const NamedTensor& named) { return !named.name.starts_with(prefix); });
  if (tensors.empty())
    throw std::runtime_error(fmt::format("torchport: {} has no tensors under \"{}\"", path, key));
  for (NamedTensor& named : tensors) named.name.erase(0, prefix.size());
}

// The names of each tensor that has several.
std::vector<std::vector<std::string>> ties_of(const std::vector<NamedTensor>& wanted) {
  std::map<const c10::TensorImpl*, std::vector<std::string>> names;
  for (const auto& [name, tensor] : wanted)
    if (tensor.defined()) names[tensor.unsafeGetTensorImpl()].push_back(name);
  std::vector<std::vector<std::string>> ties;
  for (auto& [impl, group] : names)
    if (group.size() > 1) ties.push_back(std::move(group));
  return ties;
}

}  // namespace

LoadReport load_into(torch::nn::Module& module, const std::string& path,
                     const LoadIntoOptions& options) {
  std::vector<NamedTensor> wanted;
  for (const auto& item : module.named_parameters()) wanted.push_back({item.key(), item.value()});
  for (const auto& item : module.named_buffers()) wanted.push_back({item.key(), item.value()});
  LoadedTensors loaded = load_tensors(path, options);
  choose(loaded.tensors, options.key, path);
  std::vector<TensorSlot> wanted_slots;
  std::vector<TensorSlot> given_slots;
  for (const auto& [name, tensor] : wanted) wanted_slots.push_back(slot_of(name, tensor));
  for (const auto& [name, tensor] : loaded.tensors) given_slots.push_back(slot_of(name, tensor));
  LoadPlan plan = plan_load(wanted_slots, given_slots, options.remap_prefixes, ties_of(wanted));
  if (options.strict && !plan.report.complete())
    throw std::runtime_error(
        fmt::format("torchport: {} does not fit the module\n{}", path, plan.report.text()));
  for (const auto& [want, give] : plan.pairs) {
    at::Tensor& source = loaded.tensors[give].tensor;
    // Not strict: the model's own tensor stays.
    if (source.sizes() != wanted[want].tensor.sizes()) continue;
    at::Tensor target = wanted[want].tensor;
    target.set_data(source.to(options.dtype && target.is_floating_point() ? *options.dtype
                                                                          : target.scalar_type()));
    source.reset();  // frees the source of a cast, so that it is not held twice
  }
  module.to(options.device);
  return std::move(plan.report);
}

}  // namespace torchport
