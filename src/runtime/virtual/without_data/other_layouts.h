// Tensors that are not one strided piece of memory, where values are not there: sparse and
// quantized ones. A sparse tensor has as many elements as it can have.
#pragma once

#include <cstddef>
#include <initializer_list>

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

namespace torchport::vdev {

// A tensor of the device with zeros, if it is small enough to have any. It is made up.
[[nodiscard]] at::Tensor made_up_zeros(at::IntArrayRef sizes, const at::Tensor& like,
                                       at::ScalarType type);

// Puts results in the place of a call's arguments, which begin at `first`. True.
bool leave_results(torch::jit::Stack* stack, std::size_t first,
                   std::initializer_list<c10::IValue> results);

// What ValueRule::instead takes: each of these is for the operators that it is named after.
bool to_compressed(torch::jit::Stack* stack, std::size_t first, at::Layout layout);
bool quantize_per_tensor(torch::jit::Stack* stack, std::size_t first);
bool quantize_per_channel(torch::jit::Stack* stack, std::size_t first);
bool fake_quantize(torch::jit::Stack* stack, std::size_t first);
bool weight_int4pack_mm(torch::jit::Stack* stack, std::size_t first);

// Lays kernels over those of sparse and quantized tensors of the devices. Not thread safe.
void cover_other_layouts();

}  // namespace torchport::vdev
