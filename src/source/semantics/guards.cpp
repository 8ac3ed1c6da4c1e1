#include "source/semantics/guards.h"

#include <algorithm>
#include <array>

#include "source/semantics/cuda_flags.h"

namespace torchport::semantics {

namespace {

constexpr int kMaxConditionDepth = 8;
constexpr std::size_t kMostValues = 2;  // of an attribute; more would branch at every step

CudaKnowledge known(bool present, Node condition) {
  CudaKnowledge result;
  (present ? result.present : result.absent) = true;
  result.condition = condition;
  return result;
}

CudaKnowledge implied(const SemanticModel& model, Node condition, bool truth, int depth);

// Whether a condition asks what the machine has. `x.is_cuda` asks for a tensor's place.
bool asks_machine(const SemanticModel& model, Node condition) {
  if (!condition) return false;
  for (const Node call : model.nodes(Kind::kCall, condition)) {
    const std::string& name = model.called(call);
    if (name == "torch.cuda.is_available" || name == "torch.cuda.device_count") return true;
  }
  return is_uncalled_test(model, condition);
}

// What follows from both parts of a condition: `device == "cuda" and not torch.cuda.is_available()`
// says what the machine has.
CudaKnowledge joined(const SemanticModel& model, const CudaKnowledge& a, const CudaKnowledge& b) {
  if (!a || !b) return a ? a : b;
  if (a.by_default != nullptr) return b;
  return a.present && b.absent && asks_machine(model, b.condition) ? b : a;
}

// What a flag implies that all these values set, if they agree.
CudaKnowledge implied_by_all(const SemanticModel& model, const std::vector<Node>& values,
                             bool truth, int depth) {
  if (values.size() > kMostValues) return {};
  CudaKnowledge all;
  for (const Node value : values) {
    const CudaKnowledge one = implied(model, value, truth, depth + 1);
    if (!one || (all && all.present != one.present)) return {};
    all = one;
  }
  return all;
}

CudaKnowledge flag_knowledge(const SemanticModel& model, Node name, bool truth, int depth) {
  const std::string_view text =
      name.is(Kind::kAttribute) ? name.child(Field::kAttributeName).text() : name.text();
  if (name.is(Kind::kIdentifier)) {
    const auto bindings = model.scopes().reaching(text, name);
    if (bindings.size() == 1 && bindings.front()->kind == BindingKind::kAssign &&
        !bindings.front()->unpacked) {
      if (auto found = implied(model, bindings.front()->value, truth, depth + 1)) return found;
    }
  } else if (const ClassFacts* facts = model.enclosing_class(name);
             facts != nullptr && name.child(Field::kObject).text() == model.self_name(name)) {
    if (const auto found = facts->attributes.find(text);
        found != facts->attributes.end() && found->second.size() == 1) {
      if (auto knowledge = implied(model, found->second.front().value, truth, depth + 1))
        return knowledge;
    }
  } else if (const auto knowledge =
                 name.is(Kind::kAttribute)
                     ? implied_by_all(model, model.facts<FlagFacts>().values_of(name), truth, depth)
                     : CudaKnowledge{}) {
    return knowledge;
  }
  if (text == "is_cuda") return known(truth, name);
  // chainer.cuda.available, cupy.cuda.available
  if (text == "available" && name.is(Kind::kAttribute) &&
      name.child(Field::kObject).text().ends_with("cuda")) {
    return known(truth, name);
  }
  if (!is_cuda_flag(text)) return {};
  CudaKnowledge flag = known(truth != is_negative_flag(text), name);
  flag.by_default = on_by_default(model, name);
  return flag;
}

bool is_word(Node node, std::string_view word) {
  std::string text;
  return syntax::string_value(node, text) && text == word;
}

bool starts_word(Node node, std::string_view start) {
  std::string text;
  return syntax::string_value(node, text) && text.starts_with(start);
}

// Whether the node is a name such as "torch.cuda.HalfTensor", which `x.type()` returns.
bool is_cuda_type_name(Node node) {
  std::string text;
  return syntax::string_value(node, text) && text.starts_with("torch.cuda.");
}

// Whether a list of values has one that switches a flag off.
bool may_be_off(Node values) {
  const std::string text = base::lower(values.text());
  for (const std::string_view word : {"none", "false", "cpu", "\"no\"", "'no'", "off", "0"})
    if (text.find(word) != std::string::npos) return true;
  return false;
}

// What a comparison implies: device.type == "cuda", device != "cpu", "cuda" in str(device),
// torch.version.cuda is not None, ngpu > 0.
CudaKnowledge comparison_knowledge(const SemanticModel& model, Node comparison, bool truth,
                                   int depth) {
  const auto parts = comparison.children();
  if (parts.size() != 3) return {};
  const Node left = parts[0];
  const Node right = parts[2];
  const std::string_view op = parts[1].text();
  const bool equal = op == "==" || op == "is" || op == "in";
  const bool unequal = op == "!=" || op == "is not" || op == "not in";
  for (const Node side : {left, right}) {
    // NCCL exists only for CUDA.
    // Programs that say "gpu" have found CUDA.
    if ((is_word(side, "cuda") || is_word(side, "nccl") || is_word(side, "gpu")) &&
        (equal || unequal))
      return known(equal == truth, comparison);
    if (starts_word(side, "flash_att") && (equal || unequal))
      return known(equal == truth, comparison);
    if ((is_word(side, "cpu") || is_word(side, "gloo")) && (equal || unequal))
      return known(unequal == truth, comparison);
    // `"CUDA out of memory" in str(error)`
    std::string words;
    if (op == "in" && truth && side == left && syntax::string_value(side, words) &&
        words.find("CUDA") != std::string::npos)
      return known(true, comparison);
    if (equal && truth && is_cuda_type_name(side)) return known(true, comparison);
    if ((equal || unequal) && model.qualified(side).ends_with("distributed.Backend.NCCL"))
      return known(equal == truth, comparison);
  }
  const bool none = right.is(Kind::kNone);
  const std::string& name = model.qualified(left);
  if (none && (name == "torch.version.cuda")) return known(unequal == truth, comparison);
  Node subject = syntax::unwrap(left);
  // len(gpu_ids) > 0, gpu_ids[0] >= 0
  if (subject.is(Kind::kCall) && syntax::callee(subject).text() == "len")
    subject = syntax::positional(subject, 0);
  else if (subject.is(Kind::kSubscript) && subject.child(Field::kSubscriptPart).is(Kind::kInteger))
    subject = subject.child(Field::kValue);
  const bool counts = subject.is(Kind::kCall) && model.called(subject) == "torch.cuda.device_count";
  std::string key;  // opt["num_gpu"]
  const bool keyed = subject.is(Kind::kSubscript) &&
                     syntax::string_value(subject.child(Field::kSubscriptPart), key);
  std::string_view flag_name;
  if (keyed) flag_name = key;
  if (subject.is(Kind::kIdentifier)) flag_name = subject.text();
  if (subject.is(Kind::kAttribute)) flag_name = subject.child(Field::kAttributeName).text();
  const bool flag = is_cuda_flag(flag_name);
  // index < torch.cuda.device_count()
  if (right.is(Kind::kCall) && model.called(right) == "torch.cuda.device_count")
    return op == "<" && truth ? known(true, comparison) : CudaKnowledge{};
  if (!counts && !flag) {
    if (subject.is(Kind::kIdentifier) && (op == ">" || op == ">=")) {
      const auto bindings = model.scopes().reaching(subject.text(), subject);
      if (bindings.size() == 1 &&
          model.called(bindings.front()->value) == "torch.cuda.device_count")
        return known(truth, comparison);
    }
    return {};
  }
  if (none) return known(unequal == truth, comparison);
  // use_cuda in ["all", "batch"]
  if (!counts && right.is_any(Kind::kList, Kind::kTuple, Kind::kSet) &&
      (op == "in" || op == "not in"))
    return may_be_off(right) ? CudaKnowledge{} : known((op == "in") == truth, comparison);
  if (!counts && is_negative_flag(flag_name)) return {};
  if (op == ">" || op == ">=" || op == "!=") return known(truth, comparison);
  if (op == "<" || op == "<=") return known(!truth, comparison);
  if (op == "==")
    return right.text() == "0" || right.text() == "-1" ? known(!truth, comparison)
                                                       : known(truth, comparison);
  (void)depth;
  return {};
}

CudaKnowledge implied(const SemanticModel& model, Node condition, bool truth, int depth) {
  condition = syntax::unwrap(condition);
  if (!condition || depth > kMaxConditionDepth) return {};
  switch (condition.kind()) {
    case Kind::kNotOperator:
      return implied(model, condition.child(Field::kArgument), !truth, depth + 1);
    case Kind::kBooleanOperator: {
      const Node left = condition.child(Field::kLeft);
      const Node right = condition.child(Field::kRight);
      const bool is_and = condition.child(Field::kOperator).text() == "and";
      const CudaKnowledge a = implied(model, left, truth, depth + 1);
      const CudaKnowledge b = implied(model, right, truth, depth + 1);
      // If all parts have the value `truth`, any one of them decides; otherwise all must agree.
      if (is_and == truth) return joined(model, a, b);
      if (a.present && b.present) return a.by_default == nullptr ? b : a;
      if (a.absent && b.absent) return a;
      return {};
    }
    case Kind::kConditional: {
      const auto parts = condition.children();
      return parts.size() == 3 && parts[0].is(Kind::kTrue)
                 ? implied(model, parts[1], truth, depth + 1)
                 : CudaKnowledge{};
    }
    case Kind::kComparison:
      return comparison_knowledge(model, condition, truth, depth);
    case Kind::kCall: {
      const std::string& name = model.called(condition);
      if (name == "torch.cuda.is_available" || name == "torch.cuda.is_initialized")
        return known(truth, condition);
      if (name == "torch.cuda.device_count") return known(truth, condition);
      if (name == "torch.is_autocast_enabled" && truth &&
          is_word(syntax::positional(condition, 0), "cuda"))
        return known(true, condition);
      const Node function = syntax::callee(condition);
      const std::string_view last = function.is(Kind::kAttribute)
                                        ? function.child(Field::kAttributeName).text()
                                        : function.text();
      if (last == "startswith" && is_word(syntax::positional(condition, 0), "cuda"))
        return known(truth, condition);
      if (function.is(Kind::kIdentifier) && last == "all" && truth) {
        for (Node part = syntax::positional(condition, 0).first_child(); part;
             part = part.next_sibling()) {
          if (auto word = implied(model, part, true, depth + 1)) return word;
        }
        return {};
      }
      if (last == "bool") return implied(model, syntax::positional(condition, 0), truth, depth + 1);
      if (is_cuda_flag(last) && (last.starts_with("is_") || last.starts_with("has_") ||
                                 last.starts_with("use_") || last.ends_with("available"))) {
        return known(truth, condition);
      }
      return {};
    }
    case Kind::kIdentifier:
    case Kind::kAttribute:
      // The rule for uncalled tests reports it; what it was meant to say holds.
      if (is_uncalled_test(model, condition))
        return model.qualified(condition) == "torch.cuda.is_available" ? known(truth, condition)
                                                                       : CudaKnowledge{};
      return flag_knowledge(model, condition, truth, depth);
    case Kind::kSubscript: {  // opt["use_gpu"]
      std::string key;
      return syntax::string_value(condition.child(Field::kSubscriptPart), key) && is_cuda_flag(key)
                 ? known(truth != is_negative_flag(key), condition)
                 : CudaKnowledge{};
    }
    default:
      return {};
  }
}

// Whether the tests of a chain ask for so many other kinds of devices, `if is_xla(): ... elif
// is_npu(): ... elif is_mlu(): ...`, that its `else` is for CUDA.
bool asks_for_all_others(Node chain) {
  static constexpr auto kOthers = std::to_array<std::string_view>(
      {"mps", "xpu", "npu", "hpu", "xla", "tpu", "mlu", "musa", "sdaa", "neuron", "cpu"});
  constexpr std::ptrdiff_t kEnough = 3;
  std::string tests = base::lower(chain.child(Field::kCondition).text());
  for (Node part = chain.first_child(); part; part = part.next_sibling())
    if (part.is(Kind::kElif)) tests += " " + base::lower(part.child(Field::kCondition).text());
  return std::count_if(kOthers.begin(), kOthers.end(), [&](std::string_view kind) {
           return tests.find(kind) != std::string::npos;
         }) >= kEnough;
}

// What an enclosing node implies for its child `from`.
CudaKnowledge from_parent(const SemanticModel& model, Node parent, Node from) {
  switch (parent.kind()) {
    case Kind::kIf:
    case Kind::kElif:
    case Kind::kWhile:
      if (from.field() == Field::kConsequence ||
          (parent.is(Kind::kWhile) && from.field() == Field::kBody)) {
        return implied_by(model, parent.child(Field::kCondition), true);
      }
      if (parent.is(Kind::kIf) && from.field() == Field::kAlternative) {
        // `elif` and `else` run when the tests before them failed.
        if (auto word = implied_by(model, parent.child(Field::kCondition), false)) return word;
        for (Node other = from.parent().first_child(); other && other != from;
             other = other.next_sibling()) {
          if (!other.is(Kind::kElif)) continue;
          if (auto word = implied_by(model, other.child(Field::kCondition), false)) return word;
        }
        if (from.is(Kind::kElse) && asks_for_all_others(parent)) return known(true, parent);
      }
      return {};
    case Kind::kConditional: {
      const auto parts = parent.children();
      if (parts.size() != 3 || from == parts[1]) return {};
      const CudaKnowledge word = implied_by(model, parts[1], from == parts[0]);
      // "cpu" if args.cpu else "cuda": who does not ask for the CPU gets CUDA.
      const Node flag = word.condition;
      const bool by_default = is_cpu_flag(
          flag.is(Kind::kAttribute) ? flag.child(Field::kAttributeName).text() : flag.text());
      return by_default ? CudaKnowledge{} : word;
    }
    case Kind::kBooleanOperator:
      if (from.field() != Field::kRight) return {};
      return implied_by(model, parent.child(Field::kLeft),
                        parent.child(Field::kOperator).text() == "and");
    case Kind::kExcept: {
      // Only CUDA raises it, whatever it is called.
      const std::string& name = model.qualified(parent.first_child());
      return name == "torch.cuda.OutOfMemoryError" || name == "torch.OutOfMemoryError"
                 ? known(true, parent)
                 : CudaKnowledge{};
    }
    case Kind::kDecorated:
      for (Node decorator = parent.first_child(); decorator.is(Kind::kDecorator);
           decorator = decorator.next_sibling()) {
        if (auto word = decorator_knowledge(model, decorator)) return word;
      }
      return {};
    default:
      return {};
  }
}

bool ends_program(const SemanticModel& model, Node call) {
  if (!call.is(Kind::kCall)) return false;
  const std::string& name = model.called(call);
  const std::string_view text = syntax::callee(call).text();
  return name == "sys.exit" || name == "os._exit" || text == "exit" || text == "quit";
}

// What earlier statements of the same block imply, because they leave it otherwise.
CudaKnowledge from_earlier(const SemanticModel& model, Node statement) {
  for (const Node earlier : model.early_exits(statement.parent())) {
    if (earlier.start() >= statement.start()) break;
    if (is_cuda_demand(model, earlier)) continue;
    const bool asserts = earlier.is(Kind::kAssert);
    if (auto word = implied_by(
            model, asserts ? earlier.first_child() : earlier.child(Field::kCondition), asserts))
      return word;
  }
  return {};
}

}  // namespace

const std::vector<Node>& SemanticModel::early_exits(Node block) const {
  const auto [entry, fresh] = early_exits_.try_emplace(block.index());
  if (!fresh) return entry->second;
  std::vector<Node> exits;
  for (Node statement = block.first_child(); statement; statement = statement.next_sibling()) {
    const bool leaves = statement.is(Kind::kIf) && !statement.child(Field::kAlternative) &&
                        always_leaves(*this, statement.child(Field::kConsequence));
    if (leaves || statement.is(Kind::kAssert)) exits.push_back(statement);
  }
  return early_exits_[block.index()] = std::move(exits);
}

bool always_leaves(const SemanticModel& model, Node block) {
  Node last;
  for (Node statement = block.first_child(); statement; statement = statement.next_sibling())
    last = statement;
  if (last.is_any(Kind::kReturn, Kind::kRaise, Kind::kContinue, Kind::kBreak)) return true;
  const Node call = last.is(Kind::kExpressionStatement) ? last.first_child() : Node{};
  if (!call.is(Kind::kCall)) return false;
  return ends_program(model, call) || syntax::callee(call).text().ends_with("skipTest") ||
         model.called(call) == "pytest.skip";
}

bool handlers_leave(const SemanticModel& model, Node attempt) {
  for (Node part = attempt.first_child(); part; part = part.next_sibling()) {
    if (!part.is(Kind::kExcept)) continue;
    Node block;
    for (Node child = part.first_child(); child; child = child.next_sibling())
      if (child.is(Kind::kBlock)) block = child;
    if (!block || !always_leaves(model, block)) return false;
  }
  return true;
}

bool is_uncalled_test(const SemanticModel& model, Node condition) {
  static constexpr std::array<std::string_view, 4> kOthers{
      "torch.cuda.is_initialized", "torch.distributed.is_initialized",
      "torch.backends.mps.is_built", "torch.cuda.is_bf16_supported"};
  if (!condition.is_any(Kind::kIdentifier, Kind::kAttribute)) return false;
  const std::string& name = model.qualified(condition);
  return (name.starts_with("torch.") && name.ends_with(".is_available")) ||
         base::one_of(kOthers, name);
}

bool is_cuda_demand(const SemanticModel& model, Node statement) {
  const bool asserts = statement.is(Kind::kAssert);
  if (!asserts && (!statement.is(Kind::kIf) || statement.child(Field::kAlternative))) return false;
  const CudaKnowledge after = implied_by(
      model, asserts ? statement.first_child() : statement.child(Field::kCondition), asserts);
  if (!after.present || !asks_machine(model, after.condition)) return false;
  if (asserts) return true;
  Node last;
  for (Node inner = statement.child(Field::kConsequence).first_child(); inner;
       inner = inner.next_sibling())
    last = inner;
  if (last.is(Kind::kRaise)) return last.text().find("Skip") == std::string_view::npos;
  const Node call = last.is(Kind::kExpressionStatement) ? last.first_child() : Node{};
  return ends_program(model, call);
}

CudaKnowledge decorator_knowledge(const SemanticModel& model, Node decorator) {
  const Node call = decorator.first_child();
  const std::string text =
      base::lower(call.is(Kind::kCall) ? syntax::callee(call).text() : call.text());
  const bool skip_if = text.ends_with("skipif");
  if (skip_if || text.ends_with("skipunless"))
    return implied_by(model, syntax::positional(call, 0), !skip_if);
  const auto says = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  const bool marked = text.ends_with("mark.gpu") || text.ends_with("mark.cuda");
  if (marked ||
      ((says("cuda") || says("gpu")) && (says("require") || says("skip") || says("only"))))
    return known(true, decorator);
  return {};
}

CudaKnowledge implied_by(const SemanticModel& model, Node condition, bool truth) {
  return implied(model, condition, truth, 0);
}

CudaKnowledge knowledge_at(const SemanticModel& model, Node at) {
  CudaKnowledge weak;     // present, by a flag that is on by default
  CudaKnowledge guessed;  // absent, by what a name seems to say: `gpu == -1`
  const auto decides = [&](const CudaKnowledge& word) {
    if (word.present && model.ignores_guards()) return false;
    if (word.present && word.by_default != nullptr) {
      if (!weak) weak = word;
      return false;
    }
    // What the machine was asked counts more than what a name seems to say.
    if (word.absent && !asks_machine(model, word.condition)) {
      if (!guessed) guessed = word;
      return false;
    }
    return word && (!guessed || asks_machine(model, word.condition));
  };
  for (Node node = at; node; node = node.parent()) {
    const Node parent = node.parent();
    if (!parent) break;
    if (auto word = from_parent(model, parent, node); decides(word)) return word;
    // A function that is called later is not guarded by the code around its definition, except at
    // module level, where the whole file stopped.
    if (parent.is_any(Kind::kBlock, Kind::kModule)) {
      if (auto word = from_earlier(model, node); decides(word)) return word;
    }
  }
  return guessed ? guessed : weak;
}

}  // namespace torchport::semantics
