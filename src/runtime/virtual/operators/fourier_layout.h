// The layout of Fourier transforms on CUDA. A plan of cuFFT transforms up to three dimensions at
// once and puts those behind all others; the result is a permuted view of what it wrote.
#pragma once

#include <ATen/core/ivalue.h>

namespace torchport::vdev {

// Rules (result_rules.h) for the operators _fft_r2c, _fft_c2r and _fft_c2c.
void lay_out_transform_of_real(const c10::IValue* arguments, c10::IValue* results);
void lay_out_transform_to_real(const c10::IValue* arguments, c10::IValue* results);
void lay_out_complex_transform(const c10::IValue* arguments, c10::IValue* results);

}  // namespace torchport::vdev
