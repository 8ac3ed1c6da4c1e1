#include "base/file_system.h"
#include "base/private_folder.h"

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

bool is_within(std::string_view path, std::string_view folder) {
  return path == folder || folder == "/" || folder.empty() ||
         (path.starts_with(folder) && path.substr(folder.size()).starts_with('/'));
}

namespace {

using Variable = std::function<std::string(const char*)>;

// torchport's folder of a kind: `own` names it, `xdg` the folder that it is in, else it is below
// HOME.
std::string folder_of_user(const Variable& variable, const char* own, const char* xdg,
                           const char* below_home) {
  if (std::string chosen = variable(own); !chosen.empty()) return chosen;
  if (const std::string folder = variable(xdg); !folder.empty())
    return join_path(folder, "torchport");
  if (const std::string home = variable("HOME"); !home.empty()) return join_path(home, below_home);
  return {};
}

}  // namespace

std::string cache_folder(const Variable& variable) {
  return folder_of_user(variable, "TORCHPORT_CACHE_DIR", "XDG_CACHE_HOME", ".cache/torchport");
}

std::string state_folder(const Variable& variable) {
  return folder_of_user(variable, "TORCHPORT_STATE_DIR", "XDG_STATE_HOME",
                        ".local/state/torchport");
}

}  // namespace torchport::base
