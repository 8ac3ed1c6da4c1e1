// Saves tensors of any device as safetensors.
#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include <fmt/format.h>
#include <torchport/checkpoint.h>

#include "runtime/checkpoint/contents.h"
#include "runtime/checkpoint/safetensors_file.h"

namespace torchport {

namespace {

// Tensors with the same identity are the same memory with the same shape.
using Identity = std::tuple<const void*, std::vector<std::int64_t>, std::vector<std::int64_t>,
                            at::ScalarType, std::string>;

Identity identity_of(const at::Tensor& tensor) {
  return {tensor.const_data_ptr(), tensor.sizes().vec(), tensor.strides().vec(),
          tensor.scalar_type(), tensor.device().str()};
}

struct Layout {
  std::vector<checkpoint::SafetensorsEntry> entries;
  std::vector<const at::Tensor*> written;  // parallel to entries
  checkpoint::NamedTexts shared;
};

void check(const NamedTensor& named, std::set<std::string>& names) {
  const auto refuse = [&](std::string_view why) {
    throw std::invalid_argument(fmt::format("torchport: {}: {}", named.name, why));
  };
  if (!names.insert(named.name).second) refuse("the name is given twice");
  if (named.name == "__metadata__") refuse("the format reserves this name");
  const at::Tensor& tensor = named.tensor;
  if (!tensor.defined()) refuse("it is not a tensor");
  if (tensor.key_set().has(c10::DispatchKey::Python))
    refuse(
        "it is a tensor subclass with parts of its own, which the format does not have: save it "
        "with "
        "torch.save");
  if (tensor.is_nested())
    refuse("it is nested: save it with torch.save, or convert it with to_padded_tensor()");
  if (tensor.is_meta()) refuse("it is on the meta device, which has no data");
  if (tensor.layout() != at::kStrided)
    refuse("it is sparse: save it with torch.save, or convert it with to_dense()");
  if (tensor.is_quantized())
    refuse("it is quantized: save it with torch.save, or convert it with dequantize()");
}

Layout lay_out(const std::vector<NamedTensor>& tensors) {
  Layout layout;
  std::map<Identity, std::string> first;
  std::set<std::string> names;
  for (const NamedTensor& named : tensors) {
    check(named, names);
    const at::Tensor& tensor = named.tensor;
    if (tensor.numel() > 0) {
      const auto [known, fresh] = first.emplace(identity_of(tensor), named.name);
      if (!fresh) {
        layout.shared.emplace_back(named.name, known->second);
        continue;
      }
    }
    const std::string dtype =
        checkpoint::safetensors_name(c10::getDtypeNames(tensor.scalar_type()).first);
    if (dtype.empty())
      throw std::invalid_argument(fmt::format("torchport: {}: safetensors has no dtype {}",
                                              named.name, c10::toString(tensor.scalar_type())));
    layout.entries.push_back({named.name, dtype, tensor.sizes().vec(), tensor.nbytes()});
    layout.written.push_back(&tensor);
  }
  return layout;
}

}  // namespace

void save_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                      const std::vector<std::pair<std::string, std::string>>& metadata) {
  // Writes wider elements first, as the format's own library does, so that all data is aligned.
  std::vector<NamedTensor> ordered = tensors;
  std::stable_sort(ordered.begin(), ordered.end(), [](const NamedTensor& a, const NamedTensor& b) {
    const auto width = [](const at::Tensor& t) { return t.defined() ? t.element_size() : 0; };
    return width(a.tensor) > width(b.tensor);
  });
  const Layout layout = lay_out(ordered);
  const auto written = checkpoint::write_safetensors(
      path, layout.entries, layout.shared, metadata,
      [&](std::size_t index, base::PartialFile& file) {
        const at::Tensor& tensor = *layout.written[index];
        const at::Tensor plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous();
        return file.write(plain.const_data_ptr(), plain.nbytes());
      });
  if (!written)
    throw std::runtime_error(
        fmt::format("torchport: {}: {}", written.error().path, written.error().message));
}

}  // namespace torchport
