#include "cuda/check/lines.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string_view>
#include <system_error>

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include "base/process.h"
#include "base/text.h"

namespace torchport::cuda::check {

namespace {

namespace fs = std::filesystem;

bool has_any(std::string_view file, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return file.find(part) != std::string_view::npos;
  });
}
bool is_of_library(std::string_view file) {
  return has_any(file, {"/include/cub/", "/include/thrust/", "/include/cuda/", "/cub/block/",
                        "/cub/warp/", "/cub/device/", "/cub/agent/"});
}
bool is_of_toolkit(std::string_view file) {
  return has_any(file, {"/lib/cuda/include/", "/cuda_cccl/include/", "/include/cccl/",
                        "/include/c++/"}) ||
         is_of_library(file);
}

struct Place {
  std::string line;  // as it is told
  bool in_library = false;
};

// As seen from the folder that the program runs in, if it is below.
std::string shortened(const std::string& file) {
  std::error_code error;
  const std::string here = fs::current_path(error).string() + "/";
  return !error && file.starts_with(here) ? file.substr(here.size()) : file;
}

Place looked_up(std::uintptr_t at) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(at), &info) == 0 || info.dli_fname == nullptr)  // NOLINT
    return {fmt::format("0x{:x}", at), false};
  const auto base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  const auto* head = static_cast<const ElfW(Ehdr)*>(info.dli_fbase);
  const std::uintptr_t offset = head->e_type == ET_EXEC ? at : at - base;
  std::error_code error;
  const bool is_program = !fs::exists(info.dli_fname, error);
  const std::string module = is_program ? "/proc/self/exe" : info.dli_fname;
  const std::string path = fs::canonical(module, error).string();
  const auto ended =
      base::run({.words = {"addr2line", "-i", "-e", path, fmt::format("0x{:x}", offset)}});
  if (ended && ended->well()) {
    std::string first;
    for (const std::string_view line : base::split(ended->output, '\n')) {
      if (line.empty() || line.starts_with("??")) continue;
      const std::string text(line.substr(0, line.find(" (discriminator")));
      if (first.empty()) first = text;
      if (!is_of_toolkit(text)) return {shortened(text), is_of_library(first)};
    }
    if (!first.empty()) return {shortened(first), is_of_library(first)};
  }
  const char* name = info.dli_sname == nullptr ? "code" : info.dli_sname;
  const auto begin = reinterpret_cast<std::uintptr_t>(info.dli_saddr);
  return {fmt::format("{}+0x{:x} of {}", name, begin == 0 ? offset : at - begin,
                      fs::path(path).filename().string()),
          false};
}

Place place_of(std::uintptr_t return_address) {
  static std::mutex mutex;
  static auto* const kKnown = new std::map<std::uintptr_t, Place>();
  const std::scoped_lock lock(mutex);
  const auto [found, is_new] = kKnown->try_emplace(return_address);
  if (is_new)
    found->second = return_address == 0 ? Place{"?", false} : looked_up(return_address - 1);
  return found->second;
}

}  // namespace

std::string line_of(std::uintptr_t return_address) {
  return place_of(return_address).line;
}

namespace {

bool says_ignore(const std::string& line) {
  const auto colon = line.rfind(':');
  if (colon == std::string::npos) return false;
  std::ifstream file(line.substr(0, colon));
  std::string text;
  for (long left = std::strtol(line.c_str() + colon + 1, nullptr, 10); left > 0; --left)
    if (!std::getline(file, text)) return false;
  const auto comment = text.find("//");
  return comment != std::string::npos &&
         text.find("torchport: ignore", comment) != std::string::npos;
}

}  // namespace

bool is_ignored(const std::string& line) {
  static std::mutex mutex;
  static auto* const kKnown = new std::map<std::string, bool>();
  const std::scoped_lock lock(mutex);
  const auto [found, is_new] = kKnown->try_emplace(line);
  if (is_new) found->second = says_ignore(line);
  return found->second;
}

bool is_in_library(std::uintptr_t return_address) {
  return place_of(return_address).in_library;
}

}  // namespace torchport::cuda::check
