#include "source/project/line_length.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"
#include "base/toml.h"

namespace torchport::project {

namespace {

constexpr std::string_view kPyproject = "pyproject.toml";
constexpr std::array<std::string_view, 3> kIniFiles{"setup.cfg", "tox.ini", ".flake8"};
constexpr std::uint16_t kOfBlack = 88;
constexpr int kMostUp = 10;
constexpr int kLeast = 40;
constexpr int kMost = 400;

std::uint16_t sensible(std::int64_t length) {
  return length >= kLeast && length <= kMost ? static_cast<std::uint16_t>(length) : 0;
}

std::uint16_t of_pyproject(const base::FileSystem& fs, const std::string& path) {
  const auto text = fs.read(path);
  if (!text) return 0;
  try {
    const toml::table table = base::parse_toml(*text, path);
    const auto tool = table["tool"];
    for (const auto& [name, key] :
         std::to_array<std::pair<const char*, const char*>>({{"black", "line-length"},
                                                             {"black", "line_length"},
                                                             {"ruff", "line-length"},
                                                             {"yapf", "column_limit"},
                                                             {"autopep8", "max_line_length"}})) {
      if (const auto length = tool[name][key].value<std::int64_t>()) return sensible(*length);
    }
    return tool["black"].is_table() || tool["ruff"]["format"].is_table() ? kOfBlack
                                                                         : std::uint16_t{0};
  } catch (const toml::parse_error&) {
    return 0;
  }
}

std::uint16_t of_ini(const base::FileSystem& fs, const std::string& path) {
  const auto text = fs.read(path);
  if (!text) return 0;
  bool inside = false;
  for (const std::string_view raw : base::split(*text, '\n')) {
    const std::string_view line = base::trim(raw);
    if (line.starts_with('['))
      inside =
          line == "[flake8]" || line == "[pycodestyle]" || line == "[pep8]" || line == "[yapf]";
    const auto equals = line.find('=');
    if (!inside || equals == std::string_view::npos) continue;
    const std::string_view key = base::trim(line.substr(0, equals));
    if (key != "max-line-length" && key != "max_line_length" && key != "column_limit") continue;
    const std::string_view value = base::trim(line.substr(equals + 1));
    int length = 0;
    std::from_chars(value.data(), value.data() + value.size(), length);
    return sensible(length);
  }
  return 0;
}

}  // namespace

std::uint16_t line_length(const base::FileSystem& fs, const std::string& root) {
  if (const auto length = of_pyproject(fs, base::join_path(root, kPyproject))) return length;
  for (const std::string_view name : kIniFiles)
    if (const auto length = of_ini(fs, base::join_path(root, name))) return length;
  return 0;
}

std::uint16_t line_length_of_file(const base::FileSystem& fs, const std::string& path) {
  const auto exists = [&](const std::string& folder, std::string_view name) {
    return fs.status(base::join_path(folder, name), true).type != base::FileType::kMissing;
  };
  std::string folder = path;
  for (int up = 0; up < kMostUp; ++up) {
    const auto slash = folder.rfind('/');
    if (slash == std::string::npos || slash == 0) return 0;
    folder.resize(slash);
    if (exists(folder, kPyproject) ||
        std::any_of(kIniFiles.begin(), kIniFiles.end(),
                    [&](std::string_view name) { return exists(folder, name); }))
      return line_length(fs, folder);
  }
  return 0;
}

}  // namespace torchport::project
