// Reads the output of build tools.
#include <charconv>

#include "base/text.h"
#include "runtime_build/build.h"

namespace torchport::runtime_build {

namespace {

bool read_number(std::string_view text, int& number) {
  text = base::trim(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

bool read_step(std::string_view line, Progress& progress) {
  if (!line.starts_with('[')) return false;
  const auto close = line.find(']');
  if (close == std::string_view::npos) return false;
  const std::string_view inside = line.substr(1, close - 1);
  int done = 0;
  int total = 100;
  if (inside.ends_with('%')) {
    if (!read_number(inside.substr(0, inside.size() - 1), done)) return false;
  } else {
    const auto slash = inside.find('/');
    if (slash == std::string_view::npos || !read_number(inside.substr(0, slash), done) ||
        !read_number(inside.substr(slash + 1), total))
      return false;
  }
  progress.done = done;
  progress.total = total;
  return true;
}

std::vector<std::string> first_errors(std::string_view log, std::size_t most) {
  std::vector<std::string> found;
  bool in_cmake_error = false;  // its text is on the indented lines that follow
  for (const std::string_view line : base::split(log, '\n')) {
    const bool error = line.find(" error: ") != std::string_view::npos ||
                       line.find(" fatal error: ") != std::string_view::npos ||
                       line.find("undefined reference to") != std::string_view::npos ||
                       line.find("what(): ") != std::string_view::npos;  // of a C++ exception
    const bool text = in_cmake_error && line.starts_with("  ");
    in_cmake_error = line.starts_with("CMake Error") || (in_cmake_error && (text || line.empty()));
    if ((error || text) && found.size() < most) found.emplace_back(base::trim(line));
  }
  return found;
}

bool says_no_space(std::string_view log) {
  for (const char* words : {"No space left on device", "File too large", "File size limit exceeded",
                            "Disk quota exceeded"})
    if (log.find(words) != std::string_view::npos) return true;
  return false;
}

}  // namespace torchport::runtime_build
