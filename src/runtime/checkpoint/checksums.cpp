#include "runtime/checkpoint/checksums.h"

#include <map>

#include <fmt/format.h>

#include "runtime/checkpoint/archive.h"
#include "runtime/checkpoint/formats.h"

namespace torchport::checkpoint {

namespace {

// The tensors by the key of their storage: "layers.0.weight, head.weight".
std::map<std::string, std::string> tensors_by_storage(const Contents& contents) {
  std::map<std::string, std::string> names;
  for (const TensorEntry& tensor : contents.tensors) {
    if (!tensor.storage) continue;
    std::string& known = names[contents.storages[*tensor.storage].key];
    known += known.empty() ? tensor.path : ", " + tensor.path;
  }
  return names;
}

}  // namespace

base::Result<Checksums> compare_checksums(const std::string& path, const Contents& contents) {
  Checksums result;
  if (contents.format != "torch.save" && contents.format != "TorchScript" &&
      contents.format != "torch.export")
    return result;
  const auto file = MappedFile::open(path);
  if (!file) return tl::unexpected<base::Error>(file.error());
  if (!file->bytes().starts_with("PK\x03\x04")) return result;
  const auto archive = Archive::open(path, file->bytes());
  if (!archive) return tl::unexpected<base::Error>(archive.error());
  const auto tensors = tensors_by_storage(contents);
  for (const Archive::Entry& entry : archive->entries()) {
    const auto intact = archive->is_intact(entry);
    if (!intact) continue;
    ++result.compared;
    if (*intact) continue;
    const auto tensor = tensors.find(entry.name.substr(entry.name.rfind('/') + 1));
    result.damaged.push_back(
        tensor == tensors.end()
            ? fmt::format("{} does not have the bytes that were saved", entry.name)
            : fmt::format("{} does not have the bytes that were saved: {}", entry.name,
                          tensor->second));
  }
  return result;
}

}  // namespace torchport::checkpoint
