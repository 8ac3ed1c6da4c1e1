// Implements continuous distributions as CUDA's kernels do
// (aten/src/ATen/native/cuda/DistributionTemplates.h): uniform, normal, log-normal, exponential,
// Cauchy; and geometric, which has the same form.
//
// The checks of arguments are ATen's own, which are the same for all devices.
#include <cmath>
#include <initializer_list>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include <ATen/AccumulateType.h>
#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <ATen/core/DistributionsHelper.h>
#include <ATen/core/op_registration/adaption.h>
#include <ATen/native/DistributionTemplates.h>
#include <torch/library.h>

#include "runtime/virtual/core/alias.h"
#include "runtime/virtual/core/generator.h"
#include "runtime/virtual/operators/operator_groups.h"
#include "runtime/virtual/operators/random_fill.h"

namespace torchport::vdev {

namespace {

// NOLINTBEGIN(readability-function-size, performance-unnecessary-value-param): ATen's macros of
// types are long, and its operators take generators by value.

using at::Tensor;
using at::TensorIteratorBase;
using MaybeGenerator = std::optional<at::Generator>;
namespace templates = at::native::templates;

// --- What a GPU computes fast and less exactly for floats: the base-2 functions of its hardware
// and a product (CUDA C++ Programming Guide, "Intrinsic Functions"). Doubles are computed in full.

float fast_log(float x) {
  constexpr float kLn2 = 0.69314718F;
  return static_cast<float>(std::log2(static_cast<double>(x))) * kLn2;
}
double fast_log(double x) {
  return std::log(x);
}
float fast_exp(float x) {
  constexpr float kLog2OfE = 1.44269504F;
  return static_cast<float>(std::exp2(static_cast<double>(x * kLog2OfE)));
}
double fast_exp(double x) {
  return std::exp(x);
}
float fast_tan(float x) {
  return static_cast<float>(std::sin(static_cast<double>(x))) /
         static_cast<float>(std::cos(static_cast<double>(x)));
}
double fast_tan(double x) {
  return std::tan(x);
}
float fast_log1p(float x) {
  return fast_log(1.0F + x);
}
double fast_log1p(double x) {
  return std::log1p(x);
}

// Rounds to float first, as the constructors of Half and BFloat16 do.
template <class T>
T rounded(double x) {
  if constexpr (std::is_same_v<T, double>) return x;
  if constexpr (!std::is_same_v<T, double>) return static_cast<T>(static_cast<float>(x));
}

// --- The kernels, in the form that ATen's templates take

template <class Rng>
struct UniformKernel {
  void operator()(TensorIteratorBase& iterator, double low, double high,
                  const MaybeGenerator& generator) const {
    AT_DISPATCH_FLOATING_TYPES_AND2(
        at::kHalf, at::kBFloat16, iterator.dtype(), "uniform_kernel_cuda", [&] {
          using Real = at::opmath_type<scalar_t>;
          const auto from = rounded<scalar_t>(low);
          const auto to = rounded<scalar_t>(high);
          const auto range = static_cast<Real>(to - from);
          const auto base = static_cast<Real>(from);
          // cuRAND's numbers are in (0, 1], torch's in [0, 1).
          if (range == 1 && base == 0) {  // so that the loop has no multiply-add
            fill<scalar_t, DrawUniform<Real>>(iterator, *at::check_generator<Rng>(generator),
                                              [=](Real drawn) {
                                                const auto value = static_cast<scalar_t>(drawn);
                                                return value == to ? from : value;
                                              });
            return;
          }
          fill<scalar_t, DrawUniform<Real>>(
              iterator, *at::check_generator<Rng>(generator), [=](Real drawn) {
                const auto value = static_cast<scalar_t>(fused(drawn, range, base));
                return value == to ? from : value;
              });
        });
  }
};

template <class Rng>
struct NormalKernel {
  // Takes a tensor of the device or an alias of one.
  void operator()(const at::TensorBase& self, double mean, double deviation,
                  const MaybeGenerator& generator) const {
    Aliases aliases;
    const Tensor alias = aliases.of(Tensor(self));
    if (streams_are_late()) late::wrote(Tensor(self));
    auto iterator = at::TensorIterator::borrowing_nullary_op(alias);
    AT_DISPATCH_FLOATING_TYPES_AND2(
        at::kHalf, at::kBFloat16, iterator.dtype(), "normal_kernel_cuda", [&] {
          using Real = at::acc_type<scalar_t, true>;
          const auto add = static_cast<Real>(mean);
          const auto times = static_cast<Real>(deviation);
          if (times == 1 && add == 0) {  // so that the loop has no multiply-add
            fill<scalar_t, DrawNormal<Real>>(
                iterator, *at::check_generator<Rng>(generator),
                [](Real drawn) { return static_cast<scalar_t>(drawn + Real{0}); });
            return;
          }
          fill<scalar_t, DrawNormal<Real>>(
              iterator, *at::check_generator<Rng>(generator),
              [=](Real drawn) { return static_cast<scalar_t>(fused(drawn, times, add)); });
        });
  }
};

template <class Rng>
struct LogNormalKernel {
  void operator()(TensorIteratorBase& iterator, double mean, double deviation,
                  const MaybeGenerator& generator) const {
    AT_DISPATCH_FLOATING_TYPES_AND2(
        at::kHalf, at::kBFloat16, iterator.dtype(), "log_normal_cuda", [&] {
          using Real = at::acc_type<scalar_t, true>;
          const auto add = static_cast<Real>(mean);
          const auto times = static_cast<Real>(deviation);
          fill<scalar_t, DrawNormal<Real>>(
              iterator, *at::check_generator<Rng>(generator), [=](Real drawn) {
                return static_cast<scalar_t>(fast_exp(fused(drawn, times, add)));
              });
        });
  }
};

template <class Rng>
struct ExponentialKernel {
  void operator()(TensorIteratorBase& iterator, double lambda,
                  const MaybeGenerator& generator) const {
    TORCH_CHECK(at::isFloatingType(iterator.dtype()),
                "Exponential distribution is a continuous probability distribution. dtype must be "
                "a floating point but you specified ",
                iterator.dtype());
    AT_DISPATCH_FLOATING_TYPES_AND2(
        at::kHalf, at::kBFloat16, iterator.dtype(), "exponential_cuda", [&] {
          using Real = at::acc_type<scalar_t, true>;
          constexpr Real kSmallest = std::numeric_limits<Real>::epsilon() / 2;
          const Real factor = static_cast<Real>(-1) / static_cast<Real>(lambda);
          // Never 0: a number near 1 counts as the next one below it.
          fill<scalar_t, DrawUniform<Real>>(
              iterator, *at::check_generator<Rng>(generator), [=](Real drawn) {
                const Real log = drawn >= Real{1} - kSmallest ? -kSmallest : fast_log(drawn);
                return static_cast<scalar_t>(factor * log);
              });
        });
  }
};

template <class Rng>
struct CauchyKernel {
  void operator()(TensorIteratorBase& iterator, double middle, double width,
                  const MaybeGenerator& generator) const {
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, iterator.dtype(), "cauchy_cuda", [&] {
      using Real = at::acc_type<scalar_t, true>;
      const auto add = static_cast<Real>(middle);
      const auto times = static_cast<Real>(width);
      fill<scalar_t, DrawUniform<Real>>(
          iterator, *at::check_generator<Rng>(generator), [=](Real drawn) {
            if constexpr (std::is_same_v<Real, float>) {
              constexpr Real kMargin = std::numeric_limits<Real>::epsilon();
              drawn = std::clamp(drawn, kMargin, 1 - kMargin);
            }
            const Real tangent = fast_tan(c10::pi<Real> * (drawn - Real{0.5}));
            return static_cast<scalar_t>(fused(times, tangent, add));
          });
    });
  }
};

template <class Rng>
struct GeometricKernel {
  void operator()(TensorIteratorBase& iterator, double p, const MaybeGenerator& generator) const {
    AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, iterator.dtype(), "geometric_cuda", [&] {
      using Real = typename at::DiscreteDistributionType<scalar_t>::type;
      const Real miss = fast_log1p(-static_cast<Real>(p));
      fill<scalar_t, DrawUniform<Real>>(
          iterator, *at::check_generator<Rng>(generator),
          [=](Real drawn) { return static_cast<scalar_t>(std::ceil(fast_log(drawn) / miss)); });
    });
  }
};

// --- The operators

Tensor& uniform(Tensor& self, double from, double to, MaybeGenerator generator) {
  return draw_in_place(self, generator, [&](Tensor& alias, const MaybeGenerator& chosen) {
    templates::uniform_impl_<UniformKernel, PhiloxGenerator>(alias, from, to, chosen);
  });
}

Tensor& normal(Tensor& self, double mean, double deviation, MaybeGenerator generator) {
  return draw_in_place(self, generator, [&](Tensor& alias, const MaybeGenerator& chosen) {
    templates::normal_impl_<NormalKernel, PhiloxGenerator>(alias, mean, deviation, chosen);
  });
}

// The operators with tensors of means and deviations. `Mean` and `Deviation` are Tensor or double.
template <class Mean, class Deviation>
Tensor tensor_of(const Mean& mean, const Deviation& deviation) {
  if constexpr (std::is_same_v<Mean, Tensor>) return mean;
  if constexpr (!std::is_same_v<Mean, Tensor>) return deviation;
}
// The check that torchgen generates. `method` is the name of the wrapper.
void check_one_device(const char* method,
                      std::initializer_list<std::pair<const Tensor*, const char*>> tensors) {
  std::optional<c10::Device> common;
  for (const auto& [tensor, name] : tensors)
    c10::impl::check_and_update_common_device(common, *tensor, method, name);
}

template <class Mean, class Deviation>
Tensor normals(const Mean& mean, const Deviation& deviation, const MaybeGenerator& generator) {
  return templates::normal_impl<NormalKernel, PhiloxGenerator>(
      mean, deviation, generator_for(tensor_of<Mean, Deviation>(mean, deviation), generator));
}
template <class Mean, class Deviation>
Tensor& normals_out(const Mean& mean, const Deviation& deviation, const MaybeGenerator& generator,
                    Tensor& out) {
  return templates::normal_out_impl<NormalKernel, PhiloxGenerator>(out, mean, deviation,
                                                                   generator_for(out, generator));
}

Tensor normal_around(const Tensor& mean, double deviation, MaybeGenerator generator) {
  return normals(mean, deviation, generator);
}
Tensor normal_wide(double mean, const Tensor& deviation, MaybeGenerator generator) {
  return normals(mean, deviation, generator);
}
Tensor normal_each(const Tensor& mean, const Tensor& deviation, MaybeGenerator generator) {
  check_one_device("wrapper_CUDA_Tensor_Tensor_normal", {{&mean, "mean"}, {&deviation, "std"}});
  return normals(mean, deviation, generator);
}
Tensor& normal_around_out(const Tensor& mean, double deviation, MaybeGenerator generator,
                          Tensor& out) {
  check_one_device("wrapper_CUDA_Tensor_float_out_normal_out", {{&out, "out"}, {&mean, "mean"}});
  return normals_out(mean, deviation, generator, out);
}
Tensor& normal_wide_out(double mean, const Tensor& deviation, MaybeGenerator generator,
                        Tensor& out) {
  check_one_device("wrapper_CUDA_float_Tensor_out_normal_out",
                   {{&out, "out"}, {&deviation, "std"}});
  return normals_out(mean, deviation, generator, out);
}
Tensor& normal_each_out(const Tensor& mean, const Tensor& deviation, MaybeGenerator generator,
                        Tensor& out) {
  check_one_device("wrapper_CUDA_Tensor_Tensor_out_normal_out",
                   {{&out, "out"}, {&mean, "mean"}, {&deviation, "std"}});
  return normals_out(mean, deviation, generator, out);
}

Tensor& log_normal(Tensor& self, double mean, double deviation, MaybeGenerator generator) {
  return draw_in_place(self, generator, [&](Tensor& alias, const MaybeGenerator& chosen) {
    templates::log_normal_impl_<LogNormalKernel, PhiloxGenerator>(alias, mean, deviation, chosen);
  });
}

Tensor& exponential(Tensor& self, double lambda, MaybeGenerator generator) {
  return draw_in_place(self, generator, [&](Tensor& alias, const MaybeGenerator& chosen) {
    templates::exponential_impl_<ExponentialKernel, PhiloxGenerator>(alias, lambda, chosen);
  });
}

Tensor& cauchy(Tensor& self, double middle, double width, MaybeGenerator generator) {
  return draw_in_place(self, generator, [&](Tensor& alias, const MaybeGenerator& chosen) {
    templates::cauchy_impl_<CauchyKernel, PhiloxGenerator>(alias, middle, width, chosen);
  });
}

Tensor& geometric(Tensor& self, double p, MaybeGenerator generator) {
  return draw_in_place(self, generator, [&](Tensor& alias, const MaybeGenerator& chosen) {
    templates::geometric_impl_<GeometricKernel, PhiloxGenerator>(alias, p, chosen);
  });
}

void put_distributions(torch::Library& aten) {
  if (!draws_as_device()) return;
  aten.impl("uniform_", TORCH_FN(uniform));
  aten.impl("normal_", TORCH_FN(normal));
  aten.impl("normal.Tensor_float", TORCH_FN(normal_around));
  aten.impl("normal.float_Tensor", TORCH_FN(normal_wide));
  aten.impl("normal.Tensor_Tensor", TORCH_FN(normal_each));
  aten.impl("normal.Tensor_float_out", TORCH_FN(normal_around_out));
  aten.impl("normal.float_Tensor_out", TORCH_FN(normal_wide_out));
  aten.impl("normal.Tensor_Tensor_out", TORCH_FN(normal_each_out));
  aten.impl("log_normal_", TORCH_FN(log_normal));
  aten.impl("exponential_", TORCH_FN(exponential));
  aten.impl("cauchy_", TORCH_FN(cauchy));
  aten.impl("geometric_", TORCH_FN(geometric));
}

const OperatorGroup kDistributions(&put_distributions);

// NOLINTEND(readability-function-size, performance-unnecessary-value-param)

}  // namespace

}  // namespace torchport::vdev
