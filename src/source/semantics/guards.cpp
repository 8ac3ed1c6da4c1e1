// What branches, earlier exits and decorators say about CUDA.
#include "source/semantics/guards.h"

#include <algorithm>
#include <array>

#include "source/semantics/comparisons.h"
#include "source/semantics/cuda_flags.h"

namespace torchport::semantics {

namespace {

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

// What a mark of a test says that is a call, by its keywords: `RunIf(min_cuda_gpus=1)`.
CudaKnowledge keyword_knowledge(Node call) {
  for (const syntax::Argument& argument : syntax::arguments(call)) {
    const bool off =
        argument.value.is_any(Kind::kFalse, Kind::kNone) || argument.value.text() == "0";
    if (is_cuda_flag(argument.keyword) && !is_negative_flag(argument.keyword) && !off)
      return cuda_known(true, call);
  }
  return {};
}

// What a mark of a test says, as a decorator or as an argument: skipif(...), requires_cuda.
CudaKnowledge mark_knowledge(const SemanticModel& model, Node mark) {
  const std::string text =
      base::lower(mark.is(Kind::kCall) ? syntax::callee(mark).text() : mark.text());
  const bool skip_if = text.ends_with("skipif");
  if (skip_if || text.ends_with("skipunless"))
    return implied_by(model, syntax::positional(mark, 0), !skip_if);
  const auto says = [&](std::string_view word) { return text.find(word) != std::string::npos; };
  const bool marked = text.ends_with("mark.gpu") || text.ends_with("mark.cuda");
  if (marked ||
      ((says("cuda") || says("gpu")) && (says("require") || says("skip") || says("only"))))
    return cuda_known(true, mark);
  if (mark.is(Kind::kCall) && (says("runif") || says("run_if") || says("require")))
    return keyword_knowledge(mark);
  return {};
}

// What the marks of `pytest.param(..., marks=...)` say about its values.
CudaKnowledge parameter_knowledge(const SemanticModel& model, Node call) {
  if (!syntax::callee(call).text().ends_with("param")) return {};
  const Node marks = syntax::keyword(call, "marks");
  if (!marks.is_any(Kind::kList, Kind::kTuple))
    return marks ? mark_knowledge(model, marks) : CudaKnowledge{};
  for (Node mark = marks.first_child(); mark; mark = mark.next_sibling())
    if (auto word = mark_knowledge(model, mark)) return word;
  return {};
}

// The only part of a pattern: the string in `case "cuda":`.
Node pattern_of(Node pattern) {
  while (pattern && !pattern.is(Kind::kString) && pattern.first_child() &&
         !pattern.first_child().next_sibling())
    pattern = pattern.first_child();
  return pattern;
}

// What a key says of its value, where a dictionary has one way for each device: `{"cuda": lambda t:
// t.cuda(), "cpu": lambda t: t}[name](x)`.
CudaKnowledge pair_knowledge(Node pair) {
  std::string key;
  const auto has_key = [&](Node other, auto fits) {
    return other.is(Kind::kPair) && syntax::string_value(other.child(Field::kKey), key) &&
           fits(key);
  };
  if (!has_key(pair, is_cuda_string)) return {};
  const auto pairs = pair.parent().children();
  return std::any_of(pairs.begin(), pairs.end(),
                     [&](Node other) {
                       return has_key(other, [](const std::string& text) { return text == "cpu"; });
                     })
             ? cuda_known(true, pair)
             : CudaKnowledge{};
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
        if (from.is(Kind::kElse) && asks_for_all_others(parent)) return cuda_known(true, parent);
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
                 ? cuda_known(true, parent)
                 : CudaKnowledge{};
    }
    case Kind::kCase: {  // case "cuda":
      std::string pattern;
      const Node first = parent.first_child();
      const bool alone = from.is(Kind::kBlock) && first != from;
      return alone && syntax::string_value(syntax::unwrap(pattern_of(first)), pattern) &&
                     is_cuda_string(pattern)
                 ? cuda_known(true, parent)
                 : CudaKnowledge{};
    }
    case Kind::kPair:
      return from.field() == Field::kValue ? pair_knowledge(parent) : CudaKnowledge{};
    case Kind::kCall:
      return from.is(Kind::kArgumentList) ? parameter_knowledge(model, parent) : CudaKnowledge{};
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
  return mark_knowledge(model, decorator.first_child());
}

namespace {

// What is known at statements. It is asked for again and again: by each rule for each call in them.
struct KnowledgeOfStatements {
  explicit KnowledgeOfStatements(const SemanticModel& model)
      : guarded(model.tree().size()), ignoring_guards(model.tree().size()) {}
  mutable NodeMap<CudaKnowledge> guarded;
  mutable NodeMap<CudaKnowledge> ignoring_guards;
};

}  // namespace

CudaKnowledge knowledge_at(const SemanticModel& model, Node at) {
  const auto& known = model.facts<KnowledgeOfStatements>();
  auto& of_statements = model.ignores_guards() ? known.ignoring_guards : known.guarded;
  // The statements at which nothing further inside said anything: the answer is theirs, too.
  std::vector<std::uint32_t> same;
  const auto answer = [&](const CudaKnowledge& word) {
    for (const std::uint32_t statement : same) of_statements.put(statement, word);
    return word;
  };
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
    const bool is_statement = parent.is_any(Kind::kBlock, Kind::kModule);
    if (is_statement && !guessed && !weak) {
      if (const CudaKnowledge* const word = of_statements.find(node.index())) return answer(*word);
      same.push_back(node.index());
    }
    if (auto word = from_parent(model, parent, node); decides(word)) return answer(word);
    // A function that is called later is not guarded by the code around its definition, except at
    // module level, where the whole file stopped.
    if (is_statement) {
      if (auto word = from_earlier(model, node); decides(word)) return answer(word);
    }
  }
  return answer(guessed ? guessed : weak);
}

}  // namespace torchport::semantics
