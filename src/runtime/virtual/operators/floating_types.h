// Calls code for the type of a tensor, without the nesting of AT_DISPATCH.
#pragma once

#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>
#include <c10/util/complex.h>

namespace torchport::vdev {

// Calls `compute` with a zero of the type: float32, float64, complex64 or complex128. Raises
// c10::NotImplementedError for other types, in the words of the kernel of this name.
template <class Compute>
void for_floating_or_complex(at::ScalarType type, const char* kernel, const Compute& compute) {
  switch (type) {
    case at::ScalarType::Float:
      return compute(float{});
    case at::ScalarType::Double:
      return compute(double{});
    case at::ScalarType::ComplexFloat:
      return compute(c10::complex<float>{});
    case at::ScalarType::ComplexDouble:
      return compute(c10::complex<double>{});
    default:
      TORCH_CHECK_NOT_IMPLEMENTED(false, '"', kernel, "\" not implemented for '",
                                  c10::toString(type), "'");
  }
}

}  // namespace torchport::vdev
