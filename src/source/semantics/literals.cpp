#include "source/semantics/literals.h"

#include <algorithm>
#include <array>

#include "devices/device_kind.h"
#include "source/semantics/guards.h"

namespace torchport::semantics {

namespace {

bool names_device(std::string_view name) {
  const std::string text = base::lower(name);
  return text.find("device") != std::string::npos || text == "dev" || text == "map_location" ||
         text.ends_with("_dev");
}

// Whether a string is, or may become, a device: "cpu", "mps:0", "auto", "".
bool spells_device(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  return name.empty() || name == "cpu" || name == "auto" || name == "meta" || name == "gpu" ||
         name == "{}" ||
         std::any_of(devices::kinds().begin(), devices::kinds().end(),
                     [&](const devices::DeviceKind& kind) { return kind.name == name; });
}

// The expression that completes a string: "cuda:%d" % i, "cuda:{}".format(i), "cuda:" + str(i).
Node completed(Node string, std::string_view text) {
  const Node parent = string.parent();
  if (text.starts_with("cuda:%") && text.size() == 7 && parent.is(Kind::kBinaryOperator) &&
      parent.child(Field::kLeft) == string && parent.child(Field::kOperator).text() == "%") {
    return parent;
  }
  if (text == "cuda:" && parent.is(Kind::kBinaryOperator) && parent.child(Field::kLeft) == string &&
      parent.child(Field::kOperator).text() == "+") {
    return parent;
  }
  if (text.starts_with("cuda:{") && text.ends_with('}') && parent.is(Kind::kAttribute) &&
      parent.child(Field::kAttributeName).text() == "format" && parent.parent().is(Kind::kCall)) {
    return parent.parent();
  }
  return {};
}

// Whether a string names a CUDA device: "cuda" or "cuda:0" as a literal, f"cuda:{i}" and its older
// forms as formatted ones.
bool spells_cuda(Node string, Literal& literal) {
  std::string text;
  literal.whole = string;
  if (string.parent().is(Kind::kConcatenatedString)) return false;
  if (syntax::string_value(string, text)) {
    literal.indexed = text.size() > 4;
    if (is_cuda_string(text)) return true;
    if (!text.starts_with("cuda:")) return false;
    literal.whole = completed(string, text);
    literal.formatted = true;
    return static_cast<bool>(literal.whole);
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

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

LiteralRole raw_role(const SemanticModel& model, Node string);

// The role of torch.device("cuda"), which is the role of the call's own place.
LiteralRole role_of_device_call(const SemanticModel& model, Node call) {
  const LiteralRole outer = raw_role(model, call);
  const Node list = call.parent();
  if (outer == LiteralRole::kDispatch && list.is_any(Kind::kList, Kind::kTuple, Kind::kSet)) {
    return list.text().find("cpu") == std::string_view::npos ? LiteralRole::kPlacement : outer;
  }
  const bool keeps = outer == LiteralRole::kComparison || outer == LiteralRole::kDefault ||
                     outer == LiteralRole::kMode || outer == LiteralRole::kDispatch ||
                     outer == LiteralRole::kMessage;
  return keeps ? outer : LiteralRole::kPlacement;
}

// Whether something of this name, a variable or an attribute, is a device where it is used below
// the node: torch.device(args.dvc), x.to(where), device=dvc.
bool is_used_as_device(const SemanticModel& model, std::string_view name, Node range) {
  const auto uses = model.named(name, range);
  return std::any_of(uses.begin(), uses.end(), [&](Node use) {
    Node value = use;
    if (use.field() == Field::kAttributeName) value = use.parent();
    const Node parent = value.parent();
    if (parent.is(Kind::kKeywordArgument)) {
      const std::string_view keyword = parent.child(Field::kName).text();
      return value.field() != Field::kName && (keyword == "device" || keyword == "map_location");
    }
    if (!parent.is(Kind::kArgumentList) || !parent.parent().is(Kind::kCall)) return false;
    const Node call = parent.parent();
    if (syntax::positional(call, 0) != value) return false;
    const std::string& called = model.called(call);
    return called == "torch.device" || called == "torch.set_default_device" ||
           (called.empty() && syntax::end_of_name(syntax::callee(call)) == "to");
  });
}

// The name under which a program finds what an option says: "my_device" for "--my-device".
std::string name_of_option(std::string_view option) {
  const auto start = option.find_first_not_of('-');
  std::string name(start == std::string_view::npos ? std::string_view{} : option.substr(start));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// The role of a default of an option or field that is named like a device, or whose value is used
// as one; kNone if the call declares none.
LiteralRole role_in_declaration(const SemanticModel& model, Node call, std::string_view last,
                                std::string_view keyword, Node value) {
  const bool option = is_one_of(last, {"add_argument", "option", "Option", "Argument"});
  const bool field = is_one_of(last, {"field", "Field", "ib", "attrib"});
  const bool flag = last.starts_with("DEFINE_");
  if (last == "set_defaults")
    return names_device(keyword) ? LiteralRole::kDefault : LiteralRole::kOther;
  if (!option && !field && !flag) return LiteralRole::kNone;
  const bool first = keyword.empty() && syntax::positional(call, 0) == value;
  const bool is_default = keyword == "default" ||
                          (first && is_one_of(last, {"Option", "Argument", "Field"})) ||
                          (flag && keyword.empty() && syntax::positional(call, 1) == value);
  if (!is_default) return LiteralRole::kDispatch;
  std::string text;
  for (const syntax::Argument& arg : syntax::arguments(call)) {
    if (arg.value == value ||
        (!arg.keyword.empty() && arg.keyword != "name" && arg.keyword != "dest"))
      continue;
    if (!syntax::string_value(arg.value, text) || text.find(' ') != std::string::npos) continue;
    if (names_device(text) || is_used_as_device(model, name_of_option(text), model.tree().root()))
      return LiteralRole::kDefault;
  }
  const Node parent = call.parent();
  const Node target =
      parent.is(Kind::kAssignment) ? parent.child(Field::kLeft) : parent.child(Field::kName);
  return names_device(target.text()) ? LiteralRole::kDefault : LiteralRole::kOther;
}

// The role of a parameter's default.
LiteralRole role_of_default(const SemanticModel& model, Node parameter) {
  const std::string_view name = parameter.child(Field::kName).text();
  return names_device(name) || is_used_as_device(model, name, syntax::function_of(parameter))
             ? LiteralRole::kDefault
             : LiteralRole::kOther;
}

LiteralRole role_in_call(const SemanticModel& model, Node call, std::string_view keyword,
                         Node value) {
  const Node function = syntax::callee(call);
  const std::string& name = model.called(call);
  const std::string_view last = syntax::end_of_name(function);
  if (keyword == "device_types") return LiteralRole::kDispatch;  // of an operator's kernels
  if (name == "functools.partial" && keyword.starts_with("device")) {
    const std::string_view made = syntax::end_of_name(syntax::positional(call, 0));
    if (made.ends_with("autocast") || made.ends_with("GradScaler")) return LiteralRole::kMode;
  }
  if (last.ends_with("autocast") || last.ends_with("GradScaler") ||
      name == "torch.amp.autocast_mode.autocast") {
    return LiteralRole::kMode;
  }
  if (is_one_of(last,
                {"startswith", "endswith", "find", "index", "count", "replace", "split", "strip"}))
    return LiteralRole::kComparison;
  if (is_one_of(last, {"isinstance", "hasattr", "import_module"})) return LiteralRole::kDispatch;
  if (is_one_of(last, {"print", "warn", "warning", "info", "debug", "error", "log", "write",
                       "format", "skip"}))
    return LiteralRole::kMessage;
  if (name.starts_with("torch.library.") || name.starts_with("torch._C.") ||
      last.find("register") != std::string_view::npos || last == "impl" ||
      last.ends_with("_impl") || last == "custom_op" || name.starts_with("torch.utils.benchmark") ||
      name.starts_with("torch.utils.cpp_extension") || name.starts_with("triton.") ||
      last == "Library") {
    return LiteralRole::kDispatch;
  }
  if (const LiteralRole role = role_in_declaration(model, call, last, keyword, value);
      role != LiteralRole::kNone)
    return role;
  if (last == "getattr") {
    std::string key;
    const bool device_key =
        syntax::string_value(syntax::positional(call, 1), key) && names_device(key);
    return device_key && syntax::positional(call, 2) == value ? LiteralRole::kDefault
                                                              : LiteralRole::kDispatch;
  }
  // torch.cuda's own functions and `.cuda(...)` have rules of their own.
  if (last == "cuda" || name.starts_with("torch.cuda.")) return LiteralRole::kDispatch;
  if (last.starts_with("assert") || last == "DeviceType") return LiteralRole::kComparison;
  if (last == "get" || last == "pop" || last == "getenv" || last == "setdefault") {
    std::string key;
    const bool device_key =
        syntax::string_value(syntax::positional(call, 0), key) && names_device(key);
    return device_key && syntax::positional(call, 1) == value ? LiteralRole::kDefault
                                                              : LiteralRole::kDispatch;
  }
  if (name == "torch.device") return role_of_device_call(model, call);
  if (!keyword.empty())
    return names_device(keyword) ? LiteralRole::kPlacement : LiteralRole::kOther;
  if (last == "to" || last == "to_empty" || last == "to_device" || last == "set_default_device") {
    return LiteralRole::kPlacement;
  }
  if (name == "torch.load" || name == "torch.jit.load") return LiteralRole::kPlacement;
  if (name == "torch.Generator") return LiteralRole::kPlacement;
  // A function of this file: the parameter's name decides.
  if (const Node definition =
          function.is(Kind::kIdentifier) ? model.function_named(function.text(), call) : Node{}) {
    const auto args = syntax::arguments(call);
    const auto parameters = definition.child(Field::kParametersPart).children();
    for (std::size_t i = 0; i < args.size() && i < parameters.size(); ++i) {
      if (!args[i].keyword.empty() || args[i].value != value) continue;
      const Node parameter = parameters[i];
      const Node target = parameter.child(Field::kName)     ? parameter.child(Field::kName)
                          : parameter.is(Kind::kIdentifier) ? parameter
                                                            : parameter.first_child();
      if (names_device(target.text())) return LiteralRole::kPlacement;
    }
  }
  return LiteralRole::kOther;
}

LiteralRole role_in_target(Node target) {
  if (target.is(Kind::kAttribute)) target = target.child(Field::kAttributeName);
  if (target.is(Kind::kSubscript)) {
    std::string key;
    return syntax::string_value(target.child(Field::kSubscriptPart), key) && names_device(key)
               ? LiteralRole::kPlacement
               : LiteralRole::kOther;
  }
  return target.is(Kind::kIdentifier) && names_device(target.text()) ? LiteralRole::kPlacement
                                                                     : LiteralRole::kOther;
}

LiteralRole raw_role(const SemanticModel& model, Node string) {
  Node from = string;
  for (Node parent = from.parent(); parent; from = parent, parent = parent.parent()) {
    switch (parent.kind()) {
      case Kind::kParenthesized:
      case Kind::kConcatenatedString:
        continue;
      case Kind::kAttribute:  // device.type == torch.device("cuda").type
        if (parent.child(Field::kAttributeName).text() == "type") continue;
        return LiteralRole::kOther;
      case Kind::kConditional: {
        const auto parts = parent.children();
        if (parts.size() == 3 && parts[1] == from) return LiteralRole::kComparison;
        // "device" if NEW else "cuda": a part of a name.
        std::string other;
        const Node beside = parts.size() != 3 ? Node{} : parts[0] == from ? parts[2] : parts[0];
        if (beside.is(Kind::kString) && syntax::string_value(beside, other) &&
            !spells_device(other))
          return LiteralRole::kOther;
        continue;
      }
      case Kind::kBooleanOperator:
        continue;
      case Kind::kComparison:
      case Kind::kCase:
        return LiteralRole::kComparison;
      case Kind::kSubscript:
        return LiteralRole::kDispatch;
      case Kind::kPair: {
        if (from.field() == Field::kKey) return LiteralRole::kDispatch;
        std::string key;
        return syntax::string_value(parent.child(Field::kKey), key) && names_device(key)
                   ? LiteralRole::kPlacement
                   : LiteralRole::kOther;
      }
      case Kind::kKeywordArgument:
        return role_in_call(model, parent.parent().parent(), parent.child(Field::kName).text(),
                            from);
      case Kind::kArgumentList:
        if (!parent.parent().is(Kind::kCall)) return LiteralRole::kOther;
        return role_in_call(model, parent.parent(), {}, from);
      case Kind::kDefaultParameter:
      case Kind::kTypedDefaultParameter:
        return role_of_default(model, parent);
      case Kind::kAssignment:
        // A field of a data class: `device: str = "cuda"`.
        if (from.field() == Field::kRight && parent.child(Field::kFieldType) &&
            parent.parent().parent().parent().is(Kind::kClass)) {
          return names_device(parent.child(Field::kLeft).text()) ? LiteralRole::kDefault
                                                                 : LiteralRole::kOther;
        }
        return from.field() == Field::kRight ? role_in_target(parent.child(Field::kLeft))
                                             : LiteralRole::kOther;
      case Kind::kReturn: {
        const Node function = syntax::function_of(parent);
        return names_device(function.child(Field::kName).text()) ? LiteralRole::kPlacement
                                                                 : LiteralRole::kOther;
      }
      case Kind::kList:
      case Kind::kTuple:
      case Kind::kSet: {
        if (parent.parent().is(Kind::kComparison)) return LiteralRole::kComparison;
        return LiteralRole::kDispatch;
      }
      case Kind::kListComprehension:
        if (parent.first_child() == from) continue;
        return LiteralRole::kOther;
      case Kind::kExpressionStatement:
        return LiteralRole::kMessage;
      case Kind::kRaise:
      case Kind::kAssert:
        return LiteralRole::kMessage;
      default:
        return LiteralRole::kOther;
    }
  }
  return LiteralRole::kOther;
}

}  // namespace

std::string_view role_name(LiteralRole role) {
  switch (role) {
    case LiteralRole::kNone:
      return "none";
    case LiteralRole::kPlacement:
      return "placement";
    case LiteralRole::kDefault:
      return "default";
    case LiteralRole::kComparison:
      return "comparison";
    case LiteralRole::kGuarded:
      return "guarded";
    case LiteralRole::kDispatch:
      return "dispatch";
    case LiteralRole::kMode:
      return "mode";
    case LiteralRole::kMessage:
      return "message";
    case LiteralRole::kOther:
      return "other";
  }
  return "other";
}

Literal classify_literal(const SemanticModel& model, Node string) {
  Literal literal;
  literal.node = string;
  if (!spells_cuda(string, literal)) return literal;
  literal.role = raw_role(model, literal.whole);
  const bool placed =
      literal.role == LiteralRole::kPlacement || literal.role == LiteralRole::kDefault;
  if (placed && is_cuda_guarded(model, string)) literal.role = LiteralRole::kGuarded;
  Node list = literal.whole.parent();
  if (list.is(Kind::kKeywordArgument)) list = list.parent();
  if (list.is(Kind::kArgumentList) && model.called(list.parent()) == "torch.device") {
    literal.device_call = list.parent();
    const Node index = syntax::argument(literal.device_call, 1, "index");
    literal.indexed |= static_cast<bool>(index);
    literal.formatted |= index && !index.is(Kind::kInteger);
  }
  return literal;
}

}  // namespace torchport::semantics
