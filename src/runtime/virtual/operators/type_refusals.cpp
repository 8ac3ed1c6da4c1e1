// The names in the messages are those of the dispatch macros in aten/src/ATen/native/cuda, as the
// libtorch_cuda.so of torch 2.12.1 has them; which types CUDA refuses is in PyTorch's own database
// of operators (`dtypesIfCUDA`), and in what an H200 with torch 2.11 said of each.
#include "runtime/virtual/operators/type_refusals.h"

#include <array>
#include <string>
#include <string_view>

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>

#include "runtime/virtual/operators/type_checks.h"

namespace torchport::vdev {

namespace {

using at::ScalarType;
using at::Tensor;
using c10::IValue;

// aten::scatter_reduce.two(self, dim, index, src, reduce): bool and complex numbers are for sums
// only (ScatterGatherKernel.cu).
void check_scatter_reduce(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const std::string_view reduce = arguments[4].toStringView();
  if (computes_nothing(self) || reduce == "sum") return;
  if (holds("bc", self.scalar_type()))
    refuse_type("cuda_scatter_gather_base_kernel_func", self.scalar_type());
}

// aten::bitwise_and.Tensor_out(self, other, *, out) and its like: the kernel is that of the
// result's type (BinaryBitwiseOpsKernels.cu).
template <Text kKernel>
void check_bitwise_out(const IValue* arguments) {
  check_common_type<kKernel, "w">(arguments);
  const Tensor& out = arguments[2].toTensor();
  if (out.is_floating_point() || out.is_complex()) refuse_type(kKernel.text, out.scalar_type());
}

// aten::scatter.reduce(self, dim, index, src, *, reduce) and scatter.value_reduce: bool and complex
// numbers are for sums only, other types for neither (ScatterGatherKernel.cu).
template <Text kProducts, Text kSums>
void check_scatter_with(const IValue* arguments) {
  const Tensor& index = arguments[2].toTensor();
  if (computes_nothing(index) || !arguments[4].isString()) return;
  const ScalarType type = arguments[0].toTensor().scalar_type();
  const std::string_view reduce = arguments[4].toStringView();
  if (reduce == "multiply" && holds("bcxwf", type)) refuse_type(kProducts.text, type);
  if (reduce == "add" && holds("xwf", type)) refuse_type(kSums.text, type);
}

constexpr Text kScatterOfTensor = "cuda_scatter_gather_base_kernel_func";
constexpr Text kScatterOfValue = "cuda_scatter_fill_base_kernel_func";
constexpr Text kProductsOfValue = "cuda_scatter_fill_base_kernel_reduce_multiply";

// aten::index_reduce(self, dim, index, source, reduce, *, include_self): a kernel of its own fills
// what is not included (index_reduce_func_cuda_impl in Indexing.cu). It warns before it refuses
// what has no order, and the host's kernel, which warns as well, does not come to it.
void check_index_reduce(const IValue* arguments) {
  if (at::globalContext().deterministicAlgorithms() &&
      !at::globalContext().deterministicAlgorithmsWarnOnly()) {
    TORCH_WARN_ONCE("index_reduce() is in beta and the API may change at any time.");
  }
  const Tensor& self = arguments[0].toTensor();
  if (!holds("bcxwf", self.scalar_type())) return;
  if (!arguments[5].toBool())
    refuse_type("index_reduce_func_cuda_exclude_input_init", self.scalar_type());
  if (!computes_nothing(self)) refuse_type("index_reduce", self.scalar_type());
}

// aten::median(self) and nanmedian: CUDA sorts the numbers, and takes one of those that are no NaN.
template <Text kKernel>
void check_median(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  if (computes_nothing(self)) return;
  TORCH_CHECK(!self.is_complex(), " Sort does not support complex dtypes on CPU");
  if (holds("w", self.scalar_type())) refuse_type(kKernel.text, self.scalar_type());
}

// aten::aminmax(self, *, dim, keepdim): without a dimension it is another kernel.
void check_aminmax(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  if (computes_nothing(self) || !arguments[1].isNone()) return;
  if (holds("cxwf", self.scalar_type())) refuse_type("aminmax_all_cuda", self.scalar_type());
}

// aten::histc(self, ...), as _histc_cuda in SummaryOps.cu.
void check_histc(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  TORCH_CHECK(self.scalar_type() != ScalarType::Half, "HalfTensor is not supported");
  if (holds("hbcxwf", self.scalar_type())) refuse_type("histc", self.scalar_type());
}

// aten::index_select(self, dim, index, ...), as index_select_out_cuda_impl in Indexing.cu.
void check_index_select(const IValue* arguments) {
  const Tensor& index = arguments[2].toTensor();
  TORCH_CHECK(index.dim() <= 1, "Index is supposed to be an empty tensor or a vector");
  if (index.scalar_type() != at::kInt && index.scalar_type() != at::kLong)
    refuse_type("index_select_out_cuda_impl", index.scalar_type());
}

// aten::index_select.out(self, dim, index, *, out): the kernel is that of the result's type.
void check_index_select_out(const IValue* arguments) {
  check_index_select(arguments);
  const Tensor& self = arguments[0].toTensor();
  const Tensor& out = arguments[3].toTensor();
  TORCH_CHECK(out.scalar_type() == self.scalar_type(), "expected scalar type ", out.scalar_type(),
              " but found ", self.scalar_type());
}

// aten::masked_fill(self, mask, value), as masked_fill__cuda in Indexing.cu.
void check_masked_fill(const IValue* arguments) {
  const Tensor& mask = arguments[1].toTensor();
  TORCH_CHECK(mask.scalar_type() == ScalarType::Bool,
              "masked_fill only supports boolean masks, but got dtype ", mask.scalar_type());
}

// aten::masked_scatter_(self, mask, source), as masked_scatter__cuda in IndexKernel.cpp.
void check_masked_scatter(const IValue* arguments) {
  const Tensor& mask = arguments[1].toTensor();
  TORCH_CHECK(mask.scalar_type() == ScalarType::Bool,
              "masked_scatter_ only supports boolean masks, but got mask with dtype ",
              mask.dtype());
}

// aten::nonzero.out(self, *, out), as nonzero_out_cuda in Nonzero.cu.
void check_nonzero_out(const IValue* arguments) {
  const Tensor& out = arguments[1].toTensor();
  TORCH_CHECK(out.scalar_type() == ScalarType::Long, "Expected object of scalar type ",
              ScalarType::Long, " as out, but got ", out.dtype());
}

// aten::max.unary_out(self, *, out) and min.unary_out (ReduceAllOps.cpp).
template <Text kKernel>
void check_extreme_out(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const Tensor& out = arguments[1].toTensor();
  TORCH_CHECK(self.device() == out.device(),
              "Expected self.device() == out.device() to be true, but got false.  (Could this "
              "error message be improved?  If so, please report an enhancement request to "
              "PyTorch.)");
  TORCH_CHECK(out.scalar_type() == self.scalar_type() ||
                  !c10::canCast(self.scalar_type(), out.scalar_type()),
              kKernel.text, ": provided dtype must match dtype of result. Got ", out.scalar_type(),
              " and ", self.scalar_type(), ".");
}

// aten::median.dim(self, dim, ...), nanmedian.dim, kthvalue and topk: TensorInfo of TensorInfo.cuh.
void check_dimensions(const IValue* arguments) {
  constexpr std::int64_t kTooMany = 25;
  const Tensor& self = arguments[0].toTensor();
  TORCH_CHECK(computes_nothing(self) || self.dim() < kTooMany,
              "CUDA Tensors cannot have more than 25 dimensions");
}

// aten::mode.values(self, dim, keepdim, *, values, indices), as mode_kernel_impl in TensorMode.cpp.
void check_mode_out(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const auto check = [&](const Tensor& out, const char* name) {
    TORCH_CHECK(out.device() == self.device(), "expected device '", self.device(), "' but got '",
                out.device(), "' for ", name, " output");
  };
  check(arguments[3].toTensor(), "values");
  check(arguments[4].toTensor(), "indices");
}

// NOLINTNEXTLINE(readability-function-size): a table
const TypeChecks& other_refusals() {
  static const TypeChecks kChecks = {
      {"aten::igamma", &check_type<0, "igamma_cuda", "h">},
      {"aten::igammac", &check_type<0, "igammac_cuda", "h">},
      {"aten::angle", &check_type<0, "angle_cuda", "h">},
      {"aten::histc", &check_histc},
      {"aten::roll", &check_type<0, "roll_cuda", "wf">},
      {"aten::bitwise_and", &check_common_type<"bitwise_and_cuda", "w">},
      {"aten::bitwise_and_", &check_common_type<"bitwise_and_cuda", "w">},
      {"aten::bitwise_or", &check_common_type<"bitwise_or_cuda", "w">},
      {"aten::bitwise_or_", &check_common_type<"bitwise_or_cuda", "w">},
      {"aten::bitwise_xor", &check_common_type<"bitwise_xor_cuda", "w">},
      {"aten::bitwise_xor_", &check_common_type<"bitwise_xor_cuda", "w">},
      {"aten::bitwise_and.Tensor_out", &check_bitwise_out<"bitwise_and_cuda">},
      {"aten::bitwise_or.Tensor_out", &check_bitwise_out<"bitwise_or_cuda">},
      {"aten::bitwise_xor.Tensor_out", &check_bitwise_out<"bitwise_xor_cuda">},
      {"aten::mul", &check_common_type<"mul_cuda", "wf">},
      {"aten::mul_", &check_common_type<"mul_cuda", "wf">},
      {"aten::index", &check_type<0, "index_cuda", "w">},
      {"aten::_unsafe_index", &check_type<0, "index_cuda", "w">},
      {"aten::masked_select", &check_type<0, "index_cuda", "w">},
      {"aten::abs", &check_type<0, "abs_cuda", "wf">},
      {"aten::abs_", &check_type<0, "abs_cuda", "wf">},
      {"aten::addcmul", &check_type<0, "addcmul_cuda", "x">},
      {"aten::addcmul_", &check_type<0, "addcmul_cuda", "x">},
      {"aten::minimum", &check_common_type<"minimum_cuda", "w">},
      {"aten::fmin", &check_common_type<"minimum_cuda", "w">},
      {"aten::var", &check_type<0, "std_cuda", "f">},
      {"aten::std", &check_type<0, "std_cuda", "f">},
      {"aten::var_mean", &check_type<0, "std_cuda", "f">},
      {"aten::std_mean", &check_type<0, "std_cuda", "f">},
      {"aten::aminmax", &check_aminmax},
      {"aten::median.", &check_median<"where_cuda">},
      {"aten::nanmedian.", &check_median<"index_cuda">},
      {"aten::sort", &check_type<0, "sort", "wf">},
      {"aten::nan_to_num", &check_type<0, "nan_to_num", "x">},
      {"aten::signbit", &check_type<0, "signbit_cuda", "w">},
      {"aten::clamp_max", &check_common_type<"minimum_cuda", "w">},
      {"aten::clamp_max_", &check_common_type<"minimum_cuda", "w">},
      {"aten::index_reduce", &check_index_reduce},
      {"aten::index_reduce_", &check_index_reduce},
      {"aten::index_select", &check_index_select},
      {"aten::index_select.out", &check_index_select_out},
      {"aten::masked_fill", &check_masked_fill},
      {"aten::masked_fill_", &check_masked_fill},
      {"aten::masked_scatter", &check_masked_scatter},
      {"aten::masked_scatter_", &check_masked_scatter},
      {"aten::nonzero.out", &check_nonzero_out},
      {"aten::max.unary_out", &check_extreme_out<"max_all">},
      {"aten::min.unary_out", &check_extreme_out<"min_all">},
      {"aten::median.dim", &check_dimensions},
      {"aten::median.dim_values", &check_dimensions},
      {"aten::nanmedian.dim", &check_dimensions},
      {"aten::nanmedian.dim_values", &check_dimensions},
      {"aten::kthvalue", &check_dimensions},
      {"aten::topk", &check_dimensions},
      {"aten::mode.values", &check_mode_out},
      {"aten::scatter_reduce", &check_scatter_reduce},
      {"aten::scatter_reduce_", &check_scatter_reduce},
      {"aten::scatter.reduce", &check_scatter_with<kScatterOfTensor, kScatterOfTensor>},
      {"aten::scatter.reduce_out", &check_scatter_with<kScatterOfTensor, kScatterOfTensor>},
      {"aten::scatter_.reduce", &check_scatter_with<kScatterOfTensor, kScatterOfTensor>},
      {"aten::scatter.value_reduce", &check_scatter_with<kProductsOfValue, kScatterOfValue>},
      {"aten::scatter.value_reduce_out", &check_scatter_with<kProductsOfValue, kScatterOfValue>},
      {"aten::scatter_.value_reduce", &check_scatter_with<kProductsOfValue, kScatterOfValue>},
  };
  return kChecks;
}

}  // namespace

TypeCheck refusal_of(const c10::OperatorName& name) {
  const std::string full = name.name + "." + name.overload_name;
  const std::array tables{&refusals_of_algebra(), &refusals_of_layers(), &other_refusals()};
  for (const std::string& asked : {full, name.name}) {
    for (const TypeChecks* table : tables) {
      const auto found = table->find(asked);
      if (found != table->end()) return found->second;
    }
  }
  return nullptr;
}

}  // namespace torchport::vdev
