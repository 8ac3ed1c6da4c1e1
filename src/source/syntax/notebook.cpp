#include "source/syntax/notebook.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/line_changes.h"
#include "source/syntax/ipython.h"
#include "source/syntax/notebook_scan.h"

namespace torchport::syntax {

namespace {

constexpr std::string_view kMarker = "# torchport:cell ";
constexpr std::string_view kMagic = "# torchport:ipython ";
// In a block, which may have no other statement.
constexpr std::string_view kMagicInBlock = "pass  # torchport:ipython ";

std::string marker(std::size_t cell) {
  return fmt::format("{}{}\n", kMarker, cell);
}

// Whether a line looks like a line of torchport; it must be restored as it is.
bool is_like_ours(std::string_view line) {
  const std::string_view text = base::trim(line);
  return text.starts_with(base::trim(kMarker)) || text.starts_with(base::trim(kMagic)) ||
         text.starts_with(base::trim(kMagicInBlock));
}

std::size_t indentation_of(std::string_view line) {
  return std::min(line.find_first_not_of(" \t"), line.size());
}

// The offset at which `marker` starts a line, from `at` on.
std::size_t find_marker(std::string_view program, std::string_view marker, std::size_t at) {
  for (auto found = program.find(marker, at); found != std::string_view::npos;
       found = program.find(marker, found + 1)) {
    if (found == 0 || program[found - 1] == '\n') return found;
  }
  return std::string_view::npos;
}

std::string encode_line(std::string_view text, bool ascii) {
  const std::string quoted = nlohmann::json(std::string(text))
                                 .dump(-1, ' ', ascii, nlohmann::json::error_handler_t::replace);
  return quoted.substr(1, quoted.size() - 2);
}

// The line without what build_program() inserted.
std::string without_magic(std::string line) {
  const std::size_t first = indentation_of(line);
  for (const std::string_view prefix : {kMagic, kMagicInBlock}) {
    if (!std::string_view(line).substr(first).starts_with(prefix)) continue;
    line.erase(first, prefix.size());
    break;
  }
  return line;
}

}  // namespace

base::Result<Notebook> Notebook::parse(std::string json) {
  Notebook notebook;
  // The JSON library treats a NUL as the end of the text.
  if (json.find('\0') != std::string::npos || !nlohmann::json::accept(json))
    return base::fail(base::ErrorCode::kSyntax, "not valid JSON");
  notebook.json_ = std::move(json);
  notebook.ascii_ = std::all_of(notebook.json_.begin(), notebook.json_.end(),
                                [](char c) { return static_cast<unsigned char>(c) < 0x80U; });
  for (const std::string_view language :
       {"\"R\"", "\"julia\"", "\"scala\"", "\"javascript\"", "\"rust\"", "\"cpp\""}) {
    const auto at = notebook.json_.find("\"language\"");
    if (at != std::string::npos &&
        std::string_view(notebook.json_).substr(at, 40).find(language) != std::string_view::npos)
      notebook.is_python_ = false;
  }
  const std::string_view text = notebook.json_;
  for (const SourceValue& source : scan_code_cells(text)) {
    Cell cell;
    cell.value = source.value;
    cell.is_list = source.is_list;
    for (const base::Span item : source.items) {
      // One decoded line at a time, with its raw bytes.
      const std::string_view raw = text.substr(item.start, item.size());
      Line line;
      line.raw = {item.start, item.start};
      for (std::size_t at = 0; at < raw.size();) {
        at = decode_one(raw, at, line.text);
        line.raw.end = item.start + static_cast<std::uint32_t>(at);
        if (line.text.ends_with('\n')) {
          cell.lines.push_back(line);
          line = Line{};
          line.raw = {item.start + static_cast<std::uint32_t>(at),
                      item.start + static_cast<std::uint32_t>(at)};
        }
      }
      if (!line.text.empty()) cell.lines.push_back(std::move(line));
    }
    if (source.items.size() > 1) {
      cell.separator =
          text.substr(source.items[0].end + 1, source.items[1].start - source.items[0].end - 2);
    } else if (source.is_list && !source.items.empty()) {
      cell.separator =
          "," + std::string(text.substr(source.value.start + 1,
                                        source.items[0].start - source.value.start - 2));
    }
    const auto first = std::find_if(cell.lines.begin(), cell.lines.end(), [](const Line& line) {
      return !base::trim(line.text).empty();
    });
    cell.skipped =
        cell.lines.empty() || (first != cell.lines.end() && is_other_language(first->text));
    notebook.cells_.push_back(std::move(cell));
  }
  notebook.build_program();
  return notebook;
}

void Notebook::build_program() {
  if (!is_python_) return;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    Cell& cell = cells_[i];
    if (cell.skipped) continue;
    in_program_.push_back(i);
    program_ += marker(i);
    add_cell(cell);
    if (!program_.ends_with('\n')) program_ += '\n';
  }
}

void Notebook::add_cell(Cell& cell) {
  CellText python;
  bool magic_goes_on = false;  // the line of IPython before ended with a backslash
  bool in_magic = false;       // also in the strings of the list that continue a line
  std::size_t outermost = 0;   // the indentation of the cell's first line of Python
  bool has_python = false;
  for (Line& line : cell.lines) {
    line.program_start = static_cast<std::uint32_t>(program_.size());
    std::string text = line.text;
    // A string of the list that does not end its line continues in the next string.
    if (program_.ends_with('\n')) {
      in_magic = magic_goes_on || (python.between_lines() && is_ipython(text));
      const std::size_t start = indentation_of(text);
      if (in_magic || is_like_ours(text)) {
        const bool in_block = !magic_goes_on && in_magic && has_python && start > outermost;
        const std::string_view prefix = in_block ? kMagicInBlock : kMagic;
        text.insert(start, prefix);
        line.prefix = static_cast<std::uint32_t>(prefix.size());
      } else if (!has_python && !base::trim(text).empty()) {
        has_python = true;
        outermost = start;
      }
    }
    if (in_magic) {
      magic_goes_on = base::trim(line.text).ends_with('\\');
    } else {
      python.add(line.text);
    }
    program_ += text;
  }
}

std::uint32_t Notebook::json_offset(std::uint32_t program_offset) const {
  // The cells of the program, and the lines of each, are sorted by their start.
  const auto cell = std::partition_point(
      in_program_.begin(), in_program_.end(),
      [&](std::size_t i) { return cells_[i].lines.front().program_start <= program_offset; });
  if (cell == in_program_.begin()) return 0;
  const auto& lines = cells_[*(cell - 1)].lines;
  const auto line = std::partition_point(
      lines.begin(), lines.end(), [&](const Line& l) { return l.program_start <= program_offset; });
  const Line* last = &*(line - 1);
  std::uint32_t inside = program_offset - last->program_start;
  inside = inside > last->prefix ? inside - last->prefix : 0;
  const std::string_view raw = std::string_view(json_).substr(last->raw.start, last->raw.size());
  std::string decoded;
  std::size_t at = 0;
  while (at < raw.size() && decoded.size() < inside) at = decode_one(raw, at, decoded);
  return last->raw.start + static_cast<std::uint32_t>(at);
}

std::vector<std::string> Notebook::cell_texts() const {
  std::vector<std::string> texts;
  for (const Cell& cell : cells_) {
    std::string& text = texts.emplace_back();
    for (const Line& line : cell.lines) text += line.text;
  }
  return texts;
}

Notebook::CellOffset Notebook::cell_offset(std::uint32_t program_offset) const {
  const auto next = std::partition_point(
      in_program_.begin(), in_program_.end(),
      [&](std::size_t i) { return cells_[i].lines.front().program_start <= program_offset; });
  if (next == in_program_.begin()) return {in_program_.empty() ? 0 : in_program_.front(), 0};
  CellOffset place{*(next - 1), 0};
  for (const Line& line : cells_[place.cell].lines) {
    const auto size = static_cast<std::uint32_t>(line.text.size());
    if (program_offset < line.program_start + line.prefix + size) {
      const std::uint32_t start = line.program_start + line.prefix;
      return {place.cell, place.offset + (program_offset > start ? program_offset - start : 0)};
    }
    place.offset += size;
  }
  return place;
}

std::optional<std::uint32_t> Notebook::program_offset(CellOffset place) const {
  if (place.cell >= cells_.size() || cells_[place.cell].skipped || !is_python_) return std::nullopt;
  std::uint32_t left = place.offset;
  const auto& lines = cells_[place.cell].lines;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto size = static_cast<std::uint32_t>(lines[i].text.size());
    if (left < size || i + 1 == lines.size())
      return lines[i].program_start + lines[i].prefix + std::min(left, size);
    left -= size;
  }
  return std::nullopt;
}

std::string Notebook::encode(const Cell& cell, std::string_view text) const {
  // Whole lines: a string of the list may end within one.
  std::vector<Line> before;
  for (const Line& line : cell.lines) {
    if (before.empty() || before.back().text.ends_with('\n')) {
      before.push_back(line);
    } else {
      before.back().text += line.text;
      before.back().raw.end = line.raw.end;
    }
  }
  std::vector<std::string> old_texts;
  for (const Line& line : before) old_texts.push_back(line.text);
  const std::string joint = cell.is_list ? "\"" + cell.separator + "\"" : "";
  std::string result;
  std::uint32_t copied = cell.value.start;
  const auto replace = [&](std::uint32_t start, std::uint32_t end, std::string_view raw) {
    result += std::string_view(json_).substr(copied, start - copied);
    result += raw;
    copied = end;
  };
  for (const base::LineChange& change : base::changed_lines(old_texts, base::whole_lines(text))) {
    const std::size_t end = change.start + change.removed;
    std::vector<std::string> added;
    for (const std::string& line : change.added) added.push_back(encode_line(line, ascii_));
    const std::string raw = fmt::format("{}", fmt::join(added, joint));
    if (change.removed > 0 && !added.empty()) {
      replace(before[change.start].raw.start, before[end - 1].raw.end, raw);
    } else if (end < before.size()) {
      replace(before[change.start].raw.start, before[end].raw.start,
              raw + (raw.empty() ? "" : joint));
    } else if (change.start > 0) {
      replace(before[change.start - 1].raw.end, before.back().raw.end,
              (raw.empty() ? "" : joint) + raw);
    } else {
      replace(before.front().raw.start, before.back().raw.end, "");
    }
  }
  return result + json_.substr(copied, cell.value.end - copied);
}

base::Result<std::string> Notebook::with_program(std::string_view program) const {
  std::string result;
  std::size_t copied = 0;
  std::size_t at = 0;
  const std::vector<std::size_t>& used = in_program_;
  for (std::size_t k = 0; k < used.size(); ++k) {
    const Cell& cell = cells_[used[k]];
    const std::string head = marker(used[k]);
    const auto found = find_marker(program, head, at);
    // Text before the first marker belongs to the first cell.
    std::string fresh(k == 0 && found != std::string_view::npos ? program.substr(0, found)
                                                                : std::string_view());
    if (found == std::string_view::npos || (k > 0 && found != at)) {
      return base::fail(base::ErrorCode::kInternal,
                        "the fixed notebook cannot be split into its cells; nothing was changed");
    }
    const std::size_t start = found + head.size();
    const std::size_t end =
        k + 1 < used.size() ? find_marker(program, marker(used[k + 1]), start) : program.size();
    if (end == std::string_view::npos)
      return base::fail(base::ErrorCode::kInternal,
                        "the fixed notebook cannot be split into its cells; nothing was changed");
    at = end;
    for (std::string& line : base::whole_lines(program.substr(start, end - start)))
      fresh += without_magic(std::move(line));
    std::string before;
    for (const Line& line : cell.lines) before += line.text;
    if (!before.ends_with('\n') && fresh.ends_with('\n')) fresh.pop_back();
    if (fresh == before) continue;
    result += json_.substr(copied, cell.value.start - copied);
    result += encode(cell, fresh);
    copied = cell.value.end;
  }
  result += json_.substr(copied);
  return result;
}

}  // namespace torchport::syntax
