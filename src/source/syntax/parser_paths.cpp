#include "source/syntax/parser_paths.h"

#include <fmt/format.h>

namespace torchport::syntax {

namespace {

std::string in_words(const Tree& tree, std::uint32_t index) {
  if (index >= tree.size()) return "nothing";
  const Node node = tree.at(index);
  return fmt::format("{} (field {}) at {}-{}, parent {}, subtree to {}: {}", kind_name(node.kind()),
                     static_cast<int>(node.field()), node.start(), node.end(),
                     node.parent().index(), node.subtree_end(), node.text().substr(0, 60));
}

bool are_equal(Node a, Node b) {
  return a.kind() == b.kind() && a.field() == b.field() && a.span() == b.span() &&
         a.parent().index() == b.parent().index() && a.subtree_end() == b.subtree_end();
}

std::string difference(const Tree& quick, const Tree& other) {
  if (other.has_syntax_error())
    return fmt::format("a syntax error at {}", other.syntax_error_offset());
  if (quick.has_syntax_error()) return "the quick parser sees a syntax error";
  for (std::uint32_t i = 0; i < quick.size() || i < other.size(); ++i) {
    if (i < quick.size() && i < other.size() && are_equal(quick.at(i), other.at(i))) continue;
    return fmt::format("record {}: {} and not {}", i, in_words(quick, i), in_words(other, i));
  }
  if (quick.comments().size() != other.comments().size()) return "other comments";
  for (std::size_t i = 0; i < quick.comments().size(); ++i)
    if (quick.comments()[i].index() != other.comments()[i].index()) return "another comment";
  return {};
}

}  // namespace

ParserComparison compare_parsers(std::string_view source, const ParseLimits& limits) {
  using Outcome = ParserComparison::Outcome;
  ParseLimits one = limits;
  one.paths = ParseLimits::Paths::kQuick;
  const auto quick = Tree::parse(std::string(source), one);
  one.paths = ParseLimits::Paths::kGrammar;
  const auto other = Tree::parse(std::string(source), one);
  if (!quick) {
    const bool is_fine = other && !(*other)->has_syntax_error();
    return {is_fine ? Outcome::kRefused : Outcome::kBroken, {}, quick.error().line};
  }
  if (!other) return {Outcome::kDiffers, "the other parser: " + other.error().message, 0};
  std::string found = difference(**quick, **other);
  return {found.empty() ? Outcome::kSame : Outcome::kDiffers, std::move(found), 0};
}

}  // namespace torchport::syntax
