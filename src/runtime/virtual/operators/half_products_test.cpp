#include "runtime/virtual/operators/half_products.h"

#include <doctest/doctest.h>

namespace torchport::vdev {

namespace {

using at::ScalarType;

constexpr TypeSet kHalf = type_set(ScalarType::Half);
constexpr TypeSet kBoth = type_set(ScalarType::Half, ScalarType::BFloat16);

TypeSet slow(const char* name, const HalfInstructions& cpu) {
  return slow_half_types({name, ""}, cpu);
}

}  // namespace

TEST_CASE("a CPU without instructions for half types computes products in float32") {
  const HalfInstructions none;
  for (const char* name : {"aten::mm", "aten::addmm_", "aten::bmm", "aten::baddbmm", "aten::mv",
                           "aten::_convolution", "aten::convolution_backward"}) {
    CAPTURE(name);
    CHECK(slow(name, none) == kBoth);
  }
  CHECK(slow("aten::add", none) == 0);
  CHECK(slow("aten::mm_", none) == kBoth);
  CHECK(slow("other::mm", none) == 0);
}

TEST_CASE("a CPU with instructions computes in the type itself where that is faster") {
  HalfInstructions cpu{.bfloat16_products = true};
  CHECK(slow("aten::mm", cpu) == kHalf);
  CHECK(slow("aten::_convolution", cpu) == kHalf);
  cpu.float16_products = true;
  CHECK(slow("aten::mm", cpu) == 0);
  CHECK(slow("aten::_convolution", cpu) == 0);
  CHECK(slow("aten::convolution_backward", cpu) == kHalf);
  CHECK(slow("aten::grid_sampler_2d", cpu) == kBoth);
}

}  // namespace torchport::vdev
