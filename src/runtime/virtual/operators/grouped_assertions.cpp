#include "runtime/virtual/operators/grouped_assertions.h"

#include <fmt/format.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/errors/kernel_assertions.h"

namespace torchport::vdev {

namespace {

using at::Tensor;

constexpr const char* kNotNegative =
    "delta >=0 && \"expected offsets to be greater or equal 0\\n\"";
constexpr const char* kNotEmpty = "delta >0 && \"expected offsets to be greater than 0\\n\"";
constexpr const char* kAlignedInput =
    "delta % align == 0 && \"expected input tensor dynamic dimension byte size to be non-negative "
    "multiple of 16\\n\"";
constexpr const char* kAlignedOutput =
    "delta % align == 0 && \"expected output tensor dynamic dimension byte size to be non-negative "
    "multiple of 16\\n\"";

// What a group of `size` elements fails; null if nothing. The last group may end anywhere.
const char* failed_condition(const GroupedCall& call, std::int64_t size, bool is_last) {
  const Tensor& a = call.a();
  const Tensor& b = call.b();
  const bool a_in_rows = a.stride(-1) == 1;
  const bool b_in_rows = b.stride(-1) == 1;
  const bool over_groups = call.adds_over_groups();
  const bool of_columns = a.dim() == 3;
  if (over_groups && !a_in_rows && b_in_rows) {
    if (size < 0) return kNotNegative;
  } else if (over_groups && size <= 0) {
    return kNotEmpty;
  }
  if (is_last) return nullptr;
  const auto is_aligned = [&](std::int64_t bytes) { return size * bytes % 16 == 0; };
  const bool along_a = over_groups ? a_in_rows : !of_columns && !a_in_rows;
  const bool along_b = over_groups ? !b_in_rows : of_columns && b_in_rows;
  if ((along_a && !is_aligned(a.element_size())) || (along_b && !is_aligned(b.element_size())))
    return kAlignedInput;
  constexpr std::int64_t kBytesOfResult = 2;
  return of_columns && !is_aligned(kBytesOfResult) ? kAlignedOutput : nullptr;
}

GroupedCall grouped_call(const CallArguments& call) {
  GroupedCall grouped;
  grouped.scaled.a = call.tensor("self");
  grouped.scaled.b = call.tensor("mat2");
  grouped.offsets = call.tensor("offs");
  return grouped;
}

std::optional<FailedAssertion> of_groups(const CallArguments& call) {
  const GroupedCall grouped = grouped_call(call);
  const auto bad = bad_group(grouped);
  if (!bad) return {};
  return FailedAssertion{
      .file = "GroupMMCommon.cuh",
      .line = 0,
      .kernel = "prepare_grouped_gemm_data",
      .condition = bad->condition,
      .threads = {{{0, 0, 0}, {static_cast<std::uint32_t>(bad->index), 0, 0}}},
      .reason =
          fmt::format("group {} of offs has a size that the kernel does not take", bad->index)};
}

std::vector<c10::IValue> result_of_groups(const CallArguments& call) {
  return {grouped_result(grouped_call(call), at::kBFloat16)};
}

const KernelAssertion kGroups("aten::_grouped_mm", &of_groups, &result_of_groups);
const KernelAssertion kScaledGroups("aten::_scaled_grouped_mm", &of_groups, &result_of_groups);
const KernelAssertion kSecondGroups("aten::_scaled_grouped_mm_v2", &of_groups, &result_of_groups);

}  // namespace

std::optional<BadGroup> bad_group(const GroupedCall& call) {
  if (!call.offsets.defined()) return {};
  const Tensor ends = call.offsets.to(at::kLong).contiguous();
  std::int64_t from = 0;
  for (std::int64_t i = 0; i < ends.numel(); ++i) {
    const std::int64_t end = ends.const_data_ptr<std::int64_t>()[i];
    const char* condition = failed_condition(call, end - from, i + 1 == ends.numel());
    if (condition != nullptr) return BadGroup{i, condition};
    from = end;
  }
  return {};
}

}  // namespace torchport::vdev
