#include "base/file_system.h"

namespace torchport::base {

std::string join_path(std::string_view folder, std::string_view name) {
  if (folder.empty() || folder == ".") return std::string(name);
  std::string joined(folder);
  if (joined.back() != '/') joined += '/';
  joined += name;
  return joined;
}

std::string_view file_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string_view parent_path(std::string_view path) {
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

std::string cache_folder(const std::function<std::string(const char*)>& variable) {
  if (std::string chosen = variable("TORCHPORT_CACHE_DIR"); !chosen.empty()) return chosen;
  if (const std::string caches = variable("XDG_CACHE_HOME"); !caches.empty())
    return join_path(caches, "torchport");
  if (const std::string home = variable("HOME"); !home.empty())
    return join_path(home, ".cache/torchport");
  return {};
}

}  // namespace torchport::base
