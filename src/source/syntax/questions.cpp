#include "source/syntax/tree.h"

namespace torchport::syntax {

Node callee(Node call) {
  return call.is(Kind::kCall) ? call.child(Field::kFunctionPart) : Node{};
}

namespace {

// Calls `visit` with each argument until it returns false. Rules ask for one argument of each call
// they see, so that a list of all of them costs too much.
template <class Visit>
void each_argument(Node call, const Visit& visit) {
  const Node list = call.is(Kind::kCall) ? call.child(Field::kArguments) : call;
  if (list.is(Kind::kGenerator)) {
    visit(Argument{{}, list, list});
    return;
  }
  if (!list.is(Kind::kArgumentList)) return;
  for (Node child = list.first_child(); child; child = child.next_sibling()) {
    Argument argument{{}, child, child};
    if (child.is(Kind::kKeywordArgument))
      argument = {child.child(Field::kName).text(), child.child(Field::kValue), child};
    else if (child.is(Kind::kListSplat))
      argument = {"*", child.first_child(), child};
    else if (child.is(Kind::kDictionarySplat))
      argument = {"**", child.first_child(), child};
    if (!visit(argument)) return;
  }
}

}  // namespace

std::vector<Argument> arguments(Node call) {
  std::vector<Argument> result;
  each_argument(call, [&](const Argument& argument) {
    result.push_back(argument);
    return true;
  });
  return result;
}

Node positional(Node call, std::size_t index) {
  std::size_t seen = 0;
  Node found;
  each_argument(call, [&](const Argument& argument) {
    if (argument.keyword == "*") return false;  // later arguments have no known position
    if (!argument.keyword.empty() || seen++ != index) return true;
    found = argument.value;
    return false;
  });
  return found;
}

Node keyword(Node call, std::string_view name) {
  Node found;
  each_argument(call, [&](const Argument& argument) {
    if (argument.keyword == name) found = argument.value;
    return !found;
  });
  return found;
}

Node argument(Node call, std::size_t index, std::string_view name) {
  const Node named = keyword(call, name);
  return named ? named : positional(call, index);
}

bool has_splat(Node call) {
  bool any = false;
  each_argument(call, [&](const Argument& argument) {
    any = argument.keyword == "*" || argument.keyword == "**";
    return !any;
  });
  return any;
}

std::string_view end_of_name(Node expression) {
  return expression.is(Kind::kAttribute) ? expression.child(Field::kAttributeName).text()
                                         : expression.text();
}

Node unwrap(Node expression) {
  while (expression.is(Kind::kParenthesized)) expression = expression.first_child();
  return expression;
}

bool string_value(Node node, std::string& value) {
  node = unwrap(node);
  if (node.is(Kind::kConcatenatedString)) {
    value.clear();
    for (Node part = node.first_child(); part; part = part.next_sibling()) {
      std::string piece;
      if (!string_value(part, piece)) return false;
      value += piece;
    }
    return true;
  }
  if (!node.is(Kind::kString)) return false;
  value.clear();
  for (Node part = node.first_child(); part; part = part.next_sibling()) {
    if (part.is(Kind::kInterpolation)) return false;
    if (!part.is(Kind::kStringContent)) continue;
    if (part.first_child()) return false;  // it has escapes, which no device name has
    value += part.text();
  }
  return true;
}

Node statement_of(Node node) {
  while (node) {
    const Node up = node.parent();
    if (!up || up.is_any(Kind::kBlock, Kind::kModule)) return node;
    node = up;
  }
  return node;
}

Node function_of(Node node) {
  for (Node up = node.parent(); up; up = up.parent()) {
    if (up.is_any(Kind::kFunction, Kind::kLambda)) return up;
  }
  return {};
}

Node class_of(Node node) {
  return node.ancestor(Kind::kClass);
}

Node node_at(const Tree& tree, std::uint32_t offset) {
  // Nodes are in the order of their starts, so the last one that starts there or before is in all
  // that the offset is in.
  std::uint32_t first = 0;
  auto end = static_cast<std::uint32_t>(tree.size());
  while (end - first > 1) {
    const std::uint32_t middle = first + (end - first) / 2;
    (tree.at(middle).start() <= offset ? first : end) = middle;
  }
  Node found = tree.at(first);
  while (offset >= found.end() && found.parent()) found = found.parent();
  return found;
}

}  // namespace torchport::syntax
