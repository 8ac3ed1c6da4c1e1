#include "cli/python.h"

#include <filesystem>
#include <system_error>

namespace torchport::cli {

std::string python_of_this_environment() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    for (const char* name : {"python", "python3"}) {
      const auto candidate = self.parent_path() / name;
      if (std::filesystem::exists(candidate, error)) return candidate.string();
    }
  }
  return "python3";
}

std::string own_prefix() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string() : self.parent_path().parent_path().string();
}

}  // namespace torchport::cli
