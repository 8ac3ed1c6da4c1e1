#include "infer/tensor_file.h"

#include <memory>
#include <stdexcept>

#include <ATen/ops/from_blob.h>
#include <torchport/dtype.h>

#include "checkpoint/archive.h"
#include "checkpoint/contents.h"
#include "checkpoint/formats.h"
#include "infer/npy.h"

namespace torchport::infer {

namespace {

using Mapping = std::shared_ptr<const checkpoint::MappedFile>;

constexpr std::uint64_t kMostBytes = 64ULL << 30;

at::Tensor read_npy(std::string_view bytes, std::shared_ptr<const void> owner) {
  const NpyHeader header = read_npy_header(bytes);
  if (header.bytes > bytes.size() - header.data)
    throw std::runtime_error("its .npy array is cut off: " + std::to_string(header.bytes) +
                             " bytes of elements expected, " +
                             std::to_string(bytes.size() - header.data) + " there");
  return npy_tensor(header, bytes.data() + header.data, std::move(owner));
}

NamedTensors read_npz(const std::string& path, const checkpoint::Archive& archive) {
  constexpr std::string_view kSuffix = ".npy";
  NamedTensors tensors;
  for (const auto& entry : archive.entries()) {
    if (!entry.name.ends_with(kSuffix)) continue;
    auto content = archive.read(entry, kMostBytes);
    if (!content) throw std::runtime_error(content.error().message);
    const auto owner = std::make_shared<const std::string>(std::move(*content));
    tensors.emplace_back(entry.name.substr(0, entry.name.size() - kSuffix.size()),
                         read_npy(*owner, owner));
  }
  if (tensors.empty()) throw std::runtime_error("there is no array in it: " + path);
  return tensors;
}

// safetensors and torch.save, both described by inspect() without unpickling anything.
NamedTensors read_checkpoint(const std::string& path, const Mapping& file) {
  const auto contents = checkpoint::inspect(path);
  if (!contents) throw std::runtime_error(contents.error().message);
  if (!contents->broken.empty()) throw std::runtime_error("it is damaged: " + contents->broken[0]);
  NamedTensors tensors;
  for (const auto& entry : contents->tensors) {
    const auto dtype = dtype_named(entry.dtype);
    if (!entry.storage || !dtype || entry.kind == "sparse" || entry.kind == "quantized")
      throw std::runtime_error(entry.path + " is a " + entry.kind + " tensor of " + entry.dtype +
                               ", which cannot be read here");
    const auto& storage = contents->storages[*entry.storage];
    std::int64_t last = entry.offset;  // element that is reached
    bool empty = false;
    for (std::size_t i = 0; i < entry.shape.size(); ++i) {
      empty = empty || entry.shape[i] == 0;
      last += (entry.shape[i] - 1) * entry.stride[i];
    }
    const auto size = static_cast<std::int64_t>(c10::elementSize(*dtype));
    if (!storage.offset ||
        (!empty && (last + 1) * size > static_cast<std::int64_t>(storage.stored.value_or(0))))
      throw std::runtime_error("the bytes of " + entry.path + " are not all there");
    const char* data = file->bytes().data() + *storage.offset + entry.offset * size;
    tensors.emplace_back(entry.path, at::from_blob(
                                         const_cast<char*>(data), entry.shape, entry.stride,
                                         [file](void*) {}, *dtype));
  }
  if (tensors.empty()) throw std::runtime_error("there is no tensor in it");
  return tensors;
}

NamedTensors read_mapped(const std::string& path, const Mapping& file) {
  const std::string_view bytes = file->bytes();
  if (is_npy(bytes)) return {{"", read_npy(bytes, file)}};
  if (bytes.starts_with("PK")) {
    const auto archive = checkpoint::Archive::open(path, bytes);
    if (!archive) throw std::runtime_error(archive.error().message);
    const auto& entries = archive->entries();
    if (!entries.empty() && entries.front().name.ends_with(".npy")) return read_npz(path, *archive);
  }
  return read_checkpoint(path, file);
}

}  // namespace

NamedTensors read_tensors(const std::string& path) {
  auto file = checkpoint::MappedFile::open(path);
  if (!file) throw std::runtime_error("cannot read " + path + ": " + file.error().message);
  try {
    return read_mapped(path, std::make_shared<const checkpoint::MappedFile>(std::move(*file)));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error("cannot read " + path + ": " + error.what());
  }
}

}  // namespace torchport::infer
