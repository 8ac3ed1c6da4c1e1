#include "source/rules/build/common/unset_environment.h"

#include <charconv>
#include <string>
#include <variant>

#include "base/text.h"
#include "source/rules/rule.h"

namespace torchport::rules {

namespace {

constexpr int kMaxUnsetDepth = 12;

struct None {
  bool operator==(const None&) const = default;
};
using Constant = std::variant<None, bool, long, std::string>;
using Known = std::optional<Constant>;

bool is_true(const Constant& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* number = std::get_if<long>(&value)) return *number != 0;
  if (const auto* text = std::get_if<std::string>(&value)) return !text->empty();
  return false;
}

std::optional<long> number_in(std::string_view text) {
  text = base::trim(text);
  long number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Computes what expressions are without any variable of the environment.
class Unset {
 public:
  explicit Unset(const SemanticModel& model) : model_(model) {}

  Known value(Node node, int depth) {
    node = syntax::unwrap(node);
    if (!node || depth > kMaxUnsetDepth) return std::nullopt;
    if (node.is(Kind::kNone)) return None{};
    if (node.is_any(Kind::kTrue, Kind::kFalse)) return node.is(Kind::kTrue);
    if (std::string text; node.is(Kind::kString) && syntax::string_value(node, text)) return text;
    if (node.is(Kind::kInteger)) {
      const auto number = number_in(node.text());
      return number ? Known(*number) : std::nullopt;
    }
    if (node.is(Kind::kNotOperator)) {
      const Known inner = value(node.first_child(), depth + 1);
      return inner ? Known(!is_true(*inner)) : std::nullopt;
    }
    if (node.is(Kind::kBooleanOperator)) return either(node, depth);
    if (node.is(Kind::kComparison)) return comparison(node, depth);
    if (node.is(Kind::kCall)) return call(node, depth);
    return node.is(Kind::kIdentifier) ? name(node, depth) : std::nullopt;
  }

 private:
  Known either(Node node, int depth) {
    const bool is_or = node.child(Field::kOperator).text() == "or";
    Known left = value(node.child(Field::kLeft), depth + 1);
    Known right = value(node.child(Field::kRight), depth + 1);
    if (left && is_true(*left) == is_or) return left;
    if (left) return right;
    return right && is_true(*right) == is_or ? right : std::nullopt;
  }

  Known comparison(Node node, int depth) {
    const auto parts = node.children();
    if (parts.size() != 3) return std::nullopt;
    const std::string_view sign = parts[1].text();
    const bool asks_environment = model_.qualified(syntax::unwrap(parts[2])) == "os.environ";
    if (asks_environment && (sign == "in" || sign == "not in")) return sign == "not in";
    const Known left = value(parts[0], depth + 1);
    if (!left) return std::nullopt;
    if (sign == "in" || sign == "not in") {
      for (const Node element : syntax::unwrap(parts[2]).children()) {
        const Known one = value(element, depth + 1);
        if (!one) return std::nullopt;
        if (*one == *left) return sign == "in";
      }
      return parts[2].first_child() ? Known(sign == "not in") : std::nullopt;
    }
    const Known right = value(parts[2], depth + 1);
    if (!right) return std::nullopt;
    if (sign == "==" || sign == "is") return *left == *right;
    if (sign == "!=" || sign == "is not") return *left != *right;
    return std::nullopt;
  }

  Known call(Node node, int depth) {
    const std::string& called = model_.called(node);
    if (called == "os.getenv" || called == "os.environ.get") {
      const Node fallback = syntax::argument(node, 1, "default");
      return fallback ? value(fallback, depth + 1) : Known(None{});
    }
    const Node argument = syntax::positional(node, 0);
    if (called == "bool" || called == "int" || called == "builtins.bool" ||
        called == "builtins.int" || syntax::callee(node).text() == "bool" ||
        syntax::callee(node).text() == "int") {
      const Known inner = value(argument, depth + 1);
      if (!inner) return std::nullopt;
      if (syntax::callee(node).text() == "bool") return is_true(*inner);
      if (const auto* text = std::get_if<std::string>(&*inner)) {
        const auto number = number_in(*text);
        return number ? Known(*number) : std::nullopt;
      }
      return std::holds_alternative<None>(*inner) ? std::nullopt : inner;
    }
    return changed_text(node, depth);
  }

  // `text.lower()` and the like.
  Known changed_text(Node node, int depth) {
    const Node callee = syntax::callee(node);
    if (!callee.is(Kind::kAttribute) || syntax::positional(node, 0)) return std::nullopt;
    const std::string_view method = callee.child(Field::kAttributeName).text();
    if (method != "lower" && method != "upper" && method != "strip") return std::nullopt;
    const Known inner = value(callee.child(Field::kObject), depth + 1);
    const auto* text = inner ? std::get_if<std::string>(&*inner) : nullptr;
    if (text == nullptr) return std::nullopt;
    if (method == "strip") return std::string(base::trim(*text));
    if (method == "lower") return base::lower(*text);
    std::string raised = *text;
    for (char& c : raised)
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return raised;
  }

  Known name(Node node, int depth) {
    const auto bindings = model_.scopes().all(node.text(), node);
    if (bindings.size() != 1 || bindings.front()->kind != semantics::BindingKind::kAssign)
      return std::nullopt;
    return value(bindings.front()->value, depth + 1);
  }

  const SemanticModel& model_;
};

}  // namespace

std::optional<bool> unset_truth(const SemanticModel& model, Node condition) {
  const Known known = Unset(model).value(condition, 0);
  return known ? std::optional(is_true(*known)) : std::nullopt;
}

}  // namespace torchport::rules
