#include "source/syntax/indentation.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace torchport::syntax {

namespace {

// A tab counts up to the next multiple of eight and, to check consistency, also as one column. Both
// widths have to agree.
struct Width {
  std::uint32_t columns = 0;
  std::uint32_t characters = 0;
  bool operator==(const Width&) const = default;
  [[nodiscard]] bool deeper_than(const Width& other) const {
    return columns > other.columns && characters > other.characters;
  }
};

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\f';
}

std::size_t line_start(std::string_view source, std::size_t offset) {
  std::size_t start = offset;
  while (start > 0 && source[start - 1] != '\n' && source[start - 1] != '\r') --start;
  return start == 0 && source.starts_with("\xEF\xBB\xBF") ? 3 : start;
}

Width width_of(std::string_view blank) {
  Width width;
  for (const char c : blank) {
    if (c == '\f') {
      width = {};
    } else {
      width.columns = c == '\t' ? (width.columns / 8 + 1) * 8 : width.columns + 1;
      ++width.characters;
    }
  }
  return width;
}

// Whether the line ends in a comment, whose last character may be a backslash, too.
bool ends_comment(const Tree& tree, std::size_t end) {
  const auto& comments = tree.comments();
  const auto after = std::partition_point(comments.begin(), comments.end(),
                                          [&](Node comment) { return comment.end() < end; });
  return after != comments.end() && after->start() < end;
}

// The indentation of a statement that is the first of its logical line.
std::optional<Width> indentation_at(const Tree& tree, std::size_t offset) {
  const std::string_view source = tree.source();
  std::size_t first = offset;
  while (first > 0 && is_blank(source[first - 1])) --first;
  const std::size_t start = line_start(source, first);
  if (first > start) return std::nullopt;  // the line has something before it
  std::size_t end = start;                 // the end of the line before
  if (end > 0 && source[end - 1] == '\n') --end;
  if (end > 0 && source[end - 1] == '\r') --end;
  if (end > 0 && end < start && source[end - 1] == '\\' && !ends_comment(tree, end))
    return std::nullopt;
  return width_of(source.substr(start, offset - start));
}

// The indentation of the line that a compound statement starts on.
Width line_indentation(std::string_view source, std::size_t offset) {
  const std::size_t start = line_start(source, offset);
  std::size_t end = start;
  while (end < offset && is_blank(source[end])) ++end;
  return width_of(source.substr(start, end - start));
}

bool is_compound(Node node) {
  return node.is_any(Kind::kIf, Kind::kFor, Kind::kWhile, Kind::kTry, Kind::kWith, Kind::kMatch,
                     Kind::kFunction, Kind::kClass, Kind::kDecorated);
}

class Check {
 public:
  Check(const Tree& tree, bool indented_cells)
      : tree_(tree), source_(tree.source()), indented_cells_(indented_cells) {}

  [[nodiscard]] std::optional<std::uint32_t> run() {
    blocks_.resize(tree_.size());
    for (std::uint32_t i = 1; i < tree_.size(); ++i) {
      const Node node = tree_.at(i);
      if (!is_right(node)) return node.start();
    }
    return std::nullopt;
  }

 private:
  enum class State : std::uint8_t { kUnseen, kInline, kIndented };
  struct Block {
    State state = State::kUnseen;
    Width width;
  };

  bool is_right(Node node) {
    if (node.is_any(Kind::kElif, Kind::kElse, Kind::kExcept, Kind::kFinally))
      return is_like(node, node.parent());
    if (node.is(Kind::kComment)) return true;
    // The grammar accepts a missing body as an empty one.
    if (node.is(Kind::kBlock) && !node.first_child()) return false;
    switch (node.parent().kind()) {
      case Kind::kModule: {
        const auto width = indentation_at(tree_, node.start());
        return width ? indented_cells_ || *width == Width{} : goes_on(node);
      }
      case Kind::kDecorated:
        return is_like(node, node.parent());
      case Kind::kBlock:
        return is_in_line(node, node.parent());
      default:
        return true;
    }
  }

  // A clause has the indentation of its statement, a function that of its decorators, and both have
  // a line of their own.
  bool is_like(Node node, Node owner) const {
    const auto width = indentation_at(tree_, node.start());
    return width && *width == line_indentation(source_, owner.start());
  }

  // Whether a statement continues a line: it is a simple statement after a `;`.
  [[nodiscard]] bool goes_on(Node statement) const {
    if (is_compound(statement)) return false;
    std::size_t at = statement.start();
    while (at > 0 && (is_blank(source_[at - 1]) || source_[at - 1] == '\n' ||
                      source_[at - 1] == '\r' || source_[at - 1] == '\\'))
      --at;
    return at == 0 || source_[at - 1] == ';';
  }

  bool is_in_line(Node statement, Node holder) {
    const auto width = indentation_at(tree_, statement.start());
    Block& block = blocks_[holder.index()];
    if (block.state == State::kUnseen) {
      if (!width && is_compound(statement)) return false;
      block.state = width ? State::kIndented : State::kInline;
      block.width = width.value_or(Width{});
      const Node owner = holder.parent();
      return !width || width->deeper_than(line_indentation(source_, owner.start()));
    }
    if (!width) return goes_on(statement);
    return block.state == State::kIndented && *width == block.width;
  }

  const Tree& tree_;
  std::string_view source_;
  bool indented_cells_;
  std::vector<Block> blocks_;
};

}  // namespace

std::optional<std::uint32_t> misplaced_statement(const Tree& tree, bool indented_cells) {
  return Check(tree, indented_cells).run();
}

}  // namespace torchport::syntax
