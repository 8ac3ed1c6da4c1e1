#include <set>

#include "base/file_system.h"

namespace torchport::base {

namespace {

// "./a/b" and "a/b" are one file.
std::string normal(const std::string& path) {
  return path.starts_with("./") ? path.substr(2) : path;
}

}  // namespace

void MemoryFileSystem::add(const std::string& path, std::string content) {
  files_[normal(path)].content = std::move(content);
}

Result<std::string> MemoryFileSystem::read(const std::string& path) const {
  const auto found = files_.find(normal(path));
  if (found == files_.end()) return fail(ErrorCode::kIo, "No such file or directory", path);
  return found->second.content;
}

FileStatus MemoryFileSystem::status(const std::string& path, bool /*follow_links*/) const {
  FileStatus status;
  const std::string key = normal(path);
  if (const auto found = files_.find(key); found != files_.end()) {
    status.type = FileType::kRegular;
    status.size = found->second.content.size();
    status.mode = found->second.mode;
    return status;
  }
  const std::string prefix = key == "." || key.empty() ? "" : key + "/";
  const auto below = files_.lower_bound(prefix);
  if (below != files_.end() && below->first.starts_with(prefix)) status.type = FileType::kDirectory;
  return status;
}

Result<std::vector<DirectoryEntry>> MemoryFileSystem::list(const std::string& path) const {
  const std::string key = normal(path);
  const std::string prefix = key == "." || key.empty() ? "" : key + "/";
  std::set<std::string> seen;
  std::vector<DirectoryEntry> entries;
  for (auto it = files_.lower_bound(prefix); it != files_.end() && it->first.starts_with(prefix);
       ++it) {
    const std::string rest = it->first.substr(prefix.size());
    const auto slash = rest.find('/');
    const std::string name = rest.substr(0, slash);
    if (!seen.insert(name).second) continue;
    entries.push_back(
        {name, slash == std::string::npos ? FileType::kRegular : FileType::kDirectory});
  }
  return entries;
}

Result<std::string> MemoryFileSystem::canonical(const std::string& path) const {
  return normal(path);
}

Result<void> MemoryFileSystem::write_atomic(const std::string& path, std::string_view content,
                                            std::uint32_t mode) {
  ++writes_;
  if (fail_from_ != 0 && writes_ >= fail_from_)
    return fail(ErrorCode::kIo, "No space left on device", path);
  files_[normal(path)] = File{std::string(content), mode};
  return {};
}

Result<void> MemoryFileSystem::make_directories(const std::string& /*path*/) {
  return {};
}

Result<void> MemoryFileSystem::remove(const std::string& path) {
  if (files_.erase(normal(path)) == 0)
    return fail(ErrorCode::kIo, "No such file or directory", path);
  return {};
}

}  // namespace torchport::base
