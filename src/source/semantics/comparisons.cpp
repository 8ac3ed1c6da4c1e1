#include "source/semantics/comparisons.h"

#include <algorithm>

#include "source/semantics/cuda_flags.h"

namespace torchport::semantics {

namespace {

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

// The string in torch.device("cuda"). That something is not torch.device("cpu") does not say where
// it is.
Node device_string(const SemanticModel& model, Node side) {
  const bool device = side.is(Kind::kCall) && model.called(side) == "torch.device";
  const Node type = device ? syntax::argument(side, 0, "type") : side;
  return is_word(type, "cuda") ? type : side;
}

// Whether a list is one of what is not wanted: `"cuda" not in exclude_devices` says nothing about
// what there is.
bool excludes(Node values) {
  const std::string text = base::lower(values.text());
  for (const std::string_view word : {"exclude", "ignore", "disable", "unavailable", "skip"})
    if (text.find(word) != std::string::npos) return true;
  return false;
}

// Whether a list has nothing but names of CUDA devices.
bool names_only_cuda(Node values) {
  if (!values.is_any(Kind::kList, Kind::kTuple, Kind::kSet)) return false;
  std::string text;
  const auto parts = values.children();
  return !parts.empty() && std::all_of(parts.begin(), parts.end(), [&](Node part) {
    return syntax::string_value(part, text) && is_cuda_string(text);
  });
}

CudaKnowledge compare(const SemanticModel& model, Node comparison, bool truth) {
  const auto parts = comparison.children();
  if (parts.size() != 3) return {};
  const Node left = parts[0];
  const Node right = parts[2];
  const std::string_view op = parts[1].text();
  const bool equal = op == "==" || op == "is" || op == "in";
  const bool unequal = op == "!=" || op == "is not" || op == "not in";
  if ((op == "in" || op == "not in") && excludes(right)) return {};
  for (const Node written : {left, right}) {
    const Node side = device_string(model, written);
    // NCCL exists only for CUDA.
    // Programs that say "gpu" have found CUDA.
    if ((is_word(side, "cuda") || is_word(side, "nccl") || is_word(side, "gpu")) &&
        (equal || unequal))
      return cuda_known(equal == truth, comparison);
    if (starts_word(side, "flash_att") && (equal || unequal))
      return cuda_known(equal == truth, comparison);
    if ((is_word(side, "cpu") || is_word(side, "gloo")) && (equal || unequal))
      return cuda_known(unequal == truth, comparison);
    // `"CUDA out of memory" in str(error)`
    std::string words;
    if (op == "in" && truth && side == left && syntax::string_value(side, words) &&
        words.find("CUDA") != std::string::npos)
      return cuda_known(true, comparison);
    if (equal && truth && is_cuda_type_name(side)) return cuda_known(true, comparison);
    if ((equal || unequal) && model.qualified(side).ends_with("distributed.Backend.NCCL"))
      return cuda_known(equal == truth, comparison);
  }
  // device in ("cuda", "cuda:0")
  if ((op == "in" || op == "not in") && names_only_cuda(right))
    return cuda_known((op == "in") == truth, comparison);
  const bool none = right.is(Kind::kNone);
  const std::string& name = model.qualified(left);
  if (none && (name == "torch.version.cuda")) return cuda_known(unequal == truth, comparison);
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
    return op == "<" && truth ? cuda_known(true, comparison) : CudaKnowledge{};
  if (!counts && !flag) {
    if (subject.is(Kind::kIdentifier) && (op == ">" || op == ">=")) {
      const auto bindings = model.scopes().reaching(subject.text(), subject);
      if (bindings.size() == 1 &&
          model.called(bindings.front()->value) == "torch.cuda.device_count")
        return cuda_known(truth, comparison);
    }
    return {};
  }
  if (none) return cuda_known(unequal == truth, comparison);
  // use_cuda in ["all", "batch"]
  if (!counts && right.is_any(Kind::kList, Kind::kTuple, Kind::kSet) &&
      (op == "in" || op == "not in"))
    return may_be_off(right) ? CudaKnowledge{} : cuda_known((op == "in") == truth, comparison);
  if (!counts && is_negative_flag(flag_name)) return {};
  if (op == ">" || op == ">=" || op == "!=") return cuda_known(truth, comparison);
  if (op == "<" || op == "<=") return cuda_known(!truth, comparison);
  if (op == "==")
    return right.text() == "0" || right.text() == "-1" ? cuda_known(!truth, comparison)
                                                       : cuda_known(truth, comparison);
  return {};
}

// Comparisons are asked for by each rule for each call below them.
struct KnownComparisons {
  explicit KnownComparisons(const SemanticModel& model)
      : if_true(model.tree().size()), if_false(model.tree().size()) {}
  mutable NodeMap<CudaKnowledge> if_true;
  mutable NodeMap<CudaKnowledge> if_false;
};

}  // namespace

CudaKnowledge comparison_knowledge(const SemanticModel& model, Node comparison, bool truth) {
  const auto& all = model.facts<KnownComparisons>();
  auto& known = truth ? all.if_true : all.if_false;
  if (const CudaKnowledge* const found = known.find(comparison.index())) return *found;
  return known.put(comparison.index(), compare(model, comparison, truth));
}

}  // namespace torchport::semantics
