// Reads checkpoints that are folders: shards with an index, and those of
// torch.distributed.checkpoint.
#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "runtime/checkpoint/formats.h"
#include "runtime/checkpoint/pickle.h"
#include "runtime/checkpoint/shards.h"

namespace torchport::checkpoint {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMetadata = "torch.distributed.checkpoint.metadata.";

void append(Contents part, const std::string& file, const std::set<std::string>& names,
            Contents& whole) {
  const std::size_t first = whole.storages.size();
  for (Storage& storage : part.storages) {
    storage.file = file;
    whole.storages.push_back(std::move(storage));
  }
  for (TensorEntry& tensor : part.tensors) {
    if (!names.contains(tensor.path)) continue;
    if (tensor.storage) *tensor.storage += first;
    whole.tensors.push_back(std::move(tensor));
  }
  for (std::string& fault : part.broken) whole.broken.push_back(fmt::format("{}: {}", file, fault));
  for (std::string& note : part.notes)
    if (std::find(whole.notes.begin(), whole.notes.end(), note) == whole.notes.end())
      whole.notes.push_back(std::move(note));
}

base::Result<Contents> inspect_shards(const ShardIndex& index) {
  Contents whole;
  whole.format = fmt::format("safetensors in {} files", index.shards.size());
  for (const auto& [path, names] : index.shards) {
    const std::string file = fs::path(path).filename().string();
    auto part = inspect(path);
    if (!part) {
      whole.broken.push_back(fmt::format("{}, with {} tensor{}: {}", file, names.size(),
                                         names.size() == 1 ? "" : "s", part.error().message));
      continue;
    }
    for (const std::string& name : names) {
      const auto& has = part->tensors;
      const auto& shared = part->shared;
      if (std::none_of(has.begin(), has.end(),
                       [&](const TensorEntry& tensor) { return tensor.path == name; }) &&
          std::none_of(shared.begin(), shared.end(),
                       [&](const auto& pair) { return pair.first == name; }))
        whole.broken.push_back(fmt::format("{} is not in {}", name, file));
    }
    append(std::move(*part), file, names, whole);
  }
  return whole;
}

// Reads the metadata of torch.distributed.checkpoint (metadata.py and filesystem.py there) as data.
class Metadata {
 public:
  Metadata(const Pickle& pickle, fs::path folder) : pickle_(pickle), folder_(std::move(folder)) {}

  base::Result<Contents> read() {
    const Object& root = pickle_.root();
    if (class_of(root) != "Metadata" || root.state == kNoRef)
      return base::fail(base::ErrorCode::kEncoding,
                        "is not metadata of torch.distributed.checkpoint",
                        (folder_ / ".metadata").string());
    contents_.format = "torch.distributed.checkpoint";
    if (const Object* tensors = member(root, "state_dict_metadata")) {
      for (const auto& [name, what] : tensors->entries)
        add_tensor(pickle_.at(name).text, pickle_.at(what));
    }
    if (const Object* places = member(root, "storage_data")) check_files(*places);
    for (const std::string& name : pickle_.globals()) {
      contents_.globals.push_back(name);
      if (!name.starts_with("torch.") && !is_accepted(name) && !name.starts_with("pathlib"))
        contents_.refused.push_back(name);
      if (is_dangerous(name))
        contents_.broken.push_back(fmt::format(
            "its metadata asks for {}: loading it with torch could run any code", name));
    }
    return std::move(contents_);
  }

 private:
  // The name of an object's class without its module: "TensorStorageMetadata".
  std::string class_of(const Object& object) const {
    if (object.type != Type::kCall || object.items.empty()) return {};
    const std::string name = pickle_.name_of(object.items.front());
    return name.starts_with(kMetadata) ? name.substr(kMetadata.size()) : std::string();
  }

  const Object* member(const Object& object, std::string_view name) const {
    if (object.state == kNoRef) return nullptr;
    const Ref found = pickle_.find(pickle_.at(object.state), name);
    return found == kNoRef ? nullptr : &pickle_.at(found);
  }

  // The numbers of a torch.Size.
  std::vector<std::int64_t> numbers(const Object* size) const {
    std::vector<std::int64_t> result;
    if (size == nullptr || size->type != Type::kCall || size->items.size() < 2) return result;
    const Object& arguments = pickle_.at(size->items[1]);
    if (arguments.items.empty()) return result;
    for (const Ref item : pickle_.at(arguments.items.front()).items)
      result.push_back(pickle_.at(item).integer);
    return result;
  }

  void add_tensor(const std::string& name, const Object& what) {
    if (class_of(what) != "TensorStorageMetadata") {
      contents_.values.push_back({name, "an object"});
      return;
    }
    TensorEntry tensor;
    tensor.path = name;
    tensor.kind = "tensor";
    tensor.device = "cpu";
    tensor.shape = numbers(member(what, "size"));
    std::uint64_t count = 1;
    for (const std::int64_t size : tensor.shape) {
      if (size < 0 || __builtin_mul_overflow(count, static_cast<std::uint64_t>(size), &count)) {
        contents_.broken.push_back(fmt::format("{} has an impossible shape", name));
        return;
      }
    }
    tensor.stride.assign(tensor.shape.size(), 1);
    for (std::size_t i = tensor.shape.size(); i-- > 1;)
      tensor.stride[i - 1] = tensor.stride[i] * std::max<std::int64_t>(tensor.shape[i], 1);
    if (const Object* properties = member(what, "properties");
        properties != nullptr && properties->state != kNoRef &&
        !pickle_.at(properties->state).items.empty())
      tensor.dtype = dtype_named(pickle_.name_of(pickle_.at(properties->state).items.front()));
    Storage storage;
    storage.key = name;
    storage.dtype = tensor.dtype;
    storage.device = "cpu";
    if (__builtin_mul_overflow(count, std::uint64_t{element_size(tensor.dtype)}, &storage.bytes))
      storage.bytes = 0;
    if (const Object* chunks = member(what, "chunks");
        chunks != nullptr && chunks->items.size() > 1)
      contents_.values.push_back({name, fmt::format("in {} pieces", chunks->items.size())});
    tensor.storage = contents_.storages.size();
    contents_.storages.push_back(std::move(storage));
    contents_.tensors.push_back(std::move(tensor));
  }

  // Reports files that the metadata names and that are missing or too short.
  void check_files(const Object& places) {
    std::map<std::string, std::int64_t> ends;
    for (const auto& [index, place] : places.entries) {
      const Object* file = member(pickle_.at(place), "relative_path");
      const Object* offset = member(pickle_.at(place), "offset");
      const Object* length = member(pickle_.at(place), "length");
      if (file == nullptr || offset == nullptr || length == nullptr) continue;
      std::int64_t end = 0;
      if (__builtin_add_overflow(offset->integer, length->integer, &end)) end = INT64_MAX;
      auto& known = ends[file->text];
      known = std::max(known, end);
    }
    for (const auto& [name, end] : ends) {
      const fs::path relative(name);
      if (relative.is_absolute() || name.find("..") != std::string::npos) {
        contents_.broken.push_back(
            fmt::format("it names the file {}, which is outside its folder", name));
        continue;
      }
      std::error_code error;
      const auto size = fs::file_size(folder_ / relative, error);
      if (error)
        contents_.broken.push_back(fmt::format("{} is missing: {}", name, error.message()));
      else if (end > 0 && size < static_cast<std::uint64_t>(end))
        contents_.broken.push_back(
            fmt::format("{} was cut off: it has only {} of {} bytes", name, size, end));
    }
  }

  const Pickle& pickle_;
  fs::path folder_;
  Contents contents_;
};

}  // namespace

base::Result<Contents> inspect_folder(const std::string& path) {
  const fs::path metadata = fs::path(path) / ".metadata";
  std::error_code error;
  if (fs::is_regular_file(metadata, error)) {
    const auto file = MappedFile::open(metadata.string());
    if (!file) return tl::unexpected<base::Error>(file.error());
    const auto pickle = read_pickle(file->bytes());
    if (!pickle) {
      base::Error fault = pickle.error();
      fault.path = metadata.string();
      return tl::unexpected<base::Error>(std::move(fault));
    }
    return Metadata(*pickle, path).read();
  }
  const auto index = shard_index_of(path);
  if (!index) return tl::unexpected<base::Error>(index.error());
  return inspect_shards(**index);
}

}  // namespace torchport::checkpoint
