// What conditions say about CUDA.
#include <algorithm>
#include <array>

#include "source/semantics/comparisons.h"
#include "source/semantics/cuda_flags.h"

namespace torchport::semantics {

namespace {

constexpr int kMaxConditionDepth = 8;
constexpr std::size_t kMostValues = 2;  // of an attribute; more would branch at every step

CudaKnowledge implied(const SemanticModel& model, Node condition, bool truth, int depth);

// What follows from both parts of a condition. The part that asks the machine decides: `device ==
// "cuda" and not torch.cuda.is_available()`.
CudaKnowledge joined(const SemanticModel& model, const CudaKnowledge& a, const CudaKnowledge& b) {
  if (!a || !b) return a ? a : b;
  if (a.by_default != nullptr) return b;
  return a.present != b.present && asks_machine(model, b.condition) ? b : a;
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
  if (text == "is_cuda") return cuda_known(truth, name);
  // chainer.cuda.available, cupy.cuda.available
  if (text == "available" && name.is(Kind::kAttribute) &&
      name.child(Field::kObject).text().ends_with("cuda")) {
    return cuda_known(truth, name);
  }
  // This says what torch was compiled for.
  if (!is_cuda_flag(text) || model.qualified(name) == "torch.has_cuda") return {};
  CudaKnowledge flag = cuda_known(truth != is_negative_flag(text), name);
  flag.by_default = on_by_default(model, name);
  return flag;
}

// Whether the first part of an `and` only asks whether there is what the second is about: `x is not
// None and x.device.type != "cuda"`.
bool asks_for_same(Node left, Node right) {
  const auto parts = syntax::unwrap(left).children();
  return parts.size() == 3 && parts[1].text() == "is not" && parts[2].is(Kind::kNone) &&
         syntax::unwrap(right).text().starts_with(std::string(parts[0].text()) + ".");
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
      // Without it nothing of it is elsewhere.
      return is_and && b.present && asks_for_same(left, right) ? b : CudaKnowledge{};
    }
    case Kind::kConditional: {
      const auto parts = condition.children();
      return parts.size() == 3 && parts[0].is(Kind::kTrue)
                 ? implied(model, parts[1], truth, depth + 1)
                 : CudaKnowledge{};
    }
    case Kind::kComparison:
      return comparison_knowledge(model, condition, truth);
    case Kind::kCall: {
      const std::string& name = model.called(condition);
      if (name == "torch.cuda.is_available" || name == "torch.cuda.is_initialized")
        return cuda_known(truth, condition);
      if (name == "torch.cuda.device_count") return cuda_known(truth, condition);
      if (name == "torch.is_autocast_enabled" && truth &&
          is_word(syntax::positional(condition, 0), "cuda"))
        return cuda_known(true, condition);
      const Node function = syntax::callee(condition);
      const std::string_view last = function.is(Kind::kAttribute)
                                        ? function.child(Field::kAttributeName).text()
                                        : function.text();
      if (last == "startswith" && is_word(syntax::positional(condition, 0), "cuda"))
        return cuda_known(truth, condition);
      if (function.is(Kind::kIdentifier) && last == "all" && truth) {
        for (Node part = syntax::positional(condition, 0).first_child(); part;
             part = part.next_sibling()) {
          if (auto word = implied(model, part, true, depth + 1)) return word;
        }
        return {};
      }
      // options.get("cuda")
      std::string key;
      if (last == "get" && function.is(Kind::kAttribute) &&
          syntax::string_value(syntax::positional(condition, 0), key) && is_cuda_flag(key))
        return cuda_known(truth != is_negative_flag(key), condition);
      if (last == "bool") return implied(model, syntax::positional(condition, 0), truth, depth + 1);
      if (is_cuda_flag(last) && (last.starts_with("is_") || last.starts_with("has_") ||
                                 last.starts_with("use_") || last.starts_with("using_") ||
                                 last.ends_with("available") || last.ends_with("enabled"))) {
        return cuda_known(truth, condition);
      }
      return {};
    }
    case Kind::kIdentifier:
    case Kind::kAttribute:
      // The rule for uncalled tests reports it; what it was meant to say holds.
      if (is_uncalled_test(model, condition))
        return model.qualified(condition) == "torch.cuda.is_available"
                   ? cuda_known(truth, condition)
                   : CudaKnowledge{};
      return flag_knowledge(model, condition, truth, depth);
    case Kind::kSubscript: {  // opt["use_gpu"]
      std::string key;
      return syntax::string_value(condition.child(Field::kSubscriptPart), key) && is_cuda_flag(key)
                 ? cuda_known(truth != is_negative_flag(key), condition)
                 : CudaKnowledge{};
    }
    default:
      return {};
  }
}

}  // namespace

bool asks_machine(const SemanticModel& model, Node condition) {
  if (!condition) return false;
  for (const Node call : model.nodes(Kind::kCall, condition)) {
    const std::string& name = model.called(call);
    if (name == "torch.cuda.is_available" || name == "torch.cuda.device_count") return true;
  }
  return is_uncalled_test(model, condition);
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

CudaKnowledge implied_by(const SemanticModel& model, Node condition, bool truth) {
  return implied(model, condition, truth, 0);
}

}  // namespace torchport::semantics
