// Implements random_, and with it randint, as CUDA's kernels do
// (aten/src/ATen/native/cuda/DistributionTemplates.h). What becomes of a drawn word is ATen's own
// code, which is the same for all devices (ATen/core/TransformationHelper.h).
#include "runtime/virtual/operators/random_integers.h"

#include <cstdint>
#include <optional>
#include <type_traits>

#include <ATen/Dispatch.h>
#include <ATen/Dispatch_v2.h>
#include <ATen/core/DistributionsHelper.h>
#include <ATen/native/DistributionTemplates.h>
#include <torch/library.h>

#include "runtime/virtual/core/generator.h"
#include "runtime/virtual/operators/operator_groups.h"
#include "runtime/virtual/operators/random_fill.h"

namespace torchport::vdev {

// NOLINTBEGIN(readability-function-size, performance-unnecessary-value-param): ATen's macros of
// types are long, and its operators take generators by value.

namespace {

using at::Tensor;
using at::TensorIteratorBase;
using MaybeGenerator = std::optional<at::Generator>;
namespace templates = at::native::templates;

// An engine that only says which words were asked for.
struct AskedFor {
  bool long_words = false;
  std::uint32_t random() { return 0; }
  std::uint64_t random64() {
    long_words = true;
    return 0;
  }
};

// Whether numbers of a range come from words of 64 bits: from 2^28 on, and in older releases of
// torch from 2^32 on for some types. ATen's distribution for the CPU has the same rule.
template <class T>
bool needs_long_words(std::uint64_t range) {
  AskedFor engine;
  at::uniform_int_from_to_distribution<T> distribution(range, 0);
  static_cast<void>(distribution(&engine));
  return engine.long_words;
}

template <class Rng>
struct FromToKernel {
  void operator()(TensorIteratorBase& iterator, std::uint64_t range, std::int64_t base,
                  const MaybeGenerator& generator) const {
    Rng& rng = *at::check_generator<Rng>(generator);
    AT_DISPATCH_V2(iterator.dtype(), "random_from_to_kernel_cuda", AT_WRAP([&] {
                     const auto transform = [=](auto drawn) {
                       return at::transformation::uniform_int_from_to<scalar_t>(drawn, range, base);
                     };
                     if (needs_long_words<scalar_t>(range))
                       fill<scalar_t, DrawLongWords>(iterator, rng, transform);
                     else
                       fill<scalar_t, DrawWords>(iterator, rng, transform);
                   }),
                   AT_EXPAND(AT_ALL_TYPES), at::kBool, at::kHalf, at::kBFloat16,
                   AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES));
  }

  // From the lowest number of 64 bits to the highest.
  void operator()(TensorIteratorBase& iterator, const MaybeGenerator& generator) const {
    Rng& rng = *at::check_generator<Rng>(generator);
    AT_DISPATCH_ALL_TYPES_AND(
        at::kBFloat16, iterator.dtype(), "random_full_64_bits_range_kernel_cuda", [&] {
          constexpr bool kIsWide =
              std::is_same_v<scalar_t, std::int64_t> || std::is_same_v<scalar_t, double> ||
              std::is_same_v<scalar_t, float> || std::is_same_v<scalar_t, at::BFloat16>;
          TORCH_CHECK(kIsWide,
                      "random_full_64_bits_range_kernel_cuda handles only int64, double, float and "
                      "bfloat16");
          if constexpr (kIsWide) {
            fill<scalar_t, DrawLongWords>(iterator, rng, [](std::uint64_t drawn) {
              return at::transformation::uniform_int_full_range<scalar_t>(drawn);
            });
          }
        });
  }
};

// From 0 to the highest number of the type, or the highest up to which a floating one has all.
template <class Rng>
struct AnyKernel {
  void operator()(TensorIteratorBase& iterator, const MaybeGenerator& generator) const {
    Rng& rng = *at::check_generator<Rng>(generator);
    AT_DISPATCH_ALL_TYPES_AND3(
        at::kHalf, at::kBFloat16, at::kBool, iterator.dtype(), "random_kernel_cuda", [&] {
          const auto transform = [](auto drawn) {
            return at::transformation::uniform_int<scalar_t>(drawn);
          };
          if constexpr (std::is_same_v<scalar_t, double> || std::is_same_v<scalar_t, std::int64_t>)
            fill<scalar_t, DrawLongWords>(iterator, rng, transform);
          else
            fill<scalar_t, DrawWords>(iterator, rng, transform);
        });
  }
};

Tensor& random_any(Tensor& self, MaybeGenerator generator) {
  return draw_in_place(self, generator, [&](Tensor& alias, const MaybeGenerator& chosen) {
    templates::random_impl<AnyKernel, PhiloxGenerator>(alias, chosen);
  });
}

Tensor& random_from(Tensor& self, std::int64_t from, std::optional<std::int64_t> to,
                    MaybeGenerator generator) {
  return draw_in_place(self, generator, [&](Tensor& alias, const MaybeGenerator& chosen) {
    draw_integers(alias, from, to, chosen);
  });
}

Tensor& random_to(Tensor& self, std::int64_t to, MaybeGenerator generator) {
  return random_from(self, 0, to, std::move(generator));
}

void put_integers(torch::Library& aten) {
  if (!draws_as_device()) return;
  aten.impl("random_", TORCH_FN(random_any));
  aten.impl("random_.from", TORCH_FN(random_from));
  aten.impl("random_.to", TORCH_FN(random_to));
}

const OperatorGroup kIntegers(&put_integers);

}  // namespace

void draw_integers(Tensor& host, std::int64_t from, std::optional<std::int64_t> to,
                   const MaybeGenerator& generator) {
  templates::random_from_to_impl<FromToKernel, PhiloxGenerator>(host, from, to, generator);
}

// NOLINTEND(readability-function-size, performance-unnecessary-value-param)

}  // namespace torchport::vdev
