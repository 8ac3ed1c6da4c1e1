#include "source/rules/edits.h"

#include <algorithm>

#include "source/rules/rule.h"
#include "source/rules/statements.h"

namespace torchport::rules {

Edit replace(Node node, std::string text) {
  return {node.span(), std::move(text)};
}
Edit insert_before(Node node, std::string text) {
  return {{node.start(), node.start()}, std::move(text)};
}
Edit insert_after(Node node, std::string text) {
  return {{node.end(), node.end()}, std::move(text)};
}
Edit erase(base::Span span) {
  return {span, {}};
}

namespace {

// Adds an argument on a line below the last one, whose line ends with a comment.
Edit add_argument_below(Node call, Node last, Node comment, std::string_view argument) {
  const std::string_view source = last.tree()->source();
  const std::string_view between = source.substr(last.end(), comment.start() - last.end());
  const auto comma = between.find(',');
  std::string text = ",";
  if (comma == std::string_view::npos) {
    text += between;
  } else {
    text += between.substr(comma + 1);
  }
  text.append(comment.text()).append(newline_of(last));
  const auto& lines = last.tree()->lines();
  const auto first = lines.at(syntax::arguments(call).front().whole.start());
  if (first.line == lines.at(call.child(Field::kArguments).start()).line)
    text.append(first.column - 1, ' ');
  else
    text += indentation_of(last);
  text += argument;
  if (comma != std::string_view::npos) text += ',';
  return {{last.end(), comment.end()}, std::move(text)};
}

// The comment that follows an argument on its line; invalid if there is none.
Node comment_after(Node argument, Node list) {
  const auto& comments = argument.tree()->comments();
  const auto next =
      std::lower_bound(comments.begin(), comments.end(), argument.end(),
                       [](Node comment, std::uint32_t offset) { return comment.start() < offset; });
  if (next == comments.end() || next->start() > list.end()) return {};
  const std::string_view source = argument.tree()->source();
  const std::string_view between = source.substr(argument.end(), next->start() - argument.end());
  return between.find('\n') == std::string_view::npos ? *next : Node{};
}

}  // namespace

Edit add_argument(Node call, std::string_view argument) {
  const Node list = call.child(Field::kArguments);
  const auto args = syntax::arguments(call);
  if (args.empty()) return {{list.end() - 1, list.end() - 1}, std::string(argument)};
  const Node last = args.back().whole;
  if (const Node comment = comment_after(last, list))
    return add_argument_below(call, last, comment, argument);
  // Keeps a trailing comma at the end.
  const std::string_view rest =
      std::string_view(call.tree()->source()).substr(last.end(), list.end() - 1 - last.end());
  std::string separator = ", ";
  if (const auto newline = rest.find('\n');
      newline != std::string_view::npos && rest.find(',') < newline) {
    // If each argument has a line of its own, the new one gets one, too.
    const std::string_view indent = indentation_of(last);
    const auto line = call.tree()->lines().at(last.start()).line;
    if (base::trim(call.tree()->lines().line(line))
            .starts_with(last.text().substr(0, last.text().find('\n')))) {
      separator = ",\n" + std::string(indent);
    }
  }
  return {{last.end(), last.end()}, separator + std::string(argument)};
}

Edit remove_argument(Node call, Node whole) {
  const auto args = syntax::arguments(call);
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i].whole != whole) continue;
    if (i > 0) return erase({args[i - 1].whole.end(), whole.end()});
    if (args.size() > 1) return erase({whole.start(), args[1].whole.start()});
    // It is the only argument, so its trailing comma goes, too.
    const std::string& source = call.tree()->source();
    std::uint32_t end = whole.end();
    while (end < source.size() && (source[end] == ' ' || source[end] == ',')) ++end;
    return erase({whole.start(), end});
  }
  return erase({whole.start(), whole.start()});
}

std::string_view arguments_text(Node call) {
  const Node list = call.child(Field::kArguments);
  if (!list || list.text().size() < 2) return {};
  return list.text().substr(1, list.text().size() - 2);
}

std::string_view indentation_of(Node node) {
  if (!node) return {};
  const auto& lines = node.tree()->lines();
  const std::string_view line = lines.line(lines.at(node.start()).line);
  const auto first = line.find_first_not_of(" \t\f");
  return line.substr(0, first == std::string_view::npos ? line.size() : first);
}

base::Span whole_lines(Node statement) {
  const auto& lines = statement.tree()->lines();
  const std::uint32_t first = lines.at(statement.start()).line;
  const std::uint32_t last = lines.at(statement.end()).line;
  const auto size = static_cast<std::uint32_t>(statement.tree()->source().size());
  return {lines.line_start(first), last < lines.line_count() ? lines.line_start(last + 1) : size};
}

base::Span lines_with_comment(Node statement) {
  base::Span span = whole_lines(statement);
  const auto& lines = statement.tree()->lines();
  const Node next = statement.next_sibling();
  if (next && next.start() < span.end + indentation_of(next).size() + 1 &&
      !next.text().starts_with("torch.cuda."))
    return span;
  const std::string_view indent = indentation_of(statement);
  std::uint32_t first = lines.at(statement.start()).line;
  std::string comment;
  for (; first > 1; --first) {
    const std::string_view line = lines.line(first - 1);
    if (!line.starts_with(indent) || !line.substr(indent.size()).starts_with('#')) break;
    comment += base::lower(line);
  }
  const auto says = [&](std::string_view word) { return comment.find(word) != std::string::npos; };
  if (!says("cuda") && !says("gpu")) return span;
  if (edit::is_read_by_tools(comment) || says("!")) return span;
  span.start = lines.line_start(first);
  return span;
}

std::string_view method_name(Node call) {
  const Node function = syntax::callee(call);
  return function.is(Kind::kAttribute) ? function.child(Field::kAttributeName).text()
                                       : function.text();
}

Node object_of(Node call) {
  const Node function = syntax::callee(call);
  return function.is(Kind::kAttribute) ? function.child(Field::kObject) : Node{};
}

base::Span method_span(Node call) {
  return {object_of(call).end(), call.end()};
}

}  // namespace torchport::rules
