// Tensors of the host whose values stand for some that are not there: copies of a device's tensors,
// and what the host computes from them. A program that decides by them takes another way on a
// device.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

namespace torchport::vdev {

// Whether a tensor of the host is one. Thread safe.
[[nodiscard]] bool is_absent_on_host(const at::Tensor& tensor);
// Says so of the memory of a tensor of the host, for as long as it lives. Thread safe.
void mark_absent_on_host(const at::Tensor& tensor);

// Lets the host's kernel of an operator mark its results, and count what it reads. Not thread safe.
void cover_host_kernel(const c10::OperatorHandle& op);

}  // namespace torchport::vdev
