#include "source/edit/long_lines.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/line_changes.h"
#include "source/edit/edit.h"
#include "source/edit/imports.h"

namespace torchport::edit {

namespace {

using syntax::Kind;
using syntax::Node;

constexpr std::size_t kShortest = 79;
constexpr std::size_t kOneIn = 100;  // of the lines of a text may be longer than its own length
constexpr std::size_t kIndent = 4;
constexpr int kMaxDepth = 8;

using Lines = std::vector<std::string>;

struct Bracket {
  std::size_t open = 0;
  std::size_t close = std::string_view::npos;  // npos: it is closed in a later line
  int depth = 0;                               // of brackets around it that this line opened
};

// One line of code, read character by character.
struct Code {
  std::string_view text;
  std::vector<Bracket> brackets;    // by their ends, then the ones left open
  std::vector<int> depth;           // of each character; strings have kInString
  std::vector<std::size_t> column;  // of each byte: the characters before it
  std::size_t comment = std::string_view::npos;
  bool whole = true;  // every string ends in it, and it is one statement
};

constexpr int kInString = 1000;

// The end of the string literal that starts at `at`.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const bool triple = text.substr(at, 3) == std::string(3, text[at]);
  const std::string mark(triple ? 3 : 1, text[at]);
  std::size_t end = at + mark.size();
  while (end < text.size() && text.substr(end, mark.size()) != mark)
    end += text[end] == '\\' ? 2 : 1;
  return end + mark.size();
}

Code read_code(std::string_view text) {
  Code code;
  code.text = text;
  code.depth.assign(text.size(), 0);
  code.column.reserve(text.size());
  std::size_t column = 0;
  for (const char c : text) {
    code.column.push_back(column);
    column += (c & 0xC0) != 0x80 ? 1 : 0;
  }
  std::vector<Bracket> open;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    code.depth[i] = depth;
    if (c == '#') {
      code.comment = i;
      break;
    }
    if (c == ';' || c == '\\') code.whole = false;
    if (c == '"' || c == '\'') {
      const std::size_t end = end_of_string(text, i);
      code.whole &= end <= text.size();
      for (; i < std::min(end, text.size()); ++i) code.depth[i] = kInString;
      --i;
    } else if (c == '(' || c == '[' || c == '{') {
      open.push_back({i, std::string_view::npos, depth++});
    } else if (c == ')' || c == ']' || c == '}') {
      code.depth[i] = --depth;
      if (open.empty()) continue;
      open.back().close = i;
      code.brackets.push_back(open.back());
      open.pop_back();
    }
  }
  code.brackets.insert(code.brackets.end(), open.begin(), open.end());
  return code;
}

// The offsets of a word or sign at a depth, where it is not part of another one.
std::vector<std::size_t> places_of(const Code& code, std::string_view sign, int depth) {
  std::vector<std::size_t> places;
  for (std::size_t at = code.text.find(sign); at != std::string_view::npos;
       at = code.text.find(sign, at + 1))
    if (code.depth[at] == depth) places.push_back(at);
  return places;
}

// The parts of a text between the given offsets, without blanks at their ends.
Lines parts_of(std::string_view text, const std::vector<std::size_t>& cuts) {
  Lines parts;
  std::size_t start = 0;
  for (const std::size_t cut : cuts) {
    parts.emplace_back(base::trim(text.substr(start, cut - start)));
    start = cut;
  }
  parts.emplace_back(base::trim(text.substr(start)));
  std::erase(parts, "");
  return parts;
}

class Breaker {
 public:
  explicit Breaker(std::size_t limit) : limit_(limit) {}

  // The lines of a statement, or of an element between brackets.
  [[nodiscard]] Lines broken(std::string_view text, const std::string& indent, int depth) const {
    if (fits(indent, text) || depth > kMaxDepth) return {indent + std::string(text)};
    const Code code = read_code(text);
    if (auto lines = in_new_brackets(code, indent, depth)) return *lines;
    std::optional<Bracket> last;
    for (const Bracket& bracket : code.brackets) {
      const bool empty =
          bracket.close == std::string_view::npos ||
          base::trim(text.substr(bracket.open + 1, bracket.close - bracket.open - 1)).empty();
      if (empty || bracket.depth != 0 ||
          base::columns(indent) + code.column[bracket.open] >= limit_)
        continue;
      if (!last || bracket.open > last->open) last = bracket;
    }
    if (!last) return {indent + std::string(text)};
    Lines lines{indent + std::string(text.substr(0, last->open + 1))};
    append(lines, body(text.substr(last->open + 1, last->close - last->open - 1),
                       indent + std::string(kIndent, ' '), depth + 1));
    lines.push_back(indent + std::string(text.substr(last->close)));
    return lines;
  }

  // The lines of several elements at a depth: as many in each as fit.
  [[nodiscard]] Lines filled(std::string_view text, const std::string& first,
                             const std::string& next, int at_depth) const {
    const Code code = read_code(text);
    std::vector<std::size_t> cuts = places_of(code, ",", at_depth);
    for (std::size_t& cut : cuts) ++cut;
    Lines lines;
    std::string line;
    for (const std::string& part : parts_of(text, cuts)) {
      const std::string& indent = lines.empty() ? first : next;
      std::string longer = line;
      if (!longer.empty()) longer += ' ';
      longer += part;
      if (line.empty() || fits(indent, longer)) {
        line = std::move(longer);
      } else {
        lines.push_back(indent + std::exchange(line, part));
      }
    }
    lines.push_back((lines.empty() ? first : next) + line);
    return lines;
  }

  [[nodiscard]] bool fits(std::string_view indent, std::string_view text) const {
    return base::columns(indent) + base::columns(text) <= limit_;
  }

 private:
  static void append(Lines& lines, Lines more) {
    lines.insert(lines.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
  }

  // What stands between two brackets.
  [[nodiscard]] Lines body(std::string_view text, const std::string& indent, int depth) const {
    text = base::trim(text);
    const Code code = read_code(text);
    std::vector<std::size_t> commas = places_of(code, ",", 0);
    if (fits(indent, text) && !text.ends_with(',')) return {indent + std::string(text)};
    if (auto lines = comprehension(code, indent, depth)) return *lines;
    // The commas between the parameters of a lambda divide nothing.
    if (!places_of(code, "lambda ", 0).empty()) return {indent + std::string(text)};
    if (!commas.empty()) {
      for (std::size_t& comma : commas) ++comma;
      Lines lines;
      for (std::string& part : parts_of(text, commas)) {
        if (!part.ends_with(',')) part += ',';
        append(lines, broken(part, indent, depth));
      }
      return lines;
    }
    for (const std::string_view word : {" else ", " or ", " and "}) {
      const auto places = places_of(code, word, 0);
      if (places.empty() || !places_of(code, " for ", 0).empty()) continue;
      Lines lines;
      for (const std::string& part : parts_of(text, places))
        append(lines, branch(part, indent, depth));
      return lines;
    }
    return broken(text, indent, depth);
  }

  // `f(a, b) for a, b in pairs if a`: the element, and each clause on lines of its own. Its commas
  // stand between targets.
  [[nodiscard]] std::optional<Lines> comprehension(const Code& code, const std::string& indent,
                                                   int depth) const {
    std::vector<std::size_t> cuts = places_of(code, " for ", 0);
    if (cuts.empty()) return std::nullopt;
    for (std::size_t& cut : cuts)
      if (code.text.substr(0, cut).ends_with(" async")) cut -= std::string_view(" async").size();
    for (const std::size_t test : places_of(code, " if ", 0))
      if (test > cuts.front()) cuts.push_back(test);
    std::sort(cuts.begin(), cuts.end());
    Lines lines;
    for (const std::string& part : parts_of(code.text, cuts))
      append(lines, broken(part, indent, depth));
    return lines;
  }

  // One branch of a choice, or one part of a condition.
  [[nodiscard]] Lines branch(std::string_view text, const std::string& indent, int depth) const {
    const auto tests = places_of(read_code(text), " if ", 0);
    if (fits(indent, text) || tests.size() != 1) return broken(text, indent, depth);
    Lines lines;
    for (const std::string& part : parts_of(text, tests))
      append(lines, broken(part, indent, depth));
    return lines;
  }

  // `x = a if b else c` and `if a or b:` get brackets of their own.
  [[nodiscard]] std::optional<Lines> in_new_brackets(const Code& code, const std::string& indent,
                                                     int depth) const {
    const std::string_view text = code.text;
    std::size_t start = 0;
    std::size_t end = text.size() - (text.ends_with(',') ? 1 : 0);
    for (const std::string_view word : {"if ", "elif ", "while ", "with "}) {
      if (!text.starts_with(word) || !text.ends_with(':')) continue;
      start = word.size();
      end = text.size() - 1;
    }
    if (text.starts_with("return ")) start = 7;
    for (const std::size_t at : places_of(code, "=", 0)) {
      if (at == 0 || at + 1 >= text.size() || text[at + 1] == '=' || text.ends_with(':') ||
          std::string_view("=!<>:").find(text[at - 1]) != std::string_view::npos)
        continue;
      start = text[at + 1] == ' ' ? at + 2 : at + 1;
    }
    if (start == 0) return std::nullopt;
    const std::string_view value = text.substr(start, end - start);
    const Code rest = read_code(value);
    const auto has = [&](std::string_view word) { return !places_of(rest, word, 0).empty(); };
    const bool parts = (has(" if ") && has(" else ")) || has(" or ") || has(" and ");
    if (!parts || has(",") || has(" as ") || value.starts_with("lambda") ||
        value.starts_with("yield"))
      return std::nullopt;
    Lines lines{indent + std::string(text.substr(0, start)) + "("};
    append(lines, body(value, indent + std::string(kIndent, ' '), depth + 1));
    lines.push_back(indent + ")" + std::string(text.substr(end)));
    return lines;
  }

  std::size_t limit_;
};

bool is_in_string(const syntax::Tree& tree, std::uint32_t offset) {
  for (Node up = syntax::node_at(tree, offset); up; up = up.parent())
    if (up.is(Kind::kString) && up.start() < offset && offset < up.end()) return true;
  return false;
}

bool is_in_brackets(const syntax::Tree& tree, std::uint32_t offset) {
  for (Node up = syntax::node_at(tree, offset); up; up = up.parent()) {
    const bool bracket =
        up.is_any(Kind::kArgumentList, Kind::kParenthesized, Kind::kList, Kind::kTuple, Kind::kSet,
                  Kind::kDictionary, Kind::kParameters, Kind::kSubscript, Kind::kImportFrom);
    if (bracket && up.start() < offset && offset < up.end()) return true;
    if (up.is(Kind::kBlock)) return false;
  }
  return false;
}

std::string indent_of(std::string_view line) {
  return std::string(line.substr(0, std::min(line.find_first_not_of(" \t"), line.size())));
}

std::string_view without_end(std::string_view line) {
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// The lines of one line that is too long; a single one if it cannot be broken.
Lines break_line(const syntax::Tree& tree, std::uint32_t number, std::size_t limit) {
  const auto& lines = tree.lines();
  const std::string_view line = without_end(lines.line(number));
  const std::string indent = indent_of(line);
  const std::uint32_t start = lines.line_start(number) + static_cast<std::uint32_t>(indent.size());
  Lines same{std::string(line)};
  if (is_in_string(tree, start)) return same;
  const Code code = read_code(line.substr(indent.size()));
  const std::string_view comment =
      code.comment == std::string_view::npos ? std::string_view{} : code.text.substr(code.comment);
  const std::string_view text = base::trim(code.text.substr(0, code.comment));
  if (!code.whole || base::columns(indent) + base::columns(text) <= limit ||
      is_read_by_tools(comment))
    return same;
  const Breaker breaker(limit);
  const bool inside = is_in_brackets(tree, start);
  const Code bare = read_code(text);
  Lines result;
  if (!bare.brackets.empty() && bare.brackets.back().close == std::string_view::npos) {
    // The elements of an open bracket are aligned with those in the next line.
    const Bracket open = bare.brackets.back();
    if (number < lines.line_count())
      result = breaker.filled(text, indent, indent_of(lines.line(number + 1)), open.depth + 1);
  } else if (inside && places_of(bare, ",", 0).size() > (text.ends_with(',') ? 1U : 0U)) {
    result = breaker.filled(text, indent, indent, 0);
  } else {
    result = breaker.broken(text, indent, 0);
  }
  if (result.size() < 2) return same;
  if (!comment.empty()) result.back() += "  " + std::string(comment);
  return result;
}

}  // namespace

std::size_t own_line_length(std::string_view text) {
  std::vector<std::size_t> widths;
  for (const std::string_view line : base::split(text, '\n'))
    if (!base::trim(line).empty()) widths.push_back(base::columns(line));
  if (widths.empty()) return kShortest;
  const std::size_t longer = widths.size() / kOneIn;
  const auto longest = widths.end() - 1 - static_cast<std::ptrdiff_t>(longer);
  std::nth_element(widths.begin(), longest, widths.end());
  return std::max(kShortest, *longest);
}

std::string broken_lines(std::string_view before, const syntax::Tree& after, std::size_t limit) {
  const std::string& text = after.source();
  const std::string newline(newline_of(text));
  if (newline == "\r") return text;
  const Lines old = base::whole_lines(before);
  const Lines fresh = base::whole_lines(text);
  Lines result;
  std::size_t at = 0;  // in `fresh`
  std::ptrdiff_t shift = 0;
  const auto copy_to = [&](std::size_t end) {
    for (; at < end && at < fresh.size(); ++at) result.push_back(fresh[at]);
  };
  for (const base::LineChange& change : base::changed_lines(old, fresh)) {
    copy_to(static_cast<std::size_t>(static_cast<std::ptrdiff_t>(change.start) + shift));
    shift += static_cast<std::ptrdiff_t>(change.added.size()) -
             static_cast<std::ptrdiff_t>(change.removed);
    std::size_t most = limit;
    for (std::size_t i = 0; i < change.removed; ++i)
      most = std::max(most, base::columns(without_end(old[change.start + i])));
    for (const std::string& whole : change.added) {
      ++at;
      const std::string_view line = without_end(whole);
      if (base::columns(line) <= most) {
        result.push_back(whole);
        continue;
      }
      const Lines broken = break_line(after, static_cast<std::uint32_t>(at), limit);
      for (std::size_t i = 0; i + 1 < broken.size(); ++i) result.push_back(broken[i] + newline);
      result.push_back(broken.back() + whole.substr(line.size()));
    }
  }
  copy_to(fresh.size());
  return fmt::format("{}", fmt::join(result, ""));
}

}  // namespace torchport::edit
