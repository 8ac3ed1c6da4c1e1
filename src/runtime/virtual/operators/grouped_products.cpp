// Implements the products of groups of matrices, with and without factors: _grouped_mm,
// _scaled_grouped_mm and _scaled_grouped_mm_v2 (GroupMM.cu, ScaledGroupMM.cu and MSLK's
// mx8mx8bf16_grouped and f4f4bf16_grouped). All are computed in float32 and rounded once. What lies
// after the last group is not set.
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/ops/mm.h>
#include <torch/library.h>

#include "runtime/virtual/core/blas_workspaces.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/grouped_assertions.h"
#include "runtime/virtual/operators/grouped_rules.h"
#include "runtime/virtual/operators/operator_groups.h"
#include "runtime/virtual/operators/scaled_values.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

constexpr std::size_t kPlainArguments = 5;
constexpr std::size_t kFirstGroupedArguments = 9;
constexpr std::size_t kSecondGroupedArguments = 13;

// One group: which part of what lies side by side it has, in elements that are counted unpacked.
struct Group {
  std::int64_t index;
  std::int64_t from;
  std::int64_t size;
};

std::vector<Group> groups_of(const GroupedCall& call) {
  std::vector<Group> groups;
  if (!call.offsets.defined()) {
    for (std::int64_t i = 0; i < call.a().size(0); ++i) groups.push_back({i, 0, 0});
    return groups;
  }
  const Tensor ends = call.offsets.to(at::kLong).contiguous();
  std::int64_t from = 0;
  for (std::int64_t i = 0; i < ends.numel(); ++i) {
    const std::int64_t end = ends.data_ptr<std::int64_t>()[i];
    groups.push_back({i, from, end - from});
    from = end;
  }
  return groups;
}

Tensor part_of(const Tensor& tensor, std::int64_t dim, const Group& group) {
  return tensor.narrow(dim, group.from, group.size);
}

// The group's part of the first and of the second matrix, and of the result.
struct Parts {
  Tensor a;
  Tensor b;
  Tensor out;
};

Parts parts_of(const GroupedCall& call, const Tensor& out, const Group& group) {
  const Tensor& a = call.a();
  const Tensor& b = call.b();
  if (call.adds_over_groups()) {
    const std::int64_t packed = is_packed(a.scalar_type()) ? 2 : 1;
    const Group along{group.index, group.from / packed, group.size / packed};
    return {part_of(a, 1, along), part_of(b, 0, along), out[group.index]};
  }
  if (a.dim() == 2) return {part_of(a, 0, group), b[group.index], part_of(out, 0, group)};
  if (b.dim() == 2) return {a[group.index], part_of(b, 1, group), part_of(out, 1, group)};
  return {a[group.index], b[group.index], out[group.index]};
}

// The factors of the group's rows: those of a matrix of one group after the other, of one after the
// other for each row of the whole, or of its own matrix.
Tensor rows_of_group(const GroupedCall& call, const Tensor& matrix, const Tensor& scale,
                     std::int64_t rows, const Group& group) {
  if (matrix.dim() == 3) return scale[group.index];
  if (call.adds_over_groups()) return scale.narrow(0, group.index * rows, rows);
  return part_of(scale, 0, group);
}

void multiply_by_rows(const GroupedCall& call, const Group& group, const Parts& parts) {
  Tensor wide = at::mm(in_float32(parts.a), in_float32(parts.b));
  wide.mul_(
      rows_of_group(call, call.a(), call.scaled.scale_a[0], wide.size(0), group).reshape({-1, 1}));
  wide.mul_(
      rows_of_group(call, call.b(), call.scaled.scale_b[0], wide.size(1), group).reshape({1, -1}));
  parts.out.copy_(wide);
}

// Takes the factors of one group after the other out of those in tiles. Each group has whole tiles.
class TilesInOrder {
 public:
  TilesInOrder(const Tensor& scale, bool of_groups)
      : scale_(scale), flat_(scale.reshape({-1})), of_groups_(of_groups) {}

  [[nodiscard]] Tensor next(std::int64_t index, std::int64_t rows, std::int64_t columns) {
    if (of_groups_) return without_tiles(scale_[index], rows, columns);
    const std::int64_t count = rounded_up(rows, 128) * rounded_up(columns, 4);
    const Tensor tiles = flat_.narrow(0, used_, count);
    used_ += count;
    return without_tiles(tiles, rows, columns);
  }

 private:
  Tensor scale_;
  Tensor flat_;
  bool of_groups_;
  std::int64_t used_ = 0;
};

// A factor for the whole tensor, or for the group.
Tensor whole_factor(const Tensor& scale, std::int64_t index) {
  const Tensor flat = scale.reshape({-1});
  return flat[flat.numel() == 1 ? 0 : index];
}

class TiledGroups {
 public:
  TiledGroups(const GroupedCall& call, std::int64_t block)
      : call_(call),
        block_(block),
        tiles_a_(call.scaled.scale_a[0], call.a().dim() == 3),
        tiles_b_(call.scaled.scale_b[0], call.b().dim() == 3) {}

  void multiply(const Group& group, const Parts& parts) {
    const Tensor a = scaled(in_float32(parts.a), tiles_a_, group.index);
    const Tensor b = scaled(in_float32(parts.b.t()), tiles_b_, group.index);
    Tensor wide = at::mm(a, b.t());
    if (call_.scaled.scale_a.size() > 1) {
      wide.mul_(whole_factor(call_.scaled.scale_a[1], group.index) *
                whole_factor(call_.scaled.scale_b[1], group.index));
    }
    parts.out.copy_(wide);
  }

 private:
  Tensor scaled(const Tensor& values, TilesInOrder& tiles, std::int64_t index) const {
    const std::int64_t columns = blocks_of(values.size(1), block_);
    return times_blocks(values, tiles.next(index, values.size(0), columns), block_);
  }

  const GroupedCall& call_;
  std::int64_t block_;
  TilesInOrder tiles_a_;
  TilesInOrder tiles_b_;
};

// Without late errors (errors/device_errors.h) the call raises this.
void check_sizes_of_groups(const GroupedCall& call) {
  const auto bad = bad_group(call);
  TORCH_CHECK(!bad, "group ", bad->index,
              " of offs has a size that the kernel does not take: ", bad->condition);
}

void compute_with_factors(const GroupedCall& call, Stack* stack) {
  const Tensor out = grouped_result(call, at::kBFloat16);
  const Scaling scaling = grouped_scaling(call);
  if (scaling == Scaling::kRow) check_sizes_of_groups(call);
  TiledGroups tiled(call, scaling == Scaling::kBlock1x16 ? 16 : 32);
  for (const Group& group : groups_of(call)) {
    const Parts parts = parts_of(call, out, group);
    if (scaling == Scaling::kRow) {
      multiply_by_rows(call, group, parts);
    } else {
      tiled.multiply(group, parts);
    }
  }
  stack->emplace_back(out);
}

void plain_groups(Stack* stack) {
  const auto arguments = torch::jit::pop(*stack, kPlainArguments);
  const GroupedCall call = GroupedCall::without_factors(arguments.data());
  if (is_by_cutlass(call, *Runtime::get().profile())) check_sizes_of_groups(call);
  const Tensor out = grouped_result(call, call.a().scalar_type());
  for (const Group& group : groups_of(call)) {
    const Parts parts = parts_of(call, out, group);
    parts.out.copy_(at::mm(in_float32(parts.a), in_float32(parts.b)));
  }
  stack->emplace_back(out);
}

void first_groups(Stack* stack) {
  const auto arguments = torch::jit::pop(*stack, kFirstGroupedArguments);
  compute_with_factors(GroupedCall::first_form(arguments.data()), stack);
}

void second_groups(Stack* stack) {
  const auto arguments = torch::jit::pop(*stack, kSecondGroupedArguments);
  compute_with_factors(GroupedCall::second_form(arguments.data()), stack);
}

Compute choose_plain_groups(const IValue* arguments) {
  const GroupedCall call = GroupedCall::without_factors(arguments);
  check_grouped(call);
  if (!is_by_cutlass(call, *Runtime::get().profile())) {
    // The host reads the ends of the groups, and cuBLAS multiplies each.
    if (call.offsets.defined()) (void)call.offsets.cpu();
    take_blas_workspaces(BlasUse::kCublas, call.a().device().index());
  }
  return &plain_groups;
}

Compute choose_first_groups(const IValue* arguments) {
  check_scaled_grouped(GroupedCall::first_form(arguments), *Runtime::get().profile());
  return &first_groups;
}

Compute choose_second_groups(const IValue* arguments) {
  check_scaled_grouped(GroupedCall::second_form(arguments), *Runtime::get().profile());
  return &second_groups;
}

void put_grouped_products(torch::Library& aten) {
  if (Runtime::get().kind_name() != "cuda") return;
  const auto put_if_there = [&](const char* name, std::size_t arguments, Choice choice) {
    const auto op = c10::Dispatcher::singleton().findSchema({std::string("aten::") + name, ""});
    if (op && op->schema().arguments().size() == arguments) put_choice(aten, name, "", choice);
  };
  put_if_there("_grouped_mm", kPlainArguments, &choose_plain_groups);
  put_if_there("_scaled_grouped_mm", kFirstGroupedArguments, &choose_first_groups);
  put_if_there("_scaled_grouped_mm_v2", kSecondGroupedArguments, &choose_second_groups);
}

const OperatorGroup kGroupedProducts(&put_grouped_products);

}  // namespace

}  // namespace torchport::vdev
