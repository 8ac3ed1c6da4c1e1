// Writes safetensors files: eight bytes of header size, the header as JSON, then the data.
// https://github.com/huggingface/safetensors#format
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torchport/checkpoint.h>

#include "base/partial_file.h"
#include "runtime/checkpoint/contents.h"

namespace torchport {

namespace {

using Json = nlohmann::ordered_json;

template <class T>
T checked(base::Result<T> result) {
  if (!result)
    throw std::runtime_error(
        fmt::format("torchport: {}: {}", result.error().path, result.error().message));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// Tensors with the same identity are the same memory with the same shape.
using Identity = std::tuple<const void*, std::vector<std::int64_t>, std::vector<std::int64_t>,
                            at::ScalarType, std::string>;

Identity identity_of(const at::Tensor& tensor) {
  return {tensor.const_data_ptr(), tensor.sizes().vec(), tensor.strides().vec(),
          tensor.scalar_type(), tensor.device().str()};
}

struct Layout {
  Json header = Json::object();
  std::vector<const at::Tensor*> written;
};

void check(const NamedTensor& named, std::set<std::string>& names) {
  const auto refuse = [&](std::string_view why) {
    throw std::invalid_argument(fmt::format("torchport: {}: {}", named.name, why));
  };
  if (!names.insert(named.name).second) refuse("the name is given twice");
  if (named.name == "__metadata__") refuse("the format reserves this name");
  const at::Tensor& tensor = named.tensor;
  if (!tensor.defined()) refuse("it is not a tensor");
  if (tensor.is_meta()) refuse("it is on the meta device, which has no data");
  if (tensor.layout() != at::kStrided)
    refuse("it is sparse: save it with torch.save, or convert it with to_dense()");
  if (tensor.is_quantized())
    refuse("it is quantized: save it with torch.save, or convert it with dequantize()");
}

Layout lay_out(const std::vector<NamedTensor>& tensors,
               const std::vector<std::pair<std::string, std::string>>& metadata) {
  Layout layout;
  Json own{{"format", "pt"}};
  for (const auto& [key, value] : metadata) own[key] = value;
  Json shared = Json::object();
  layout.header["__metadata__"] = nullptr;  // inserted first, so that it is written first
  std::map<Identity, std::string> first;
  std::set<std::string> names;
  std::uint64_t at = 0;
  for (const NamedTensor& named : tensors) {
    check(named, names);
    const at::Tensor& tensor = named.tensor;
    if (tensor.numel() > 0) {
      const auto [known, fresh] = first.emplace(identity_of(tensor), named.name);
      if (!fresh) {
        shared[named.name] = known->second;
        continue;
      }
    }
    const std::string dtype =
        checkpoint::safetensors_name(c10::getDtypeNames(tensor.scalar_type()).first);
    if (dtype.empty())
      throw std::invalid_argument(fmt::format("torchport: {}: safetensors has no dtype {}",
                                              named.name, c10::toString(tensor.scalar_type())));
    layout.header[named.name] = {{"dtype", dtype},
                                 {"shape", tensor.sizes().vec()},
                                 {"data_offsets", {at, at + tensor.nbytes()}}};
    layout.written.push_back(&tensor);
    at += tensor.nbytes();
  }
  if (!shared.empty()) own["torchport.shared"] = shared.dump();
  layout.header["__metadata__"] = std::move(own);
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
  const Layout layout = lay_out(ordered, metadata);
  std::string header = layout.header.dump(-1, ' ', false, Json::error_handler_t::replace);
  header.append((8 - header.size() % 8) % 8, ' ');
  auto file = checked(base::PartialFile::create(path));
  std::array<unsigned char, 8> size{};
  for (std::size_t i = 0; i < size.size(); ++i)
    size[i] = static_cast<unsigned char>((header.size() >> (8 * i)) & 0xFFU);
  checked(file.write(size.data(), size.size()));
  checked(file.write(header.data(), header.size()));
  for (const at::Tensor* tensor : layout.written) {
    const at::Tensor plain = tensor->detach().resolve_conj().resolve_neg().cpu().contiguous();
    checked(file.write(plain.const_data_ptr(), plain.nbytes()));
  }
  checked(file.finish());
}

}  // namespace torchport
