#include "runtime/observe/operator_facts.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include <ATen/core/enum_tag.h>

namespace torchport::observe {

namespace {

bool one_of(std::string_view name, c10::ArrayRef<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "aten::" left off, and the underscore that marks operators in place.
std::string_view bare(std::string_view name) {
  if (!name.starts_with("aten::")) return {};
  name.remove_prefix(6);
  if (name.size() > 1 && name.ends_with('_')) name.remove_suffix(1);
  return name;
}

// The tags of native_functions.yaml, and composites whose parts have them: they are seen whole.
OperatorFacts::Reads reads_of(const c10::OperatorHandle& op, std::string_view name) {
  using Reads = OperatorFacts::Reads;
  static constexpr std::array<std::string_view, 3> kMasked{"index", "index_put", "_index_put_impl"};
  // linalg: the checks of their results, in BatchLinearAlgebra.cpp.
  static constexpr std::array<std::string_view, 8> kComposite{
      "is_nonzero",      "nonzero_numpy",     "linalg_inv", "linalg_solve",
      "linalg_cholesky", "linalg_ldl_factor", "inverse",    "argwhere"};
  if (one_of(name, kMasked)) return Reads::kByMask;
  if (name == "where" && op.schema().arguments().size() == 1) return Reads::kAlways;
  if (name == "repeat_interleave") {
    const auto& overload = op.schema().overload_name();
    return overload == "self_int" ? Reads::kNothing : Reads::kUnlessSized;
  }
  if (one_of(name, kComposite) || op.hasTag(at::Tag::data_dependent_output) ||
      op.hasTag(at::Tag::dynamic_output_shape))
    return Reads::kAlways;
  return Reads::kNothing;
}

bool makes_tensors(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kOthers{"new_empty", "new_full", "new_ones",
                                                           "new_zeros"};
  return name.ends_with("_like") || name == "new_empty_strided" || one_of(name, kOthers);
}

}  // namespace

OperatorFacts::OperatorFacts(const c10::OperatorHandle& op)
    : name(c10::toString(op.operator_name())) {
  const c10::FunctionSchema& schema = op.schema();
  arguments = static_cast<std::uint16_t>(schema.arguments().size());
  results = static_cast<std::uint16_t>(schema.returns().size());
  for (std::uint16_t i = 0; i < arguments; ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    if (argument.name() == "non_blocking") non_blocking = i;
    const std::string type = argument.type()->str();
    if (type.find("Tensor") != std::string::npos || type == "Any") tensor_inputs.push_back(i);
  }
  for (const c10::Argument& result : schema.returns()) {
    returns_tensors |= result.type()->str().find("Tensor") != std::string::npos;
    returns_views |= result.alias_info() != nullptr && !result.alias_info()->isWrite();
  }
  const std::string_view plain = bare(schema.name());
  static constexpr std::array<std::string_view, 6> kFills{"full",        "full_like", "new_full",
                                                          "masked_fill", "fill",      "where"};
  static constexpr std::array<std::string_view, 3> kIndexed{"index", "index_put",
                                                            "_index_put_impl"};
  makes = makes_tensors(plain);
  fills = one_of(plain, kFills);
  uninitialised = plain.starts_with("empty") || plain.starts_with("new_empty") || plain == "resize";
  takes_host_indices = one_of(plain, kIndexed);
  reads = reads_of(op, plain);
}

const OperatorFacts& facts_of(const c10::OperatorHandle& op) {
  // An operator's name stands in its entry, which the dispatcher never moves while it is
  // registered.
  using Key = const c10::OperatorName*;
  thread_local std::unordered_map<Key, const OperatorFacts*> known;
  const Key key = &op.operator_name();
  const auto found = known.find(key);
  if (found != known.end()) return *found->second;
  static std::mutex mutex;
  static auto* all = new std::unordered_map<Key, std::unique_ptr<OperatorFacts>>();
  const std::lock_guard<std::mutex> lock(mutex);
  auto& facts = (*all)[key];
  if (facts == nullptr) facts = std::make_unique<OperatorFacts>(op);
  known.emplace(key, facts.get());
  return *facts;
}

}  // namespace torchport::observe
