#include "source/semantics/cuda_switches.h"

#include <algorithm>
#include <array>
#include <optional>

#include "source/semantics/cuda_flags.h"
#include "source/semantics/guards.h"
#include "source/semantics/literals.h"

namespace torchport::semantics {

namespace {

using syntax::Field;
using syntax::Kind;

// Whether a name asks for CUDA or against it, and is no number of devices.
bool is_switch_name(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kNumbers{"multi", "n",   "num", "count",   "max",
                                                            "min",   "ids", "id",  "parallel"};
  if (!is_cuda_flag(name)) return false;
  const std::string lower = base::lower(name);
  const auto words = base::split(lower, '_');
  return std::none_of(words.begin(), words.end(), [](std::string_view word) {
    return base::one_of(kNumbers, word) || word.starts_with("multi") || word.starts_with("ngpu") ||
           word == "nvtx";
  });
}

// Whether a name is that of the number of one device: "gpu", "cuda_id".
bool is_number_name(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kNames{
      "gpu", "cuda", "gpu_id", "gpuid", "cuda_id", "gpu_index", "cuda_device", "gpu_device"};
  return base::one_of(kNames, base::lower(name));
}

// Whether a comparison asks for a number of a device: `args.gpu >= 0`, `gpu != -1`.
bool asks_for_number(Node comparison, Node read) {
  const auto parts = comparison.children();
  if (!comparison.is(Kind::kComparison) || parts.size() != 3 || syntax::unwrap(parts[0]) != read)
    return false;
  const std::string_view op = parts[1].text();
  const std::string_view other = parts[2].text();
  return (op == ">=" && other == "0") || ((op == ">" || op == "!=") && other == "-1");
}

bool is_literal(Node value) {
  return value.is_any(Kind::kTrue, Kind::kFalse);
}

// Whether a switch of this value turns CUDA on.
bool turns_on(std::string_view name, bool value) {
  return value != is_negative_flag(name);
}

// The switch that an option makes, if CUDA is on without it.
std::optional<CudaSwitch> switch_of_option(Node call) {
  CudaSwitch found;
  found.declared = call;
  std::string text;
  std::string destination;
  for (const syntax::Argument& argument : syntax::arguments(call)) {
    if (!argument.keyword.empty() && argument.keyword != "dest") continue;
    if (!syntax::string_value(argument.value, text)) continue;
    text = text.substr(0, text.find('/'));  // click's "--cuda/--no-cuda"
    const auto start = text.find_first_not_of('-');
    if (start == std::string::npos || (start == 1 && text.size() == 2)) continue;
    std::string name = text.substr(start);
    std::replace(name.begin(), name.end(), '-', '_');
    if (argument.keyword == "dest") destination = name;
    if (found.name.empty()) found.name = std::move(name);
  }
  if (!destination.empty()) found.name = destination;
  if (found.name.empty()) return std::nullopt;
  found.value = syntax::keyword(call, "default");
  if (found.value.is(Kind::kInteger) && is_number_name(found.name)) {
    found.number = true;
    return found;
  }
  if (!is_switch_name(found.name)) return std::nullopt;
  found.on = !is_negative_flag(found.name);
  std::string action;
  const bool has_action = syntax::string_value(syntax::keyword(call, "action"), action);
  if (found.value) {
    if (!is_literal(found.value)) return std::nullopt;
    return turns_on(found.name, found.value.is(Kind::kTrue)) ? std::optional(found) : std::nullopt;
  }
  if (!has_action || (action != "store_true" && action != "store_false")) return std::nullopt;
  return turns_on(found.name, action == "store_false") ? std::optional(found) : std::nullopt;
}

// The reads of a switch: names, attributes of any object, and keys.
std::vector<Node> reads_of(const SemanticModel& model, const CudaSwitch& one) {
  std::vector<Node> reads;
  for (const Node name : model.named(one.name)) {
    if (one.declared.holds(name)) continue;
    const bool is_keyword =
        name.parent().is(Kind::kKeywordArgument) && name.field() == Field::kName;
    if (is_keyword) continue;
    reads.push_back(name.field() == Field::kAttributeName ? name.parent() : name);
  }
  std::string key;
  for (const Node subscript : model.nodes(Kind::kSubscript)) {
    if (syntax::string_value(subscript.child(Field::kSubscriptPart), key) && key == one.name)
      reads.push_back(subscript);
  }
  return reads;
}

// Whether a read is where the switch gets a value: an assignment, a parameter, a `for`.
bool is_written(Node read) {
  if (read.field() == Field::kLeft) return true;
  for (Node up = read.parent(); up; up = up.parent()) {
    if (up.is(Kind::kParameters)) return true;
    if (!up.is_any(Kind::kDefaultParameter, Kind::kTypedDefaultParameter, Kind::kTuple)) break;
    if (up.field() == Field::kLeft) return true;
  }
  return false;
}

// The largest part of a condition around a read.
Node condition_around(Node read) {
  Node top = read;
  while (top.parent().is_any(Kind::kParenthesized, Kind::kNotOperator, Kind::kBooleanOperator,
                             Kind::kComparison, Kind::kConditional))
    top = top.parent();
  return top;
}

// Whether code moves something to CUDA, or makes something there.
bool needs_cuda(const SemanticModel& model, Node code) {
  for (const Node call : model.nodes(Kind::kCall, code)) {
    const Node function = syntax::callee(call);
    if (function.is(Kind::kAttribute) && function.child(Field::kAttributeName).text() == "cuda")
      return true;
    if (model.called(call) == "torch.cuda.set_device") return true;
  }
  for (const Node attribute : model.nodes(Kind::kAttribute, code)) {
    const std::string& name = model.qualified(attribute);
    if (name.starts_with("torch.cuda.") && name.ends_with("Tensor")) return true;
  }
  const auto strings = model.nodes(Kind::kString, code);
  return std::any_of(strings.begin(), strings.end(), [&](Node string) {
    const LiteralRole role = classify_literal(model, string).role;
    return role == LiteralRole::kGuarded || role == LiteralRole::kPlacement;
  });
}

// What needs CUDA behind a condition if it has the value `truth`; invalid where nothing does.
Node branch_of(Node holder, bool truth) {
  if (holder.is(Kind::kConditional)) {
    const auto parts = holder.children();
    if (parts.size() != 3) return {};
    return truth ? parts[0] : parts[2];
  }
  if (truth) return holder.child(Field::kConsequence);
  return holder.child(Field::kAlternative);
}

// Whether one of the reads decides alone that something is moved to CUDA.
bool decides(const SemanticModel& model, const std::vector<Node>& reads, bool number) {
  const auto is_read = [&](Node node) {
    return std::any_of(reads.begin(), reads.end(), [&](Node read) {
      return number ? asks_for_number(node, read) : node == read;
    });
  };
  for (const Kind kind : {Kind::kIf, Kind::kElif, Kind::kConditional}) {
    for (const Node holder : model.nodes(kind)) {
      const auto parts = holder.children();
      const bool choice = kind == Kind::kConditional && parts.size() == 3;
      const Node condition = choice ? parts[1] : holder.child(Field::kCondition);
      for (const bool truth : {true, false}) {
        const Node branch = branch_of(holder, truth);
        if (!branch) continue;
        const CudaKnowledge known = implied_by(model, condition, truth);
        if (!known.present || known.by_default != nullptr || !is_read(known.condition)) continue;
        // The literals of `"cpu" if args.cpu else "cuda"` are findings of their own.
        const CudaKnowledge literal = choice ? knowledge_at(model, branch) : known;
        if (literal.present && needs_cuda(model, branch)) return true;
      }
    }
  }
  return false;
}

bool is_on_alone(const SemanticModel& model, const CudaSwitch& one) {
  const std::vector<Node> reads = reads_of(model, one);
  for (const Node read : reads) {
    if (is_written(read) || asks_machine(model, condition_around(read))) return false;
    const CudaKnowledge known = knowledge_at(model, read);
    if (known && asks_machine(model, known.condition)) return false;
  }
  return decides(model, reads, one.number);
}

}  // namespace

CudaSwitches::CudaSwitches(const SemanticModel& model) {
  find_constants(model);
  find_pairs(model);
  find_fields(model);
  find_options(model);
  std::erase_if(switches_, [&](const CudaSwitch& one) { return !is_on_alone(model, one); });
}

// Of the module and of classes: `USE_CUDA = True`, `use_cuda: bool = True`.
void CudaSwitches::find_constants(const SemanticModel& model) {
  for (const Node assignment : model.nodes(Kind::kAssignment)) {
    const Node target = assignment.child(Field::kLeft);
    const Node value = assignment.child(Field::kRight);
    const std::string_view name =
        target.is(Kind::kAttribute) ? target.child(Field::kAttributeName).text() : target.text();
    if (!target.is_any(Kind::kIdentifier, Kind::kAttribute) || !is_literal(value) ||
        !is_switch_name(name) || !turns_on(name, value.is(Kind::kTrue)))
      continue;
    switches_.push_back({assignment, value, std::string(name), !is_negative_flag(name), false});
  }
}

void CudaSwitches::find_pairs(const SemanticModel& model) {
  std::string name;
  for (const Node pair : model.nodes(Kind::kPair)) {
    const Node value = pair.child(Field::kValue);
    if (!is_literal(value) || !syntax::string_value(pair.child(Field::kKey), name) ||
        !is_switch_name(name) || !turns_on(name, value.is(Kind::kTrue)))
      continue;
    switches_.push_back({pair, value, name, !is_negative_flag(name), false});
  }
}

// `opt = SimpleNamespace(use_cuda=True)`, `dict(use_cuda=True)`.
void CudaSwitches::find_fields(const SemanticModel& model) {
  static constexpr std::array<std::string_view, 7> kHolders{
      "SimpleNamespace", "Namespace", "dict", "EasyDict", "AttrDict", "Munch", "Box"};
  for (const Node keyword : model.nodes(Kind::kKeywordArgument)) {
    const std::string_view name = keyword.child(Field::kName).text();
    const Node value = keyword.child(Field::kValue);
    const auto last = syntax::end_of_name(syntax::callee(keyword.parent().parent()));
    if (!is_literal(value) || !base::one_of(kHolders, last) || !is_switch_name(name) ||
        !turns_on(name, value.is(Kind::kTrue)))
      continue;
    switches_.push_back({keyword, value, std::string(name), !is_negative_flag(name), false});
  }
}

void CudaSwitches::find_options(const SemanticModel& model) {
  for (const Node call : model.nodes(Kind::kCall)) {
    const Node function = syntax::callee(call);
    const std::string_view last = function.is(Kind::kAttribute)
                                      ? function.child(Field::kAttributeName).text()
                                      : function.text();
    if (last != "add_argument" && last != "option") continue;
    if (auto found = switch_of_option(call)) switches_.push_back(std::move(*found));
  }
}

}  // namespace torchport::semantics
