#include "runtime/infer/tensor_file.h"

#include <memory>
#include <stdexcept>

#include "runtime/checkpoint/archive.h"
#include "runtime/checkpoint/formats.h"
#include "runtime/infer/npy.h"

namespace torchport::infer {

namespace {

using Mapping = std::shared_ptr<const checkpoint::MappedFile>;

constexpr std::uint64_t kMostBytes = 64ULL << 30;

at::Tensor read_npy(std::string_view bytes, std::shared_ptr<const void> owner) {
  const NpyHeader header = read_npy_header(bytes);
  if (header.bytes > bytes.size() - header.data)
    throw std::runtime_error("its .npy array was cut off: " + std::to_string(header.bytes) +
                             " bytes of elements expected, " +
                             std::to_string(bytes.size() - header.data) + " there");
  return npy_tensor(header, bytes.data() + header.data, std::move(owner));
}

NamedTensors read_npz(const checkpoint::Archive& archive) {
  constexpr std::string_view kSuffix = ".npy";
  NamedTensors tensors;
  for (const auto& entry : archive.entries()) {
    if (!entry.name.ends_with(kSuffix)) continue;
    auto content = archive.read(entry, kMostBytes);
    if (!content) throw std::runtime_error(content.error().message);
    const auto owner = std::make_shared<const std::string>(std::move(*content));
    tensors.push_back(
        {entry.name.substr(0, entry.name.size() - kSuffix.size()), read_npy(*owner, owner)});
  }
  if (tensors.empty()) throw std::runtime_error("it does not contain an array");
  return tensors;
}

// Reads .npy and .npz; returns nothing for another kind of file.
NamedTensors read_numpy(const std::string& path, const Mapping& file) {
  const std::string_view bytes = file->bytes();
  if (is_npy(bytes)) return {{"", read_npy(bytes, file)}};
  if (!bytes.starts_with("PK")) return {};
  const auto archive = checkpoint::Archive::open(path, bytes);
  if (!archive) throw std::runtime_error(archive.error().message);
  const auto& entries = archive->entries();
  if (entries.empty() || !entries.front().name.ends_with(".npy")) return {};
  return read_npz(*archive);
}

}  // namespace

NamedTensors read_tensors(const std::string& path) {
  auto file = checkpoint::MappedFile::open(path);
  if (!file) throw std::runtime_error("cannot read " + path + ": " + file.error().message);
  NamedTensors tensors;
  try {
    tensors = read_numpy(path, std::make_shared<const checkpoint::MappedFile>(std::move(*file)));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error("cannot read " + path + ": " + error.what());
  }
  if (tensors.empty()) tensors = load_tensors(path).tensors;
  if (tensors.empty())
    throw std::runtime_error("cannot read " + path + ": it does not contain a tensor");
  return tensors;
}

}  // namespace torchport::infer
