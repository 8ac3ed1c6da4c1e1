// Implements the products with packed weights as CUDA does: int8 (int8mm.cu) in float32 for any
// size and type, where the CPU's kernel loads whole aligned vectors and ends the process if the
// rows are not a multiple of them; int4 (int4mm.cu) in the layout of CUDA's tensor cores, which the
// CPU has under other names and in another layout.
#include <cstdint>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/stack.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

using at::Tensor;

// _weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor
void int8_product(torch::jit::Stack* stack) {
  const std::vector<c10::IValue> arguments = torch::jit::pop(*stack, 3);
  const Tensor x = arguments[0].toTensor();
  const Tensor weight = arguments[1].toTensor().to(at::kFloat);
  const Tensor scales = arguments[2].toTensor().to(at::kFloat);
  stack->emplace_back(at::mm(x.to(at::kFloat), weight.t()).mul_(scales).to(x.scalar_type()));
}

Compute choose_int8_product(const c10::IValue* arguments) {
  const Tensor& x = arguments[0].toTensor();
  const Tensor& weight = arguments[1].toTensor();
  const Tensor& scales = arguments[2].toTensor();
  TORCH_CHECK(x.dim() == 2, "x must be 2D");
  TORCH_CHECK(weight.dim() == 2, "w must be 2D");
  TORCH_CHECK(scales.dim() == 1, "scale must be 1D");
  TORCH_CHECK(x.size(1) == weight.size(1), "K dimension mismatch: x.size(1) != w.size(1)");
  TORCH_CHECK(weight.size(0) == scales.size(0), "Output dim mismatch: w.size(0) != scale.size(0)");
  // The kernel takes the weight's bytes.
  TORCH_CHECK(weight.scalar_type() == at::kChar, "expected scalar type Char but found ",
              weight.scalar_type());
  return &int8_product;
}

// Raises what TORCH_CHECK(condition) raises in int4mm.cu.
void check_int4(bool holds, const char* condition) {
  TORCH_CHECK(holds, "Expected ", condition,
              " to be true, but got false.  (Could this error message be improved?  If so, please "
              "report an enhancement request to PyTorch.)");
}

constexpr std::int64_t kRows = 8;      // of a tile
constexpr std::int64_t kLanes = 32;    // of a warp; 4 for each row
constexpr std::int64_t kPair = 16;     // bytes of two tiles of 16 columns, which one int32 packs
constexpr std::int64_t kNibbles = 16;  // values of an int4

// Byte j of a lane's four has its higher half in bits 4j, and its lower half in bits 16 + 4j.
Tensor shifts_of(const Tensor& like) {
  return at::arange(4, like.options().dtype(at::kLong)).mul(4);
}

// _convert_weight_to_int4pack(Tensor self, int innerKTiles): [n, k / 2] bytes, whose higher half
// comes first, to [ceil(n / 8), k / (16 innerKTiles), 32, innerKTiles / 2] int32.
Tensor int4_packed(const Tensor& in, std::int64_t inner) {
  check_int4(in.dim() == 2, "in.dim() == 2");
  check_int4(in.scalar_type() == at::kByte, "in.dtype() == at::kByte");
  check_int4(in.is_contiguous(), "in.is_contiguous()");
  check_int4(inner == 2 || inner == 4 || inner == 8,
             "innerKTiles == 2 || innerKTiles == 4 || innerKTiles == 8");
  check_int4(in.size(1) % (inner * kRows) == 0,
             "isEvenDivisor(in.size(1) * 2, innerKTiles * kKTileSize)");
  const std::int64_t tiles = (in.size(0) + kRows - 1) / kRows;
  const std::int64_t outer = in.size(1) / (inner * kRows);
  const Tensor rows = at::constant_pad_nd(in, {0, 0, 0, tiles * kRows - in.size(0)});
  const Tensor bytes = rows.view({tiles, kRows, outer, inner / 2, 4, 4})
                           .permute({0, 2, 1, 5, 3, 4})
                           .reshape({tiles, outer, kLanes, inner / 2, 4})
                           .to(at::kLong);
  const Tensor shifts = shifts_of(in);
  const Tensor bits = bytes.div(kNibbles, "floor").bitwise_left_shift(shifts) +
                      bytes.remainder(kNibbles).bitwise_left_shift(shifts + 16);
  return bits.sum(-1).to(at::kInt);
}

// The numbers from 0 to 15, [n, k].
Tensor int4_unpacked(const Tensor& b) {
  const Tensor shifts = shifts_of(b);
  const Tensor words = b.to(at::kLong).unsqueeze(-1);
  const Tensor halves =
      at::stack({words.bitwise_right_shift(shifts), words.bitwise_right_shift(shifts + 16)}, -1);
  return halves.remainder(kNibbles)
      .view({b.size(0), b.size(1), kRows, 4, b.size(3), 4, 2})
      .permute({0, 2, 1, 4, 5, 3, 6})
      .reshape({b.size(0) * kRows, -1});
}

// _weight_int4pack_mm(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros): the weight
// is (number - 8) * scale + zero in bfloat16; scales and zeros are [k / qGroupSize, n, 2].
Tensor int4_product(const Tensor& a, const Tensor& b, std::int64_t group, const Tensor& scales) {
  check_int4(a.device() == b.device() && a.device() == scales.device(),
             "A.device() == B.device() && A.device() == qScaleAndZeros.device()");
  check_int4(a.scalar_type() == at::kBFloat16, "A.dtype() == at::kBFloat16");
  check_int4(a.is_contiguous(), "A.is_contiguous()");
  check_int4(a.dim() == 2, "A.dim() == 2");
  check_int4(b.scalar_type() == at::kInt, "B.dtype() == at::kInt");
  check_int4(b.is_contiguous(), "B.is_contiguous()");
  check_int4(b.dim() == 4, "B.dim() == 4");
  const std::int64_t inner = b.size(3) * 2;
  check_int4(inner == 2 || inner == 4 || inner == 8,
             "B_innerKTiles == 2 || B_innerKTiles == 4 || B_innerKTiles == 8");
  check_int4(b.size(1) == a.size(1) / (inner * kPair),
             "B.size(1) == k / (B_innerKTiles * kKTileSize)");
  check_int4(b.size(2) == kLanes, "B.size(2) == 32");
  check_int4(group == 32 || group == 64 || group == 128 || group == 256,
             "qGroupSize == 32 || qGroupSize == 64 || qGroupSize == 128 || qGroupSize == 256");
  check_int4(scales.dim() == 3, "qScaleAndZeros.dim() == 3");
  check_int4(a.size(1) >= group && a.size(1) % group == 0,
             "kTiles * kKTileSize >= qGroupSize && isEvenDivisor(kTiles * kKTileSize, qGroupSize)");
  check_int4(scales.size(1) == b.size(0) * kRows, "qScaleAndZeros.size(1) == n");
  check_int4(scales.size(2) == 2, "qScaleAndZeros.size(2) == 2");
  const Tensor each = scales.to(at::kFloat).repeat_interleave(group, 0).transpose(0, 1);
  const Tensor weight = int4_unpacked(b)
                            .sub(kNibbles / 2)
                            .to(at::kFloat)
                            .mul_(each.select(2, 0))
                            .add_(each.select(2, 1))
                            .to(at::kBFloat16);
  return at::mm(a, weight.t());
}

void put_packed_products(torch::Library& aten) {
  if (Runtime::get().kind_name() != "cuda") return;
  put_choice(aten, "_weight_int8pack_mm", "", &choose_int8_product);
  aten.impl("_convert_weight_to_int4pack", TORCH_FN(int4_packed));
  aten.impl("_weight_int4pack_mm", TORCH_FN(int4_product));
}

const OperatorGroup kPackedProducts(&put_packed_products);

}  // namespace

}  // namespace torchport::vdev
