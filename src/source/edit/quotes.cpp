#include "source/edit/quotes.h"

#include <cctype>
#include <vector>

namespace torchport::edit {

namespace {

using semantics::SemanticModel;
using syntax::Kind;
using syntax::Node;

struct Quotes {
  explicit Quotes(const SemanticModel& model) {
    int singles = 0;
    int doubles = 0;
    for (const Node start : model.nodes(Kind::kStringStart)) {
      const std::string_view text = start.text();
      if (text.ends_with("'''") || text.ends_with("\"\"\"")) continue;
      ++(text.ends_with('\'') ? singles : doubles);
    }
    if (singles > doubles) mark = '\'';
  }
  char mark = '"';
};

// A string literal in a piece of code: its offsets with the quotes.
struct Literal {
  std::size_t start = 0;
  std::size_t end = 0;
};

std::vector<Literal> literals_in(std::string_view code) {
  std::vector<Literal> literals;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i] == '#') {
      i = code.find('\n', i);
      if (i == std::string_view::npos) break;
      continue;
    }
    if (code[i] != '"' && code[i] != '\'') continue;
    const bool triple = code.substr(i, 3) == std::string(3, code[i]);
    const std::string mark(triple ? 3 : 1, code[i]);
    std::size_t end = i + mark.size();
    while (end < code.size() && code.substr(end, mark.size()) != mark)
      end += code[end] == '\\' ? 2 : 1;
    end = std::min(end + mark.size(), code.size());
    literals.push_back({i, end});
    i = end - 1;
  }
  return literals;
}

bool is_prefixed(std::string_view code, std::size_t start) {
  return start > 0 && std::isalnum(static_cast<unsigned char>(code[start - 1])) != 0;
}

// Whether a literal means the same in other quotes.
bool is_simple(std::string_view code, const Literal& literal) {
  const std::string_view text = code.substr(literal.start, literal.end - literal.start);
  return !is_prefixed(code, literal.start) && text.size() >= 2 &&
         text.substr(1, text.size() - 2).find_first_of("\"'\\\n") == std::string_view::npos;
}

}  // namespace

char preferred_quote(const SemanticModel& model) {
  return model.facts<Quotes>().mark;
}

namespace {

// The quotation mark of the line that an offset is in, or of the file.
char quote_at(const SemanticModel& model, std::uint32_t offset) {
  const auto& lines = model.tree().lines();
  std::string_view line = lines.line(lines.at(offset).line);
  line = line.substr(0, line.find('#'));
  const bool single = line.find('\'') != std::string_view::npos;
  const bool twice = line.find('"') != std::string_view::npos;
  if (single == twice) return preferred_quote(model);
  return single ? '\'' : '"';
}

}  // namespace

std::string in_quotes(std::string_view code, char quote, std::string_view kept) {
  std::string result(code);
  for (const Literal& literal : literals_in(code)) {
    const std::string_view text = code.substr(literal.start, literal.end - literal.start);
    if (!is_simple(code, literal) || kept.find(text) != std::string_view::npos) continue;
    result[literal.start] = result[literal.end - 1] = quote;
  }
  return result;
}

std::optional<std::string> fitted_quotes(const SemanticModel& model, std::uint32_t offset,
                                         std::string_view code, std::string_view replaced) {
  std::string taken;  // the quotes of the f-strings around the place
  bool one_line = false;
  for (Node up = syntax::node_at(model.tree(), offset); up; up = up.parent()) {
    if (!up.is(Kind::kString) || up.start() == offset) continue;
    const std::string_view start = up.first_child().text();
    const bool triple = start.ends_with("'''") || start.ends_with("\"\"\"");
    one_line |= !triple;
    if (!start.empty()) taken += start.back();
  }
  if (taken.empty()) return in_quotes(code, quote_at(model, offset), replaced);
  const bool single = taken.find('\'') != std::string::npos;
  const bool twice = taken.find('"') != std::string::npos;
  std::string result = in_quotes(code, twice ? '\'' : '"');
  const bool lines = one_line && result.find('\n') != std::string::npos;
  const bool clash = (single && result.find('\'') != std::string::npos &&
                      replaced.find('\'') == std::string_view::npos) ||
                     (twice && result.find('"') != std::string::npos &&
                      replaced.find('"') == std::string_view::npos);
  if (lines || clash || result.find('\\') != std::string::npos) return std::nullopt;
  return result;
}

}  // namespace torchport::edit
