#include "source/edit/alignment.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/line_changes.h"

namespace torchport::edit {

namespace {

using syntax::Kind;
using syntax::Node;
using syntax::Tree;

constexpr std::size_t kNoLine = SIZE_MAX;

struct Line {
  std::size_t indent = 0;        // blanks before the first token
  bool aligned = false;          // begins below what follows the bracket, or below the bracket
  std::size_t opener = kNoLine;  // the line of the innermost bracket around its first token
  std::ptrdiff_t bracket = 0;    // the column of that bracket
};

// Reads which lines begin between brackets, and where these stand.
class LineReader {
 public:
  LineReader(const Tree& tree, const std::vector<std::string>& lines) : lines_(lines) {
    for (std::uint32_t i = 1; i < tree.size(); ++i) {
      const Node node = tree.at(i);
      if (!node.is_any(Kind::kString, Kind::kComment)) continue;
      skipped_.push_back(node.span());
      i = node.subtree_end() - 1;
    }
  }

  std::vector<Line> read() {
    std::vector<Line> result;
    result.reserve(lines_.size());
    std::uint32_t start = 0;
    for (const std::string& line : lines_) {
      result.push_back(first_of(line, start));
      read_brackets(line, start, result.size() - 1);
      start += static_cast<std::uint32_t>(line.size());
    }
    return result;
  }

 private:
  struct Open {
    std::size_t line = 0;
    std::ptrdiff_t column = 0;
    bool last = true;  // nothing follows it in its line
  };

  Line first_of(const std::string& text, std::uint32_t start) {
    Line line;
    line.indent = std::min(text.find_first_not_of(' '), text.size());
    const bool blank = line.indent == text.size() || text[line.indent] == '\n' ||
                       text[line.indent] == '\r' || text[line.indent] == '\t';
    if (blank || is_skipped(start) || open_.empty()) return line;
    const Open& open = open_.back();
    const auto column = static_cast<std::ptrdiff_t>(line.indent);
    const bool closes = std::string_view(")]}").find(text[line.indent]) != std::string_view::npos;
    line.opener = open.line;
    line.bracket = open.column;
    line.aligned = !open.last && (column == open.column + 1 || (closes && column == open.column));
    return line;
  }

  void read_brackets(const std::string& text, std::uint32_t start, std::size_t number) {
    std::ptrdiff_t column = 0;
    std::size_t counted = 0;  // the bytes before `column`
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto offset = start + static_cast<std::uint32_t>(i);
      if (is_skipped(offset)) {
        // A comment after a bracket is not what lines are aligned with.
        const base::Span span = skipped_[next_];
        if (!open_.empty() && open_.back().line == number && text[i] != '#')
          open_.back().last = false;
        i = std::min<std::size_t>(span.end - start, text.size()) - 1;
        continue;
      }
      const char c = text[i];
      if (c == '(' || c == '[' || c == '{') {
        if (!open_.empty() && open_.back().line == number) open_.back().last = false;
        column += static_cast<std::ptrdiff_t>(
            base::columns(std::string_view(text).substr(counted, i - counted)));
        counted = i;
        open_.push_back({number, column, true});
      } else if (c == ')' || c == ']' || c == '}') {
        if (!open_.empty()) open_.pop_back();
      } else if (c != ' ' && c != '\r' && c != '\n' && c != '\\' && !open_.empty() &&
                 open_.back().line == number) {
        open_.back().last = false;
      }
    }
  }

  // Whether a byte lies in a string or a comment. Asked in the order of the offsets.
  bool is_skipped(std::uint32_t offset) {
    while (next_ < skipped_.size() && skipped_[next_].end <= offset) ++next_;
    return next_ < skipped_.size() && skipped_[next_].start <= offset;
  }

  const std::vector<std::string>& lines_;
  std::vector<base::Span> skipped_;  // strings and comments, in order
  std::size_t next_ = 0;             // the first of them that has not ended
  std::vector<Open> open_;
};

// For each line of the new text the line of the old one that it is, or that it replaces.
std::vector<std::size_t> origins(std::size_t count, const std::vector<base::LineChange>& changes) {
  std::vector<std::size_t> result;
  result.reserve(count);
  std::size_t old = 0;
  for (const base::LineChange& change : changes) {
    while (old < change.start) result.push_back(old++);
    for (std::size_t i = 0; i < change.added.size(); ++i)
      result.push_back(change.added.size() == change.removed ? old + i : kNoLine);
    old += change.removed;
  }
  while (result.size() < count) result.push_back(old++);
  return result;
}

}  // namespace

std::string aligned_lines(const Tree& before, const Tree& after) {
  const std::vector<std::string> old = base::whole_lines(before.source());
  std::vector<std::string> fresh = base::whole_lines(after.source());
  const auto changes = base::changed_lines(old, fresh);
  if (changes.empty()) return after.source();
  const std::vector<Line> then = LineReader(before, old).read();
  const std::vector<Line> now = LineReader(after, fresh).read();
  const std::vector<std::size_t> origin = origins(fresh.size(), changes);
  std::vector<std::ptrdiff_t> moved(fresh.size(), 0);  // columns to the right
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    const Line& line = now[i];
    if (origin[i] == kNoLine || origin[i] >= then.size() || line.opener == kNoLine) continue;
    const Line& was = then[origin[i]];
    if (!was.aligned || origin[line.opener] != was.opener) continue;
    const std::ptrdiff_t wanted =
        static_cast<std::ptrdiff_t>(was.indent) + line.bracket + moved[line.opener] - was.bracket;
    moved[i] = wanted - static_cast<std::ptrdiff_t>(line.indent);
    if (moved[i] != 0 && wanted >= 0)
      fresh[i].replace(0, line.indent, static_cast<std::size_t>(wanted), ' ');
  }
  std::string result;
  result.reserve(after.source().size() + 64);
  for (const std::string& line : fresh) result += line;
  return result;
}

}  // namespace torchport::edit
