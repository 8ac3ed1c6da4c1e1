#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torchport/kernel.h>

namespace torchport::detail {

namespace {

std::string name_of(c10::DeviceType kind) {
  return c10::DeviceTypeName(kind, /*lower_case=*/true);
}

std::string devices_of(const KernelArguments& arguments) {
  std::vector<std::string> each;
  each.reserve(arguments.tensors.size());
  for (const auto& [number, tensor] : arguments.tensors)
    each.push_back(fmt::format("argument {} on {}", number + 1, tensor->device().str()));
  return fmt::format("{}", fmt::join(each, ", "));
}

}  // namespace

c10::DeviceType kind_of(const std::string& name, const KernelArguments& arguments) {
  std::set<c10::DeviceType> all;
  std::set<c10::DeviceType> without_scalars;
  for (const auto& [number, tensor] : arguments.tensors) {
    const c10::DeviceType kind = tensor->device().type();
    all.insert(kind);
    if (kind != c10::DeviceType::CPU || tensor->dim() > 0) without_scalars.insert(kind);
  }
  const auto& kinds = all.size() > 1 ? without_scalars : all;
  if (kinds.size() == 1) return *kinds.begin();
  if (kinds.size() > 1) {
    throw std::invalid_argument(fmt::format(
        "torchport: {} got tensors on several device kinds: {}; move them to one device", name,
        devices_of(arguments)));
  }
  if (arguments.asked) return arguments.asked->type();
  throw std::invalid_argument(
      fmt::format("torchport: {} chooses its kernel by the device of its tensors, but got neither "
                  "a tensor nor a device; pass one of them",
                  name));
}

void no_kernel(const std::string& name, c10::DeviceType kind,
               const std::vector<c10::DeviceType>& there) {
  std::vector<std::string> names;
  names.reserve(there.size());
  for (const c10::DeviceType one : there) names.push_back(name_of(one));
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "torchport: ", name, " has no kernel for ", name_of(kind), "; it has ",
      names.empty() ? std::string("none") : fmt::format("{}", fmt::join(names, ", ")),
      ". Add one with .on(", "c10::DeviceType::", c10::DeviceTypeName(kind, false),
      ", ...) or .fallback(...)");
}

void second_kernel(const std::string& name, std::optional<c10::DeviceType> kind) {
  throw std::invalid_argument(
      kind ? fmt::format("torchport: {} already has a kernel for {}", name, name_of(*kind))
           : fmt::format("torchport: {} already has a fallback", name));
}

}  // namespace torchport::detail
