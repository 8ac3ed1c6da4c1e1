#include "cli/python.h"

#include <system_error>

namespace torchport::cli {

std::filesystem::path own_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

std::string python_of_this_environment() {
  std::error_code error;
  if (const auto folder = own_folder(); !folder.empty()) {
    for (const char* name : {"python", "python3"}) {
      const auto candidate = folder / name;
      if (std::filesystem::exists(candidate, error)) return candidate.string();
    }
  }
  return "python3";
}

std::string own_prefix() {
  return own_folder().parent_path().string();
}

}  // namespace torchport::cli
