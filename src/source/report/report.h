// Defines reports. A format is one file under formats/ that registers itself; no list names the
// formats.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source/project/check.h"

namespace torchport::report {

struct Input {
  const project::CheckReport& report;
  const base::FileSystem& fs;  // for formats that show complete files
  const project::CheckOptions& options;
  std::string_view version;
  bool colour = false;
  bool statistics = false;   // in text, a table by rule instead of the findings
  std::size_t known = 0;     // findings that a baseline removed
  double seconds = 0;        // the check's wall time; only the text format may show it
  std::string_view since{};  // only what a change since this revision touches is in the report
  std::size_t outside = 0;   // findings that were left out because of that
};

// Returns the complete report, which ends with a newline. REQUIRED to depend only on the input, so
// that the same input gives the same bytes.
using Render = std::string (*)(const Input& input);

struct Format {
  std::string_view name;
  std::string_view summary;
  Render render = nullptr;
};

struct FormatRegistration {
  explicit FormatRegistration(Format format);
};

// All formats, sorted by name.
[[nodiscard]] const std::vector<Format>& all_formats();
[[nodiscard]] const Format* find_format(std::string_view name);

// (code, number of its findings), sorted by code.
[[nodiscard]] std::vector<std::pair<std::string_view, std::size_t>> count_by_code(
    const project::CheckReport& report);

// "1 file", "2 files".
[[nodiscard]] std::string counted(std::size_t n, std::string_view singular,
                                  std::string_view plural = {});

// What is not in the report, a sentence in a line each: "3 findings of the baseline not shown."
[[nodiscard]] std::string left_out(const Input& input);

// Replaces what is not UTF-8, and every character that controls a terminal or the direction of
// text, by U+FFFD, one for one; lines and tabs stay. Every text that comes from a checked tree and
// is printed goes through here.
[[nodiscard]] std::string printable(std::string_view text);
// Does the same, also with lines and tabs, so that a file's name cannot end a line.
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace torchport::report
