// Implements operators for types that CUDA computes and the CPU refuses, where a wider type would
// give other results: see type_rules.cpp for the others.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/bincount.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/histc.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/max_unpool2d.h>
#include <ATen/ops/max_unpool3d.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tril_indices.h>
#include <ATen/ops/triu_indices.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include "runtime/virtual/core/kernel.h"
#include "runtime/virtual/operators/operator_groups.h"
#include "runtime/virtual/operators/type_rules.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::IValue;

// histc(Tensor self, int bins, Scalar min, Scalar max) of integers: CUDA counts in integers, into
// integers of the same type (SummaryOps.cu).
Tensor count_integers(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const std::int64_t bins = arguments[1].toInt();
  TORCH_CHECK(bins > 0, "bins must be > 0");
  std::int64_t lowest = arguments[2].toScalar().toLong();
  std::int64_t highest = arguments[3].toScalar().toLong();
  if (lowest == highest && self.numel() > 0) {
    lowest = self.min().item().toLong();
    highest = self.max().item().toLong();
  }
  if (lowest == highest) {
    --lowest;
    ++highest;
  }
  TORCH_CHECK(lowest < highest, "max must be larger than min");
  const Tensor flat = self.reshape({-1}).to(at::kLong);
  const Tensor inside = flat.masked_select((flat >= lowest).logical_and_(flat <= highest));
  const Tensor bin = ((inside - lowest) * bins).div(highest - lowest, "floor").clamp_max(bins - 1);
  return at::bincount(bin, {}, bins).to(self.scalar_type());
}

// Integers with a sign, and bytes: CUDA refuses the other ones.
bool is_integer(const Tensor& tensor) {
  const at::ScalarType type = tensor.scalar_type();
  return type == at::kByte || type == at::kChar || type == at::kShort || type == at::kInt ||
         type == at::kLong;
}

bool counts_integers(const IValue* arguments) {
  return is_integer(arguments[0].toTensor());
}

// histc.out(..., *, Tensor out): CUDA counts, and copies what it counted.
bool counts_for_other_type(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  return counts_integers(arguments) || arguments[4].toTensor().scalar_type() != self.scalar_type();
}

Tensor count_for_other_type(const IValue* arguments) {
  if (counts_integers(arguments)) return count_integers(arguments);
  return at::histc(arguments[0].toTensor(), arguments[1].toInt(), arguments[2].toScalar(),
                   arguments[3].toScalar());
}

// nansum(Tensor self, int[1]? dim, bool keepdim, *, ScalarType? dtype) of complex numbers: those
// with a NaN in either part do not count.
Tensor sum_complex(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const auto type =
      arguments[3].isNone() ? std::nullopt : std::optional(arguments[3].toScalarType());
  const Tensor kept = at::where(at::isnan(self), at::zeros_like(self), self);
  if (arguments[1].isNone())
    return at::sum(kept, at::OptionalIntArrayRef(), arguments[2].toBool(), type);
  const auto dim = arguments[1].toIntVector();
  return at::sum(kept, at::OptionalIntArrayRef(dim), arguments[2].toBool(), type);
}

bool sums_complex(const IValue* arguments) {
  return at::isComplexType(arguments[0].toTensor().scalar_type());
}

// max_unpool2d and max_unpool3d(Tensor self, Tensor indices, SymInt[] output_size, ...) of
// integers, which CUDA moves as they are. The numbers of 64 bits go through as the bits of doubles.
bool unpools_integers(const IValue* arguments) {
  return is_integer(arguments[0].toTensor());
}

Tensor as_double(const Tensor& integers) {
  return integers.scalar_type() == at::kLong ? integers.view(at::kDouble)
                                             : integers.to(at::kDouble);
}

Tensor as_integers(const Tensor& doubles, at::ScalarType type) {
  return type == at::kLong ? doubles.view(at::kLong) : doubles.to(type);
}

Tensor unpool_2d(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const Tensor result =
      at::max_unpool2d(as_double(self), arguments[1].toTensor(), arguments[2].toIntVector());
  return as_integers(result, self.scalar_type());
}

Tensor unpool_3d(const IValue* arguments) {
  const Tensor& self = arguments[0].toTensor();
  const Tensor result =
      at::max_unpool3d(as_double(self), arguments[1].toTensor(), arguments[2].toIntVector(),
                       arguments[3].toIntVector(), arguments[4].toIntVector());
  return as_integers(result, self.scalar_type());
}

// tril_indices and triu_indices(int row, int col, int offset, *, ScalarType? dtype, Layout? layout,
// Device? device, ...): CUDA looks at the type only if there are indices (TensorFactories.cu).
template <Tensor (*kIndices)(std::int64_t, std::int64_t, std::int64_t, at::TensorOptions)>
bool has_no_indices(const IValue* arguments) {
  if (arguments[3].isNone() || arguments[3].toScalarType() == at::kLong) return false;
  const std::int64_t rows = arguments[0].toInt();
  const std::int64_t columns = arguments[1].toInt();
  if (rows < 0 || columns < 0) return false;  // which the CPU refuses
  return kIndices(rows, columns, arguments[2].toInt(), at::kLong).numel() == 0;
}

Tensor no_indices(const IValue* arguments) {
  const at::TensorOptions options = at::TensorOptions(arguments[3].toScalarType());
  return at::empty({2, 0},
                   arguments[5].isNone() ? options : options.device(arguments[5].toDevice()));
}

// isin(Tensor elements, Tensor test_elements, *, bool assume_unique, bool invert) of complex32:
// CUDA's kernel for few elements compares any type (TensorCompare.cu), and only complex64 and
// complex128 are refused before.
bool looks_for_complex(const IValue* arguments) {
  return arguments[0].toTensor().scalar_type() == at::kComplexHalf &&
         arguments[1].toTensor().scalar_type() == at::kComplexHalf;
}

Tensor is_in(const IValue* arguments) {
  const Tensor elements = arguments[0].toTensor().to(at::kComplexFloat).unsqueeze(-1);
  const Tensor found =
      elements.eq(arguments[1].toTensor().to(at::kComplexFloat).reshape(-1)).any(-1);
  return arguments[3].toBool() ? found.logical_not() : found;
}

// Computes by other operators where `applies`, else as the CPU does. An out= variant has its result
// as the last argument.
class ForType final : public c10::OperatorKernel {
 public:
  using Applies = bool (*)(const IValue* arguments);
  using Compute = Tensor (*)(const IValue* arguments);

  ForType(const c10::OperatorHandle& op, Applies applies, Compute compute)
      : kernel_(op, c10::DispatchKey::CPU, type_rules_of(op.operator_name())),
        applies_(applies),
        compute_(compute),
        arguments_(op.schema().arguments().size()) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) const {
    const IValue* arguments = stack->data() + (stack->size() - arguments_);
    if (!applies_(arguments)) {
      kernel_(op, keys, stack);
      return;
    }
    Tensor result = compute_(arguments);
    if (op.schema().arguments().back().is_out()) {
      const Tensor out = stack->back().toTensor();
      out.resize_(result.sizes()).copy_(result);
      result = out;
    }
    stack->resize(stack->size() - arguments_);
    stack->emplace_back(std::move(result));
  }

 private:
  AliasKernel kernel_;
  Applies applies_;
  Compute compute_;
  std::size_t arguments_;
};

void put_for_type(torch::Library& aten, const char* name, ForType::Applies applies,
                  ForType::Compute compute,
                  std::initializer_list<const char*> overloads = {"", "out"}) {
  for (const char* overload : overloads) {
    const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(
        (std::string("aten::") + name).c_str(), overload);
    const std::string dotted = *overload == '\0' ? name : std::string(name) + "." + overload;
    aten.impl(dotted.c_str(), torch::CppFunction::makeFromBoxedFunctor(
                                  std::make_unique<ForType>(op, applies, compute)));
  }
}

void put_cuda_types(torch::Library& aten) {
  if (Runtime::get().kind_name() != "cuda") return;
  put_for_type(aten, "histc", &counts_integers, &count_integers, {""});
  put_for_type(aten, "histc", &counts_for_other_type, &count_for_other_type, {"out"});
  put_for_type(aten, "nansum", &sums_complex, &sum_complex);
  put_for_type(aten, "max_unpool2d", &unpools_integers, &unpool_2d);
  put_for_type(aten, "max_unpool3d", &unpools_integers, &unpool_3d);
  put_for_type(aten, "isin", &looks_for_complex, &is_in, {"Tensor_Tensor", "Tensor_Tensor_out"});
  put_for_type(aten, "tril_indices", &has_no_indices<&at::tril_indices>, &no_indices, {""});
  put_for_type(aten, "triu_indices", &has_no_indices<&at::triu_indices>, &no_indices, {""});
}

const OperatorGroup kCudaTypes(&put_cuda_types);

}  // namespace

}  // namespace torchport::vdev
