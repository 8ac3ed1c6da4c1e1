#include <set>

#include "base/file_system.h"

namespace torchport::base {

namespace {

// "./a/b" and "a/b" are one file.
std::string normal(const std::string& path) {
  return path.starts_with("./") ? path.substr(2) : path;
}

std::string partial_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  return path.substr(0, name) + "." + path.substr(name) + ".torchport-1-0";
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
  changing();
  ++syncs_;
  if (full()) return fail(ErrorCode::kIo, "No space left on device", path);
  // As on a real disk, a kill between the two steps leaves the temporary file.
  const std::string partial = partial_of(normal(path));
  files_[partial] = File{std::string(content), mode};
  changing();
  files_[normal(path)] = std::move(files_[partial]);
  files_.erase(partial);
  return {};
}

Result<void> MemoryFileSystem::create(const std::string& path, std::string_view content,
                                      std::uint32_t mode) {
  changing();
  if (full()) return fail(ErrorCode::kIo, "No space left on device", path);
  if (!files_.emplace(normal(path), File{std::string(content), mode}).second)
    return fail(ErrorCode::kIo, "File exists", path);
  return {};
}

Result<void> MemoryFileSystem::copy_attributes(const std::string& /*from*/,
                                               const std::string& /*to*/) {
  return {};  // it has none
}

Result<void> MemoryFileSystem::rename(const std::string& from, const std::string& to) {
  changing();
  auto moved = files_.extract(normal(from));
  if (moved.empty()) return fail(ErrorCode::kIo, "No such file or directory", from);
  files_[normal(to)] = std::move(moved.mapped());
  return {};
}

Result<void> MemoryFileSystem::sync(const std::vector<std::string>& /*folders*/) {
  changing();
  ++syncs_;
  return {};
}

Result<void> MemoryFileSystem::make_directories(const std::string& /*path*/) {
  return {};
}

Result<void> MemoryFileSystem::remove(const std::string& path) {
  changing();
  if (files_.erase(normal(path)) == 0)
    return fail(ErrorCode::kIo, "No such file or directory", path);
  return {};
}

}  // namespace torchport::base
