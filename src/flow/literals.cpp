#include "flow/literals.h"

#include <algorithm>
#include <array>

#include "flow/guards.h"

namespace torchport::flow {

namespace {

bool names_device(std::string_view name) {
  const std::string text = base::lower(name);
  return text.find("device") != std::string::npos || text == "dev" || text == "map_location" || text.ends_with("_dev");
}

// "cuda", "cuda:0" as a literal; f"cuda:{i}" as a formatted one.
bool spells_cuda(Node string, Literal& literal) {
  std::string text;
  if (syntax::string_value(string, text)) {
    literal.indexed = text.size() > 4;
    return is_cuda_string(text);
  }
  const Node first = string.is(Kind::kString) ? string.first_child().next_sibling() : Node{};
  if (!first.is(Kind::kStringContent)) return false;
  literal.indexed = literal.formatted = true;
  if (first.text() != "cuda:" && first.text() != "cuda") return false;
  Node last = first;
  int interpolations = 0;
  for (Node part = first.next_sibling(); part; part = part.next_sibling()) {
    if (part.is(Kind::kInterpolation)) ++interpolations;
    last = part;
  }
  return interpolations == 1 && last.is(Kind::kStringEnd);
}

std::string_view last_name(Node function) {
  return function.is(Kind::kAttribute) ? function.child(Field::kAttributeName).text() : function.text();
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

LiteralRole role_in_call(const Model& model, Node call, std::string_view keyword, Node value) {
  const Node function = syntax::callee(call);
  const std::string& name = model.called(call);
  const std::string_view last = last_name(function);
  if (last.ends_with("autocast") || last.ends_with("GradScaler") || name == "torch.amp.autocast_mode.autocast") {
    return LiteralRole::kMode;
  }
  if (is_one_of(last, {"startswith", "endswith", "find", "index", "count", "replace", "split", "strip"})) return LiteralRole::kComparison;
  if (is_one_of(last, {"isinstance", "hasattr", "getattr", "setattr", "import_module"})) return LiteralRole::kDispatch;
  if (is_one_of(last, {"print", "warn", "warning", "info", "debug", "error", "log", "write", "format", "skip"})) return LiteralRole::kMessage;
  if (name.starts_with("torch.library.") || name.starts_with("torch._C.") || last.find("register") != std::string_view::npos ||
      last.find("impl") != std::string_view::npos || last == "custom_op" || name.starts_with("torch.utils.benchmark") ||
      name.starts_with("torch.utils.cpp_extension") || name.starts_with("triton.") || last == "Library") {
    return LiteralRole::kDispatch;
  }
  if (last == "add_argument" || last == "option" || last == "Option") {
    if (keyword != "default") return LiteralRole::kDispatch;
    std::string option;
    for (const syntax::Argument& arg : syntax::arguments(call)) {
      if (arg.keyword.empty() && syntax::string_value(arg.value, option) && names_device(option)) return LiteralRole::kDefault;
    }
    return LiteralRole::kOther;
  }
  if (last == "get" || last == "pop" || last == "getenv" || last == "setdefault") {
    std::string key;
    const bool device_key = syntax::string_value(syntax::positional(call, 0), key) && names_device(key);
    return device_key && syntax::positional(call, 1) == value ? LiteralRole::kDefault : LiteralRole::kDispatch;
  }
  if (!keyword.empty()) return names_device(keyword) ? LiteralRole::kPlacement : LiteralRole::kOther;
  if (name == "torch.device" || last == "to" || last == "to_empty" || last == "to_device" || last == "set_default_device") {
    return LiteralRole::kPlacement;
  }
  if (name == "torch.load" || name == "torch.jit.load") return LiteralRole::kPlacement;
  if (name == "torch.set_default_device" || name == "torch.Generator") return LiteralRole::kPlacement;
  if (name == "functools.partial") return LiteralRole::kOther;
  // A function of this file: the parameter's name tells.
  if (const Node definition = function.is(Kind::kIdentifier) ? model.function_named(function.text(), call) : Node{}) {
    const auto args = syntax::arguments(call);
    const auto parameters = definition.child(Field::kParametersPart).children();
    for (std::size_t i = 0; i < args.size() && i < parameters.size(); ++i) {
      if (!args[i].keyword.empty() || args[i].value != value) continue;
      const Node parameter = parameters[i];
      const Node target = parameter.child(Field::kName) ? parameter.child(Field::kName)
                          : parameter.is(Kind::kIdentifier) ? parameter : parameter.first_child();
      if (names_device(target.text())) return LiteralRole::kPlacement;
    }
  }
  return LiteralRole::kOther;
}

LiteralRole role_in_target(Node target) {
  if (target.is(Kind::kAttribute)) target = target.child(Field::kAttributeName);
  if (target.is(Kind::kSubscript)) {
    std::string key;
    return syntax::string_value(target.child(Field::kSubscriptPart), key) && names_device(key) ? LiteralRole::kPlacement : LiteralRole::kOther;
  }
  return target.is(Kind::kIdentifier) && names_device(target.text()) ? LiteralRole::kPlacement : LiteralRole::kOther;
}

LiteralRole raw_role(const Model& model, Node string) {
  Node from = string;
  for (Node parent = from.parent(); parent; from = parent, parent = parent.parent()) {
    switch (parent.kind()) {
      case Kind::kParenthesized:
      case Kind::kConcatenatedString: continue;
      case Kind::kConditional: {
        const auto parts = parent.children();
        if (parts.size() == 3 && parts[1] == from) return LiteralRole::kComparison;
        continue;
      }
      case Kind::kBooleanOperator: continue;
      case Kind::kComparison:
      case Kind::kCase: return LiteralRole::kComparison;
      case Kind::kSubscript: return LiteralRole::kDispatch;
      case Kind::kPair: {
        if (from.field() == Field::kKey) return LiteralRole::kDispatch;
        std::string key;
        return syntax::string_value(parent.child(Field::kKey), key) && names_device(key) ? LiteralRole::kPlacement : LiteralRole::kOther;
      }
      case Kind::kKeywordArgument:
        return role_in_call(model, parent.parent().parent(), parent.child(Field::kName).text(), from);
      case Kind::kArgumentList:
        if (!parent.parent().is(Kind::kCall)) return LiteralRole::kOther;
        return role_in_call(model, parent.parent(), {}, from);
      case Kind::kDefaultParameter:
      case Kind::kTypedDefaultParameter:
        return names_device(parent.child(Field::kName).text()) ? LiteralRole::kDefault : LiteralRole::kOther;
      case Kind::kAssignment:
        return from.field() == Field::kRight ? role_in_target(parent.child(Field::kLeft)) : LiteralRole::kOther;
      case Kind::kReturn: {
        const Node function = syntax::function_of(parent);
        return names_device(function.child(Field::kName).text()) ? LiteralRole::kPlacement : LiteralRole::kOther;
      }
      case Kind::kList:
      case Kind::kTuple:
      case Kind::kSet: {
        if (parent.parent().is(Kind::kComparison)) return LiteralRole::kComparison;
        return LiteralRole::kDispatch;
      }
      case Kind::kExpressionStatement: return LiteralRole::kMessage;
      case Kind::kRaise:
      case Kind::kAssert: return LiteralRole::kMessage;
      default: return LiteralRole::kOther;
    }
  }
  return LiteralRole::kOther;
}

}  // namespace

std::string_view role_name(LiteralRole role) {
  switch (role) {
    case LiteralRole::kNone: return "none";
    case LiteralRole::kPlacement: return "placement";
    case LiteralRole::kDefault: return "default";
    case LiteralRole::kComparison: return "comparison";
    case LiteralRole::kGuarded: return "guarded";
    case LiteralRole::kDispatch: return "dispatch";
    case LiteralRole::kMode: return "mode";
    case LiteralRole::kMessage: return "message";
    case LiteralRole::kOther: return "other";
  }
  return "other";
}

Literal classify_literal(const Model& model, Node string) {
  Literal literal;
  literal.node = string;
  if (!spells_cuda(string, literal)) return literal;
  literal.role = raw_role(model, string);
  const bool placed = literal.role == LiteralRole::kPlacement || literal.role == LiteralRole::kDefault;
  if (placed && is_cuda_guarded(model, string)) literal.role = LiteralRole::kGuarded;
  return literal;
}

}  // namespace torchport::flow
