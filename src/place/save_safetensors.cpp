// https://github.com/huggingface/safetensors#format: eight bytes of size, that many of JSON, data.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torchport/checkpoint.h>
#include <unistd.h>

#include "checkpoint/contents.h"

namespace torchport {

namespace {

using json = nlohmann::ordered_json;

// Kept beside the file until it is whole.
class PartialFile {
 public:
  explicit PartialFile(const std::string& path)
      : path_(path), partial_(fmt::format("{}.{}.partial", path, getpid())) {
    file_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0) refuse();
  }
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;
  ~PartialFile() {
    if (file_ < 0) return;
    ::close(file_);
    ::unlink(partial_.c_str());
  }

  void write(const void* data, std::size_t size) {
    const char* at = static_cast<const char*>(data);
    while (size > 0) {
      const ssize_t written = ::write(file_, at, size);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) refuse();
      at += written;
      size -= static_cast<std::size_t>(written);
    }
  }

  void finish() {
    if (fsync(file_) != 0) refuse();
    if (::rename(partial_.c_str(), path_.c_str()) != 0) refuse();
    ::close(file_);
    file_ = -1;
  }

 private:
  [[noreturn]] void refuse() const {
    throw std::runtime_error(fmt::format("torchport: {}: {}", path_, std::strerror(errno)));
  }

  std::string path_;
  std::string partial_;
  int file_ = -1;
};

// What makes two tensors the same memory in the same shape.
using Identity = std::tuple<const void*, std::vector<std::int64_t>, std::vector<std::int64_t>,
                            at::ScalarType, std::string>;

Identity identity_of(const at::Tensor& tensor) {
  return {tensor.const_data_ptr(), tensor.sizes().vec(), tensor.strides().vec(),
          tensor.scalar_type(), tensor.device().str()};
}

struct Layout {
  json header = json::object();
  std::vector<const at::Tensor*> written;
};

void check(const NamedTensor& named, std::set<std::string>& names) {
  const auto refuse = [&](std::string_view why) {
    throw std::invalid_argument(fmt::format("torchport: {}: {}", named.name, why));
  };
  if (!names.insert(named.name).second) refuse("is given twice");
  if (named.name == "__metadata__") refuse("is a name that the format keeps for itself");
  const at::Tensor& tensor = named.tensor;
  if (!tensor.defined()) refuse("is no tensor");
  if (tensor.is_meta()) refuse("is on the meta device, which has no data");
  if (tensor.layout() != at::kStrided) refuse("is sparse: save it with torch.save, or to_dense()");
  if (tensor.is_quantized()) refuse("is quantized: save it with torch.save, or dequantize()");
}

Layout lay_out(const std::vector<NamedTensor>& tensors,
               const std::vector<std::pair<std::string, std::string>>& metadata) {
  Layout layout;
  json own{{"format", "pt"}};
  for (const auto& [key, value] : metadata) own[key] = value;
  json shared = json::object();
  layout.header["__metadata__"] = nullptr;  // comes first
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
  // Wider elements first, as the format's own library does: all data is aligned then.
  std::vector<NamedTensor> ordered = tensors;
  std::stable_sort(ordered.begin(), ordered.end(), [](const NamedTensor& a, const NamedTensor& b) {
    const auto width = [](const at::Tensor& t) { return t.defined() ? t.element_size() : 0; };
    return width(a.tensor) > width(b.tensor);
  });
  const Layout layout = lay_out(ordered, metadata);
  std::string header = layout.header.dump(-1, ' ', false, json::error_handler_t::replace);
  header.append((8 - header.size() % 8) % 8, ' ');
  PartialFile file(path);
  std::array<unsigned char, 8> size{};
  for (std::size_t i = 0; i < size.size(); ++i)
    size[i] = static_cast<unsigned char>((header.size() >> (8 * i)) & 0xFFU);
  file.write(size.data(), size.size());
  file.write(header.data(), header.size());
  for (const at::Tensor* tensor : layout.written) {
    const at::Tensor plain = tensor->detach().resolve_conj().resolve_neg().cpu().contiguous();
    file.write(plain.const_data_ptr(), plain.nbytes());
  }
  file.finish();
}

}  // namespace torchport
