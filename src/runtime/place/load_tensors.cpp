// Makes tensors over the bytes of a checkpoint, by the layout that runtime/checkpoint reads.
#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <unordered_map>

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <torchport/checkpoint.h>

#include "runtime/checkpoint/contents.h"
#include "runtime/checkpoint/shards.h"
#include "runtime/place/file_bytes.h"

namespace torchport {

namespace {

using checkpoint::Contents;
using checkpoint::Storage;
using checkpoint::TensorEntry;

[[noreturn]] void refuse(const std::string& path, std::string_view why) {
  throw std::runtime_error(fmt::format("torchport: {}: {}", path, why));
}

Contents contents_of(const std::string& path) {
  auto contents = checkpoint::inspect(path);
  if (!contents) refuse(path, contents.error().message);
  if (const std::string fault = contents->fault(); !fault.empty()) refuse(path, fault);
  if (!contents->refused.empty())
    contents->notes.push_back(fmt::format("only its tensors were read, and no objects of {}",
                                          checkpoint::first_names(contents->refused)));
  return std::move(*contents);
}

class Loader {
 public:
  Loader(const std::string& path, const LoadOptions& options)
      : path_(path), options_(options), contents_(contents_of(path)) {
    bytes_.resize(contents_.storages.size());
  }

  LoadedTensors load() {
    LoadedTensors loaded{contents_.format, {}, contents_.notes};
    if (!contents_.storages.empty()) file_ = std::make_shared<FileBytes>(path_);
    for (const TensorEntry& entry : contents_.tensors) {
      if (entry.kind == "tensor" || entry.kind == "parameter")
        loaded.tensors.push_back({entry.path, tensor(entry)});
      else if (contents_.format == "torch.export")
        refuse(path_,
               fmt::format("{} is a tensor subclass, which needs its class in Python", entry.path));
      else
        refuse(path_,
               fmt::format("{} is a {} tensor, which only torch.load(weights_only=True) can load",
                           entry.path, entry.kind));
    }
    share_again(loaded);
    return loaded;
  }

 private:
  // The bytes of a storage, on the target device.
  const at::Tensor& bytes_of(std::size_t index, unsigned element) {
    at::Tensor& bytes = bytes_[index];
    if (bytes.defined()) return bytes;
    const Storage& storage = contents_.storages[index];
    if (!storage.offset)
      refuse(path_,
             fmt::format("storage {} is compressed: load it once with torch.load and save it "
                         "again",
                         storage.key));
    at::Tensor mapped = FileBytes::tensor(file_, *storage.offset, storage.bytes);
    // The format allows data at any offset, but processors need alignment.
    const bool aligned = reinterpret_cast<std::uintptr_t>(mapped.const_data_ptr()) % element == 0;
    if (options_.device.is_cpu() && options_.map && aligned) return bytes = std::move(mapped);
    bytes = at::empty({static_cast<std::int64_t>(storage.bytes)},
                      at::TensorOptions().dtype(at::kByte).device(options_.device));
    bytes.copy_(mapped);
    file_->release(*storage.offset, storage.bytes);
    return bytes;
  }

  at::Tensor tensor(const TensorEntry& entry) {
    const auto& dtypes = c10::getStringToDtypeMap();
    const auto dtype = dtypes.find(entry.dtype);
    if (dtype == dtypes.end())
      refuse(path_, fmt::format("{} has dtype {}, which this torch does not have", entry.path,
                                entry.dtype.empty() ? "unknown" : entry.dtype));
    if (!entry.storage)
      refuse(path_, fmt::format("{} has no data: it was saved from the meta device", entry.path));
    const auto element = static_cast<unsigned>(c10::elementSize(dtype->second));
    const at::Tensor& bytes = bytes_of(*entry.storage, std::max(element, 1U));
    at::Tensor result = at::empty({0}, bytes.options().dtype(dtype->second));
    result.set_(bytes.storage(), entry.offset, entry.shape, entry.stride);
    if (!options_.dtype || *options_.dtype == dtype->second || !at::isFloatingType(dtype->second))
      return result;
    // Tensors that shared a storage no longer share it after a cast.
    return result.to(*options_.dtype);
  }

  // A safetensors file of ours names the tensors that were the same memory.
  void share_again(LoadedTensors& loaded) const {
    if (contents_.shared.empty()) return;
    std::unordered_map<std::string_view, std::size_t> at;
    for (std::size_t i = 0; i < loaded.tensors.size(); ++i) at[loaded.tensors[i].name] = i;
    for (const auto& [name, first] : contents_.shared) {
      const auto found = at.find(first);
      if (found == at.end())
        refuse(path_,
               fmt::format("{} shares memory with {}, which is not in the file", name, first));
      if (!at.contains(name))
        loaded.tensors.push_back({name, loaded.tensors[found->second].tensor});
    }
  }

  const std::string& path_;
  const LoadOptions& options_;
  Contents contents_;
  std::shared_ptr<FileBytes> file_;
  std::vector<at::Tensor> bytes_;
};

}  // namespace

LoadedTensors load_tensors(const std::string& path, const LoadOptions& options) {
  std::error_code error;
  if (std::filesystem::exists(std::filesystem::path(path) / ".metadata", error))
    refuse(path,
           "is a checkpoint of torch.distributed.checkpoint: load it with Python's "
           "torchport.load");
  const auto found = checkpoint::shard_index_of(path);
  if (!found) refuse(found.error().path, found.error().message);
  const auto& index = *found;
  if (!index) return Loader(path, options).load();
  LoadedTensors whole{"safetensors, sharded", {}, {}};
  for (const auto& [file, names] : index->shards) {
    LoadedTensors part = Loader(file, options).load();
    for (NamedTensor& named : part.tensors) {
      if (names.contains(named.name)) whole.tensors.push_back(std::move(named));
    }
    whole.notes.insert(whole.notes.end(), part.notes.begin(), part.notes.end());
  }
  if (whole.tensors.size() < index->tensors)
    refuse(index->file, fmt::format("it names {} tensors, but its files have only {} of them",
                                    index->tensors, whole.tensors.size()));
  return whole;
}

FileSummary summarize(const std::string& path) {
  const auto contents = checkpoint::inspect(path);
  if (!contents) return {{}, contents.error().message, {}, false};
  FileSummary summary{contents->format, contents->fault(), contents->refused, true};
  for (const Storage& storage : contents->storages) summary.mappable &= storage.offset.has_value();
  return summary;
}

}  // namespace torchport
