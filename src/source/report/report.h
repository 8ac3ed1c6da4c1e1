// Reports. A format is one file under formats/ that registers itself; no list
// names them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source/project/check.h"

namespace torchport::report {

struct Input {
  const project::Report& report;
  const base::FileSystem& fs;  // for formats that show whole files
  const project::CheckOptions& options;
  std::string_view version;
  bool colour = false;
  bool statistics = false;  // text: a table by rule in place of the findings
  std::size_t known = 0;    // findings that a baseline took out
  double seconds = 0;       // the check's wall time; only text may show it
};

// The whole report, ending in a newline. Must not depend on anything but the
// input: the same input gives the same bytes.
using Render = std::string (*)(const Input& input);

struct Format {
  std::string_view name;
  std::string_view summary;
  Render render = nullptr;
};

struct FormatRegistration {
  explicit FormatRegistration(Format format);
};

// By name.
[[nodiscard]] const std::vector<Format>& all_formats();
[[nodiscard]] const Format* find_format(std::string_view name);

// Code -> number of findings, by code.
[[nodiscard]] std::vector<std::pair<std::string_view, std::size_t>> count_by_code(
    const project::Report& report);

// "1 file", "2 files".
[[nodiscard]] std::string counted(std::size_t n, std::string_view singular,
                                  std::string_view plural = {});

// Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string printable(std::string_view text);
// printable(), and control characters too: the name of a file draws nothing on a terminal and ends
// no line.
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace torchport::report
