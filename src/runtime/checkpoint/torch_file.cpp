// Reads the two formats of torch.save (torch/serialization.py) and the formats that build on the
// newer one.
#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/bytes.h"
#include "runtime/checkpoint/archive.h"
#include "runtime/checkpoint/formats.h"
#include "runtime/checkpoint/named_devices.h"
#include "runtime/checkpoint/pickled.h"
#include "runtime/checkpoint/wrappers.h"

namespace torchport::checkpoint {

namespace {

constexpr std::size_t kMostDimensions = 64;  // as in torch
// Weights are hardly compressible; an archive that expands so much is made to fill the memory.
constexpr std::uint64_t kMostUnpacked = std::uint64_t{1} << 30U;
constexpr std::uint64_t kMostTimes = 100;
constexpr std::uint64_t kMostPickle = std::uint64_t{512} << 20U;

// Reports each tensor that reaches beyond its storage. torch notices that only when it loads the
// file, or never.
void check_bounds(Contents& contents) {
  for (const TensorEntry& tensor : contents.tensors) {
    if (!tensor.storage) continue;
    const Storage& storage = contents.storages[*tensor.storage];
    const std::uint64_t size = std::max(element_size(tensor.dtype), 1U);
    const bool empty = std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end();
    bool inside = tensor.offset >= 0 && tensor.shape.size() == tensor.stride.size() &&
                  tensor.shape.size() <= kMostDimensions;
    std::int64_t last = tensor.offset;
    for (std::size_t i = 0; inside && !empty && i < tensor.shape.size(); ++i) {
      std::int64_t step = 0;
      inside = tensor.shape[i] > 0 && tensor.stride[i] >= 0 &&
               !__builtin_mul_overflow(tensor.shape[i] - 1, tensor.stride[i], &step) &&
               !__builtin_add_overflow(last, step, &last);
    }
    if (inside && !empty) inside = static_cast<std::uint64_t>(last) < storage.bytes / size;
    if (!inside)
      contents.broken.push_back(
          fmt::format("{} extends beyond its storage {}", tensor.path, storage.key));
  }
}

void note_devices(Contents& contents) {
  if (contents.format == "torch.export") return;  // see note_fixed_devices()
  const bool script = contents.format == "TorchScript";
  for (const std::string& device : contents.devices()) {
    if (device == "cpu" || device == "meta" || device.empty()) continue;
    contents.notes.push_back(
        fmt::format("saved from {}: load it with map_location=\"cpu\" or your device; otherwise "
                    "{} fails on a machine without {}",
                    device, script ? "torch.jit.load" : "torch.load", device));
  }
}

// An exported program and a trace are made for one device. `named`: those that their code names.
void note_fixed_devices(std::set<std::string> named, Contents& contents) {
  const bool script = contents.format == "TorchScript";
  if (!script)
    for (const std::string& device : contents.devices())
      if (!device.empty() && device != "cpu" && device != "meta") named.insert(device);
  if (named.empty()) return;
  contents.notes.push_back(
      script
          ? fmt::format("its code names {}, which neither map_location nor .to() changes: trace it "
                        "again on the "
                        "device that is to run it, or save it by torch.jit.script",
                        fmt::join(named, " and "))
          : fmt::format("its program is made for {}; torch.export.load has no map_location, and "
                        ".to() does not "
                        "change it: export it again on the device that is to run it, or move it by "
                        "torch.export.passes.move_to_device_pass(program, device)",
                        fmt::join(named, " and ")));
}

// The wrappers with a key prefix: "DataParallel, DistributedDataParallel or AveragedModel".
std::string wrappers_with(std::string_view prefix) {
  std::vector<std::string_view> names;
  for (const Wrapper& wrapper : kWrappers) {
    if (wrapper.key_prefix == prefix) names.push_back(wrapper.name);
  }
  if (names.size() == 1) return std::string(names.front());
  return fmt::format("{} or {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

void note_prefix(Contents& contents) {
  const auto has = [&](std::string_view part) {
    return std::count_if(contents.tensors.begin(), contents.tensors.end(),
                         [&](const TensorEntry& t) {
                           return t.path.starts_with(part) ||
                                  t.path.find(fmt::format(".{}", part)) != std::string::npos;
                         });
  };
  std::set<std::string_view> noted;
  for (const Wrapper& wrapper : kWrappers) {
    if (!noted.insert(wrapper.key_prefix).second) continue;
    const auto count = has(wrapper.key_prefix);
    if (count > 0 && 2 * count >= static_cast<std::ptrdiff_t>(contents.tensors.size()))
      contents.notes.push_back(
          fmt::format("names begin with \"{}\", so it was saved from {}: remove the prefix before "
                      "load_state_dict",
                      wrapper.key_prefix, wrappers_with(wrapper.key_prefix)));
  }
}

void note_globals(Contents& contents) {
  judge_globals(contents);
  if (contents.refused.empty()) return;
  for (const std::string& name : contents.refused)
    if (is_dangerous(name))
      contents.dangers.push_back(fmt::format(
          "it asks for {}: loading it would run its code on this machine; do not load it", name));
  contents.notes.push_back(
      "torch.load(weights_only=True) refuses it because of the names above; weights_only=False "
      "runs code from the file: use it only if you trust the file's source");
}

void finish(Contents& contents) {
  check_bounds(contents);
  note_devices(contents);
  note_prefix(contents);
}

// The folder that the archive's names begin with: "archive/" of "archive/data.pkl".
std::string root_of(const Archive& archive, std::string_view name) {
  for (const Archive::Entry& entry : archive.entries()) {
    const auto slash = entry.name.find('/');
    if (slash != std::string::npos && std::string_view(entry.name).substr(slash + 1) == name)
      return entry.name.substr(0, slash + 1);
  }
  return {};
}

void place_storages(const Archive& archive, const std::string& folder, std::size_t first,
                    Contents& contents) {
  std::unordered_map<std::string_view, const Archive::Entry*> by_name;
  for (const Archive::Entry& entry : archive.entries()) by_name[entry.name] = &entry;
  bool compressed = false;
  std::uint64_t packed = 0;
  std::uint64_t unpacked = 0;
  for (std::size_t i = first; i < contents.storages.size(); ++i) {
    Storage& storage = contents.storages[i];
    const auto found = by_name.find(folder + storage.key);
    if (found == by_name.end()) {
      contents.broken.push_back(fmt::format("storage {} is not in the file", storage.key));
      continue;
    }
    storage.stored = found->second->bytes;
    if (found->second->stored && found->second->offset == 0)
      contents.broken.push_back(fmt::format("storage {} has a damaged header", storage.key));
    else if (found->second->stored)
      storage.offset = found->second->offset;
    compressed |= !found->second->stored;
    packed += found->second->packed;
    unpacked += found->second->bytes;
    if (*storage.stored < storage.bytes)
      contents.broken.push_back(fmt::format("storage {} has only {} of {} bytes", storage.key,
                                            *storage.stored, storage.bytes));
  }
  if (unpacked > kMostUnpacked && unpacked / kMostTimes > packed)
    contents.broken.push_back(fmt::format("unpacks to {} from {}, which no tensors of a model do",
                                          base::format_bytes(unpacked),
                                          base::format_bytes(packed)));
  if (compressed)
    contents.notes.emplace_back(
        "its tensors are compressed (a ZIP tool repacked the file): torch.load(mmap=True) cannot "
        "map them");
}

// Adds one pickle of an archive. Returns false if the archive has none of that name.
base::Result<bool> add_entry(const Archive& archive, const std::string& pickle,
                             const std::string& folder, Contents& contents) {
  const Archive::Entry* entry = archive.find(pickle);
  if (entry == nullptr) return false;
  const auto bytes = archive.read(*entry, kMostPickle);
  if (!bytes) return tl::unexpected<base::Error>(bytes.error());
  const auto read = read_pickle(*bytes);
  if (!read) {
    base::Error error = read.error();
    error.message = fmt::format("{}: {}", pickle, error.message);
    return tl::unexpected<base::Error>(std::move(error));
  }
  const std::size_t first = contents.storages.size();
  add_pickled(*read, contents);
  place_storages(archive, folder, first, contents);
  return true;
}

struct Legacy {
  std::string_view bytes;
  std::size_t at = 0;

  base::Result<Pickle> next() {
    auto pickle = read_pickle(bytes.substr(at));
    if (pickle) at += pickle->length();
    return pickle;
  }
};

bool is_magic(const Pickle& pickle) {
  constexpr std::string_view kMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
  return pickle.root().type == Type::kInt && pickle.root().text == kMagic;
}

// After the last pickle the file has, for each storage, its count of elements and then the
// elements.
void place_legacy(const Pickle& keys, Legacy& file, Contents& contents) {
  for (const Ref ref : keys.root().items) {
    const std::string& key = keys.at(ref).text;
    const auto storage =
        std::find_if(contents.storages.begin(), contents.storages.end(),
                     [&](const Storage& candidate) { return candidate.key == key; });
    if (storage == contents.storages.end()) {
      contents.broken.push_back(fmt::format("storage {} has no tensor", key));
      return;
    }
    const std::size_t left = file.bytes.size() - file.at;
    storage->stored = left < 8 ? 0 : std::min<std::uint64_t>(storage->bytes, left - 8);
    storage->offset = file.at + 8;
    if (*storage->stored < storage->bytes || left < 8) {
      contents.broken.push_back(
          fmt::format("the file ends within storage {}: it was cut off", key));
      return;
    }
    file.at += 8 + storage->bytes;
  }
}

}  // namespace

base::Result<Contents> inspect_archive(const std::string& path, std::string_view bytes) {
  const auto archive = Archive::open(path, bytes);
  if (!archive) return tl::unexpected<base::Error>(archive.error());
  if (const std::string exported = root_of(*archive, "archive_format"); !exported.empty()) {
    auto contents = inspect_export(*archive, exported);
    if (contents) {
      finish(*contents);
      note_fixed_devices(named_devices(*archive), *contents);
    }
    return contents;
  }
  Contents contents;
  const bool script = !root_of(*archive, "constants.pkl").empty();
  const std::string root = root_of(*archive, "data.pkl");
  if (root.empty())
    return base::fail(base::ErrorCode::kEncoding,
                      "is a ZIP archive, but torch did not write it (it has no data.pkl)");
  contents.format = script ? "TorchScript" : "torch.save";
  for (const auto& [pickle, folder] : {std::pair<std::string, std::string>{"data.pkl", "data/"},
                                       {"constants.pkl", "constants/"}}) {
    const auto added = add_entry(*archive, root + pickle, root + folder, contents);
    if (!added) return tl::unexpected<base::Error>(added.error());
  }
  if (const auto* order = archive->find(root + "byteorder")) {
    const auto name = archive->read(*order, 16);
    if (name && *name == "big")
      contents.notes.emplace_back("saved on a big-endian machine: torch.load swaps the bytes");
  }
  if (!script) note_globals(contents);
  finish(contents);
  if (script) note_fixed_devices(named_devices(*archive), contents);
  return contents;
}

base::Result<Contents> inspect_legacy(std::string_view bytes) {
  Legacy file{bytes};
  Contents contents;
  auto first = file.next();
  if (!first) return tl::unexpected<base::Error>(first.error());
  contents.format = "pickle";
  if (!is_magic(*first)) {
    add_pickled(*first, contents);
  } else {
    contents.format = "torch.save, legacy";
    const auto protocol = file.next();
    const auto system = protocol ? file.next() : protocol;
    const auto object = system ? file.next() : system;
    if (!object) return tl::unexpected<base::Error>(object.error());
    add_pickled(*object, contents);
    const auto keys = file.next();
    if (keys)
      place_legacy(*keys, file, contents);
    else
      contents.broken.emplace_back("the file ends before its tensors: it was cut off");
  }
  note_globals(contents);
  finish(contents);
  return contents;
}

}  // namespace torchport::checkpoint
