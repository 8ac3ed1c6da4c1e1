#include "runtime/checkpoint/extract.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "runtime/checkpoint/contents.h"
#include "runtime/checkpoint/formats.h"
#include "runtime/checkpoint/safetensors_file.h"

namespace torchport::checkpoint {

namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 20U;

constexpr double kMostTimes = 64;
constexpr double kMostExpanded = 1 << 30;

std::uint64_t elements_of(const TensorEntry& tensor) {
  std::uint64_t count = 1;
  for (const std::int64_t size : tensor.shape) count *= static_cast<std::uint64_t>(size);
  return count;
}

bool is_contiguous(const TensorEntry& tensor) {
  std::int64_t step = 1;
  for (std::size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.stride[i] != step) return false;
    step *= tensor.shape[i];
  }
  return true;
}

// Why safetensors cannot hold a tensor; empty if it can.
std::string why_not(const TensorEntry& tensor, const Contents& contents) {
  if (tensor.kind != "tensor" && tensor.kind != "parameter")
    return fmt::format("it is a {} tensor", tensor.kind);
  if (!tensor.storage) return "it has no data";
  if (safetensors_name(tensor.dtype).empty())
    return fmt::format("safetensors has no dtype {}", tensor.dtype);
  const Storage& storage = contents.storages[*tensor.storage];
  if (!storage.offset) return "its bytes are compressed";
  // Strides of zero can make any size of a few bytes.
  double bytes = element_size(tensor.dtype);
  for (const std::int64_t size : tensor.shape) bytes *= static_cast<double>(size);
  if (bytes > kMostTimes * static_cast<double>(storage.bytes) && bytes > kMostExpanded)
    return "it repeats its few values too often";
  return {};
}

// Writes the elements of a tensor with any strides in their order.
base::Result<void> write_elements(const TensorEntry& tensor, std::string_view storage,
                                  base::PartialFile& file) {
  const std::size_t width = element_size(tensor.dtype);
  const std::uint64_t count = elements_of(tensor);
  const char* start = storage.data() + static_cast<std::uint64_t>(tensor.offset) * width;
  if (count == 0) return {};
  if (is_contiguous(tensor)) return file.write(start, count * width);
  std::vector<std::int64_t> index(tensor.shape.size(), 0);
  std::string buffer;
  std::int64_t at = 0;
  for (std::uint64_t done = 0; done < count; ++done) {
    buffer.append(start + static_cast<std::size_t>(at) * width, width);
    for (std::size_t i = index.size(); i-- > 0;) {
      at += tensor.stride[i];
      if (++index[i] < tensor.shape[i]) break;
      at -= tensor.stride[i] * tensor.shape[i];
      index[i] = 0;
    }
    if (buffer.size() < kBuffer && done + 1 < count) continue;
    if (auto written = file.write(buffer.data(), buffer.size()); !written) return written;
    buffer.clear();
  }
  return {};
}

// The name under the key; empty if the tensor is not under it.
std::string name_under(const std::string& path, const std::string& key) {
  if (key.empty()) return path;
  return path.starts_with(key + ".") ? path.substr(key.size() + 1) : std::string();
}

class Extraction {
 public:
  Extraction(const Contents& contents, const std::string& path) : contents_(contents), path_(path) {
    std::error_code error;
    const std::filesystem::path given(path);
    folder_ = std::filesystem::is_directory(given, error) ? given : given.parent_path();
  }

  base::Result<Extracted> run(const std::string& target, const std::string& key) {
    choose(key);
    if (chosen_.empty())
      return base::fail(base::ErrorCode::kUsage,
                        key.empty() ? std::string("has no tensors that safetensors can hold")
                                    : fmt::format("has no tensors under \"{}\"", key),
                        path_);
    const auto written = write_safetensors(
        target, entries_, shared_, {},
        [&](std::size_t index, base::PartialFile& file) { return write(*chosen_[index], file); });
    if (!written) return tl::unexpected<base::Error>(written.error());
    result_.tensors = entries_.size() + shared_.size();
    return std::move(result_);
  }

 private:
  using Identity = std::tuple<std::size_t, std::int64_t, std::vector<std::int64_t>,
                              std::vector<std::int64_t>, std::string>;

  void choose(const std::string& key) {
    std::vector<std::pair<std::string, const TensorEntry*>> named;
    for (const TensorEntry& tensor : contents_.tensors) {
      std::string name = name_under(tensor.path, key);
      if (name.empty()) continue;
      if (const std::string why = why_not(tensor, contents_); !why.empty())
        result_.left_out.push_back(fmt::format("{}, because {}", name, why));
      else
        named.emplace_back(std::move(name), &tensor);
    }
    // Wider elements come first, so that all data is aligned.
    std::stable_sort(named.begin(), named.end(), [](const auto& a, const auto& b) {
      return element_size(a.second->dtype) > element_size(b.second->dtype);
    });
    std::map<Identity, std::string> first;
    std::set<std::string> names;
    for (auto& [name, tensor] : named) {
      if (!names.insert(name).second) continue;
      const auto [known, fresh] = first.emplace(
          Identity{*tensor->storage, tensor->offset, tensor->shape, tensor->stride, tensor->dtype},
          name);
      if (!fresh && elements_of(*tensor) > 0) {
        shared_.emplace_back(name, known->second);
        continue;
      }
      const std::uint64_t bytes = elements_of(*tensor) * element_size(tensor->dtype);
      entries_.push_back({name, safetensors_name(tensor->dtype), tensor->shape, bytes});
      chosen_.push_back(tensor);
      result_.bytes += bytes;
    }
  }

  base::Result<void> write(const TensorEntry& tensor, base::PartialFile& file) {
    const Storage& storage = contents_.storages[*tensor.storage];
    const std::string path = storage.file.empty() ? path_ : (folder_ / storage.file).string();
    auto known = files_.find(path);
    if (known == files_.end()) {
      auto opened = MappedFile::open(path);
      if (!opened) return tl::unexpected<base::Error>(opened.error());
      known = files_.emplace(path, std::move(*opened)).first;
    }
    const std::string_view bytes = known->second.bytes();
    if (*storage.offset > bytes.size() || storage.bytes > bytes.size() - *storage.offset)
      return base::fail(base::ErrorCode::kSyntax, fmt::format("{} is cut off", tensor.path), path);
    return write_elements(tensor, bytes.substr(*storage.offset, storage.bytes), file);
  }

  const Contents& contents_;
  const std::string& path_;
  std::filesystem::path folder_;  // of the files of a checkpoint in several files
  std::vector<SafetensorsEntry> entries_;
  std::vector<const TensorEntry*> chosen_;  // parallel to entries_
  NamedTexts shared_;
  std::map<std::string, MappedFile> files_;
  Extracted result_;
};

}  // namespace

base::Result<Extracted> extract(const std::string& path, const std::string& target,
                                const std::string& key) {
  const auto contents = inspect(path);
  if (!contents) return tl::unexpected<base::Error>(contents.error());
  if (!contents->broken.empty())
    return base::fail(base::ErrorCode::kSyntax, contents->broken.front(), path);
  return Extraction(*contents, path).run(target, key);
}

}  // namespace torchport::checkpoint
