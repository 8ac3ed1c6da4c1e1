#include "source/syntax/logical_line.h"

#include <algorithm>
#include <string_view>

namespace torchport::syntax {

namespace {

bool is_line_end(char c) {
  return c == '\n' || c == '\r';
}

// Whether a node starts a logical line: a statement, a clause, a decorator.
bool starts_line(Node node) {
  if (node.is_any(Kind::kComment, Kind::kDecorated)) return false;
  if (node.is_any(Kind::kElif, Kind::kElse, Kind::kExcept, Kind::kFinally)) return true;
  return node.parent().is_any(Kind::kModule, Kind::kBlock, Kind::kDecorated);
}

// Where the logical line of a node ends: before its body, or at its end.
std::uint32_t line_end(Node node) {
  for (Node child = node.first_child(); child; child = child.next_sibling())
    if (child.is(Kind::kBlock)) return child.start();
  return node.end();
}

// Scans the text of one node and skips its strings and comments.
class Scan {
 public:
  Scan(const Tree& tree, Node node, std::uint32_t end)
      : source_(tree.source()),
        comments_(tree.comments()),
        tree_(tree),
        next_(node.index() + 1),
        after_(node.subtree_end()),
        at_(node.start()),
        end_(end),
        is_header_(end < node.end()),
        comment_(static_cast<std::size_t>(
            std::partition_point(comments_.begin(), comments_.end(),
                                 [&](Node comment) { return comment.start() < node.start(); }) -
            comments_.begin())) {}

  [[nodiscard]] std::optional<std::uint32_t> run() {
    int depth = 0;
    char before = '\0';  // the last character that is not a blank
    while (at_ < end_) {
      if (skip_comment()) continue;
      const char c = source_[at_];
      if ((c == '"' || c == '\'') && skip_string()) {
        before = c;
        continue;
      }
      if (c == '\\' && at_ + 1 < end_ && is_line_end(source_[at_ + 1])) {
        at_ += source_.substr(at_ + 1, 2) == "\r\n" ? 3U : 2U;
        continue;
      }
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
      if (is_line_end(c) && depth == 0) {
        // The line of a header ends after its colon; the body's indentation follows.
        if (is_header_ && before == ':') return std::nullopt;
        return at_;
      }
      if (c != ' ' && c != '\t' && c != '\f' && !is_line_end(c)) before = c;
      ++at_;
    }
    return std::nullopt;
  }

 private:
  bool skip_comment() {
    while (comment_ < comments_.size() && comments_[comment_].start() < at_) ++comment_;
    if (comment_ == comments_.size() || comments_[comment_].start() != at_) return false;
    at_ = std::max(comments_[comment_].end(), at_ + 1);
    return true;
  }

  bool skip_string() {
    while (next_ < after_) {
      const Node node = tree_.at(next_);
      if (node.is(Kind::kString) && node.end() > at_) {
        if (node.start() > at_) return false;
        at_ = node.end();
        next_ = node.subtree_end();
        return true;
      }
      ++next_;
    }
    return false;
  }

  std::string_view source_;
  const std::vector<Node>& comments_;
  const Tree& tree_;
  std::uint32_t next_;
  std::uint32_t after_;
  std::uint32_t at_;
  std::uint32_t end_;
  bool is_header_;
  std::size_t comment_;
};

}  // namespace

std::optional<std::uint32_t> broken_logical_line(const Tree& tree) {
  const std::string_view source = tree.source();
  for (std::uint32_t i = 1; i < tree.size(); ++i) {
    const Node node = tree.at(i);
    if (!starts_line(node)) continue;
    const std::uint32_t end = line_end(node);
    const std::string_view text = source.substr(node.start(), end - node.start());
    if (text.find('\n') == std::string_view::npos && text.find('\r') == std::string_view::npos)
      continue;
    if (const auto offset = Scan(tree, node, end).run()) return offset;
  }
  return std::nullopt;
}

}  // namespace torchport::syntax
