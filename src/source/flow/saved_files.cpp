#include "source/flow/saved_files.h"

#include <algorithm>

namespace torchport::flow {

namespace {

using semantics::Binding;
using semantics::BindingKind;
using semantics::DeviceState;
using semantics::SemanticModel;
using semantics::Type;
using syntax::Field;
using syntax::Kind;
using syntax::Node;

constexpr int kMostSteps = 6;  // from what is saved to where it was made

std::string_view last_name(Node call) {
  return syntax::end_of_name(syntax::callee(call));
}

Node object_of(Node call) {
  return syntax::callee(call).child(Field::kObject);
}

// Whether a model that is made or loaded here stays on the CPU.
bool is_made_on_cpu(const SemanticModel& model, Node call) {
  const std::string_view name = last_name(call);
  if (name != "from_pretrained" && name != "from_config")
    return model.value(call).device_state == DeviceState::kCpu;
  return !syntax::has_splat(call) && !syntax::keyword(call, "device_map") &&
         !syntax::keyword(call, "device");
}

// What is known about a value that is saved.
class Saved {
 public:
  explicit Saved(const SemanticModel& model) : model_(model) {}

  [[nodiscard]] bool is_on_cpu(Node value, int depth = 0) const {
    value = syntax::unwrap(value);
    if (!value || depth > kMostSteps) return false;
    switch (value.kind()) {
      case Kind::kCall:
        return is_result_on_cpu(value, depth);
      case Kind::kIdentifier:
        return holds_only_cpu(value, depth);
      case Kind::kAttribute:
        return is_on_cpu(value.child(Field::kObject), depth + 1);
      case Kind::kDictionaryComprehension:
        return value.text().find(".cpu()") != std::string_view::npos;
      case Kind::kDictionary:
        return has_only_cpu(value, depth);
      default:
        return false;
    }
  }

 private:
  [[nodiscard]] bool has_only_cpu(Node dictionary, int depth) const {
    const auto pairs = dictionary.children();
    return pairs.begin() != pairs.end() && std::all_of(pairs.begin(), pairs.end(), [&](Node pair) {
             return pair.is(Kind::kPair) && is_plain_or_on_cpu(pair.child(Field::kValue), depth);
           });
  }

  [[nodiscard]] bool is_plain_or_on_cpu(Node value, int depth) const {
    return value.is_any(Kind::kString, Kind::kInteger, Kind::kFloat, Kind::kNone, Kind::kTrue,
                        Kind::kFalse) ||
           is_on_cpu(value, depth + 1);
  }

  [[nodiscard]] bool is_result_on_cpu(Node call, int depth) const {
    const std::string_view name = last_name(call);
    const Node object = object_of(call);
    if (object && name == "cpu") return true;
    if (object && name == "to")
      return model_.constant_string(syntax::argument(call, 0, "device")) == "cpu";
    const semantics::Value made = model_.value(call);
    if (made.is(Type::kTensor)) return made.device_state == DeviceState::kCpu;
    if (name == "state_dict") return is_on_cpu(object, depth + 1);
    return is_made_on_cpu(model_, call);
  }

  // Whether everything that a local name may hold was made on the CPU, and nothing moves it or
  // gets it.
  [[nodiscard]] bool holds_only_cpu(Node name, int depth) const {
    const auto bindings = model_.scopes().reaching(name.text(), name);
    const Node function = syntax::function_of(name);
    const Node scope = function ? function : model_.tree().root();
    return !bindings.empty() &&
           std::all_of(bindings.begin(), bindings.end(),
                       [&](const Binding* binding) {
                         return binding->kind == BindingKind::kAssign && !binding->unpacked &&
                                syntax::function_of(binding->target) == function &&
                                (keeps(binding->value, name.text()) ||
                                 is_on_cpu(binding->value, depth + 1));
                       }) &&
           !is_given_away(name, scope);
  }

  [[nodiscard]] static bool is_move(std::string_view method) {
    return method == "to" || method == "cuda" || method == "xpu";
  }

  // `model = model.merge()`: a method whose result stays where the object is.
  [[nodiscard]] static bool keeps(Node value, std::string_view name) {
    return value.is(Kind::kCall) && object_of(value).text() == name && !is_move(last_name(value));
  }

  // Whether code before the use moves the object in place, or hands it to a function that may.
  [[nodiscard]] bool is_given_away(Node use, Node scope) const {
    const std::string_view name = use.text();
    for (const Node read : model_.named(name, scope)) {
      if (read.start() >= use.start()) return false;
      const Node parent = read.parent();
      if (parent.is(Kind::kAttribute) && read.field() == Field::kObject) {
        const bool called = parent.field() == Field::kFunctionPart;
        if (called && is_move(parent.child(Field::kAttributeName).text())) return true;
        continue;
      }
      if (!parent.is_any(Kind::kArgumentList, Kind::kKeywordArgument)) continue;
      const Node call =
          parent.is(Kind::kKeywordArgument) ? parent.parent().parent() : parent.parent();
      const Node assignment = call.parent();
      const bool rebound =
          assignment.is(Kind::kAssignment) && assignment.child(Field::kLeft).text() == name;
      if (!rebound && !model_.called(call).starts_with("torch.save")) return true;
    }
    return false;
  }

  const SemanticModel& model_;
};

// Adds the literal parts of a path to `parts`, the last one first. Returns whether all of it is
// literal.
bool add_parts(const SemanticModel& model, Node path, int depth, std::vector<std::string>& parts) {
  path = syntax::unwrap(path);
  if (!path || depth > kMostSteps) return false;
  if (auto text = model.constant_string(path)) {
    parts.push_back(std::move(*text));
    return true;
  }
  if (path.is(Kind::kIdentifier)) {
    const auto bindings = model.scopes().reaching(path.text(), path);
    return bindings.size() == 1 && bindings.front()->kind == BindingKind::kAssign &&
           !bindings.front()->unpacked &&
           add_parts(model, bindings.front()->value, depth + 1, parts);
  }
  if (path.is(Kind::kBinaryOperator)) {
    const std::string_view sign = path.child(Field::kOperator).text();
    const Node right = path.child(Field::kRight);
    if (sign == "/")
      return add_parts(model, right, depth + 1, parts) &&
             add_parts(model, path.child(Field::kLeft), depth + 1, parts);
    const auto text = model.constant_string(right);
    if (sign == "+" && text && text->starts_with('/')) parts.push_back(text->substr(1));
    return false;
  }
  if (!path.is(Kind::kCall)) return false;
  const auto arguments = syntax::arguments(path);
  const std::string& name = model.called(path);
  const bool wraps = arguments.size() == 1 && (syntax::callee(path).text() == "str" ||
                                               name == "pathlib.Path" || name == "os.fspath");
  if (!wraps && name != "os.path.join" && name != "pathlib.Path") return false;
  return std::all_of(arguments.rbegin(), arguments.rend(), [&](const syntax::Argument& argument) {
    return argument.keyword.empty() && add_parts(model, argument.value, depth + 1, parts);
  });
}

}  // namespace

std::string literal_end(const SemanticModel& model, Node path) {
  std::vector<std::string> parts;
  (void)add_parts(model, path, 0, parts);
  std::string name;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part)
    name += (name.empty() ? "" : "/") + *part;
  return name;
}

std::vector<SavedFile> saved_files(const SemanticModel& model) {
  std::vector<SavedFile> files;
  const Saved saved(model);
  for (const Node call : model.calls_of("save")) {
    if (model.called(call) != "torch.save") continue;
    std::string name = literal_end(model, syntax::argument(call, 1, "f"));
    if (!name.empty())
      files.push_back({std::move(name), saved.is_on_cpu(syntax::argument(call, 0, "obj"))});
  }
  return files;
}

}  // namespace torchport::flow
