// What of torch differs between releases, for virtual devices (since.h has the form). A method that
// an older release does not ask for is a plain one there: TORCHPORT_OVERRIDES_... is `override` or
// nothing.
#pragma once

#include <cstdint>
#include <string_view>

#include <ATen/core/TensorBase.h>
#include <ATen/core/enum_tag.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "runtime/torch_releases/since.h"

// since 2.10: c10/core/CachingDeviceAllocator.h has `getMemoryInfo(`
#define TORCHPORT_HAS_ALLOCATORS_MEMORY_INFO TORCHPORT_TORCH_SINCE(2, 10)
#if TORCHPORT_HAS_ALLOCATORS_MEMORY_INFO
#define TORCHPORT_OVERRIDES_MEMORY_INFO override
#else
#define TORCHPORT_OVERRIDES_MEMORY_INFO
#endif

// since 2.10: ATen/detail/CUDAHooksInterface.h has `supportsBFloat16RNNWithCuDNN()`
#define TORCHPORT_HAS_BFLOAT16_RNN TORCHPORT_TORCH_SINCE(2, 10)
#if TORCHPORT_HAS_BFLOAT16_RNN
#define TORCHPORT_OVERRIDES_BFLOAT16_RNN override
#else
#define TORCHPORT_OVERRIDES_BFLOAT16_RNN
#endif

// since 2.12: c10/core/impl/DeviceGuardImplInterface.h has `isStreamCapturing(`
#define TORCHPORT_HAS_STREAM_CAPTURING TORCHPORT_TORCH_SINCE(2, 12)
#if TORCHPORT_HAS_STREAM_CAPTURING
#define TORCHPORT_OVERRIDES_STREAM_CAPTURING override
#else
#define TORCHPORT_OVERRIDES_STREAM_CAPTURING
#endif

// since 2.13: ATen/detail/MPSHooksInterface.h has `getMaxBufferLength()`
#define TORCHPORT_HAS_BUFFER_LENGTH TORCHPORT_TORCH_SINCE(2, 13)
#if TORCHPORT_HAS_BUFFER_LENGTH
#define TORCHPORT_OVERRIDES_BUFFER_LENGTH override
#else
#define TORCHPORT_OVERRIDES_BUFFER_LENGTH
#endif

// How allowTF32CuDNN() is asked about convolutions.
// since 2.10: ATen/Context.h has `allowTF32CuDNN(std::optional<Float32Op> op`
// before 2.10: ATen/Context.h has `allowTF32CuDNN(const std::string& op`
#define TORCHPORT_HAS_FLOAT32_OP TORCHPORT_TORCH_SINCE(2, 10)
#if TORCHPORT_HAS_FLOAT32_OP
#define TORCHPORT_TF32_OF_CONVOLUTIONS at::Float32Op::CONV
#else
#define TORCHPORT_TF32_OF_CONVOLUTIONS "conv"
#endif

// The settings of CUDA's allocator are those of c10/core/AllocatorConfig.h.
// since 2.10: c10/cuda/CUDAAllocatorConfig.h has `AcceleratorAllocatorConfig`
#define TORCHPORT_HAS_ALLOCATOR_SETTINGS TORCHPORT_TORCH_SINCE(2, 10)

namespace torchport::vdev {

// since 2.10: c10/core/impl/DeviceGuardImplInterface.h has `getDeviceCapability(`
#define TORCHPORT_HAS_DEVICE_CAPABILITY TORCHPORT_TORCH_SINCE(2, 10)
#if TORCHPORT_HAS_DEVICE_CAPABILITY
#define TORCHPORT_OVERRIDES_DEVICE_CAPABILITY override
using c10::DeviceCapability;
#else
#define TORCHPORT_OVERRIDES_DEVICE_CAPABILITY
struct DeviceCapability {
  struct {
    std::uint64_t capability_bits = ~std::uint64_t{0};
  } capability_data;
};
#endif

// since 2.10: ATen/core/enum_tag.h has `reduction`
#define TORCHPORT_HAS_REDUCTION_TAG TORCHPORT_TORCH_SINCE(2, 10)

// Whether an operator (c10::OperatorHandle) is one of those that torch tags as reductions.
template <class Operator>
bool is_reduction(const Operator& op) {
#if TORCHPORT_HAS_REDUCTION_TAG
  return op.hasTag(at::Tag::reduction);
#else
  // Those that native_functions.yaml of torch 2.10 tags.
  constexpr std::string_view kReductions[] = {"all",       "amax",          "amin",
                                              "aminmax",   "any",           "argmax",
                                              "argmin",    "count_nonzero", "linalg_vector_norm",
                                              "logsumexp", "max",           "mean",
                                              "min",       "nansum",        "norm",
                                              "prod",      "std",           "std_mean",
                                              "sum",       "var",           "var_mean"};
  const std::string_view name = op.operator_name().name;
  const std::string_view overload = op.operator_name().overload_name;
  const bool takes_two = name.ends_with("::max") || name.ends_with("::min");
  if (takes_two && (overload == "other" || overload == "out")) return false;
  for (const std::string_view reduction : kReductions) {
    if (name.starts_with("aten::") && name.substr(6) == reduction) return true;
  }
  return false;
#endif
}

// Whether cuDNN computes recurrent layers in bfloat16, by the hooks of CUDA
// (at::CUDAHooksInterface).
template <class Hooks>
bool supports_bfloat16_rnn([[maybe_unused]] const Hooks& hooks) {
#if TORCHPORT_HAS_BFLOAT16_RNN
  return hooks.supportsBFloat16RNNWithCuDNN();
#else
  return true;
#endif
}

// The fields of at::HostStats by what they count.
// since 2.10: ATen/core/CachingHostAllocator.h has `Stat allocations;`
// before 2.10: ATen/core/CachingHostAllocator.h has `Stat segment;`
#define TORCHPORT_COUNTS_HOST_REQUESTS TORCHPORT_TORCH_SINCE(2, 10)
#if TORCHPORT_COUNTS_HOST_REQUESTS
auto& host_blocks(auto& stats) {
  return stats.allocations;
}
auto& host_bytes(auto& stats) {
  return stats.allocated_bytes;
}
auto& active_host_blocks(auto& stats) {
  return stats.active_requests;
}
auto& active_host_bytes(auto& stats) {
  return stats.active_bytes;
}
#else
auto& host_blocks(auto& stats) {
  return stats.segment;
}
auto& host_bytes(auto& stats) {
  return stats.reserved_bytes;
}
auto& active_host_blocks(auto& stats) {
  return stats.allocation;
}
auto& active_host_bytes(auto& stats) {
  return stats.allocated_bytes;
}
#endif

// since 2.11: c10/core/AllocatorConfig.h has `getConfigParserHook()`
#define TORCHPORT_HAS_PARSER_HOOK TORCHPORT_TORCH_SINCE(2, 11)

// Whether a device has registered how it parses its own keys among the settings of the allocator,
// by torch's class of them (AcceleratorAllocatorConfig).
template <class Settings>
bool device_parses_its_settings() {
#if TORCHPORT_HAS_PARSER_HOOK
  return static_cast<bool>(Settings::getConfigParserHook());
#else
  return Settings::getKeys().contains("backend");  // a key that only a device has
#endif
}

// since 2.13: c10/core/StorageImpl.h has `void materialize_cow(StorageImpl* storage)`
#define TORCHPORT_HAS_MATERIALIZER TORCHPORT_TORCH_SINCE(2, 13)

// Lets the first write give a storage (c10::StorageImpl) memory of its own. Older releases see by
// the deleter that it is shared.
template <class Storage>
void materialize_at_write([[maybe_unused]] Storage& storage) {
#if TORCHPORT_HAS_MATERIALIZER
  storage.set_materializer(&c10::impl::cow::materialize_cow);
#endif
}

// before 2.13: ATen/core/TensorBase.h has `bool has_names() const`
#define TORCHPORT_HAS_DIMENSION_NAMES !TORCHPORT_TORCH_SINCE(2, 13)

// Whether dimensions of a tensor have names, which copy_ checks and passes on.
inline bool is_named([[maybe_unused]] const at::TensorBase& tensor) {
#if TORCHPORT_HAS_DIMENSION_NAMES
  return tensor.has_names();
#else
  return false;
#endif
}

// What builds with CUDA do, as far as no header says it.

// since 2.10, in no header: the scaled product of rows gives fp16, too
constexpr bool kRowsGiveHalf = TORCHPORT_TORCH_SINCE(2, 10);

// since 2.14, in no header: the scaled product of rows gives fp32, too
constexpr bool kRowsGiveFloat = TORCHPORT_TORCH_SINCE(2, 14);

// since 2.11, in no header: a capture may ask for the seed, and set the one there is (so says what
// libtorch_cuda.so raises)
constexpr bool kCapturesTakeTheSeed = TORCHPORT_TORCH_SINCE(2, 11);

// since 2.11, in no header: a captured graph copies from and to host memory only if it is pinned
// (copy_kernel_cuda in aten/src/ATen/native/cuda/Copy.cu)
constexpr bool kCapturesCopyPinnedOnly = TORCHPORT_TORCH_SINCE(2, 11);

// since 2.12, in no header: cuBLASLt shares the workspace of cuBLAS unless a variable says
// otherwise (pytorch/pytorch#168175)
constexpr bool kUnifiedWorkspacesByDefault = TORCHPORT_TORCH_SINCE(2, 12);

// The size of workspaces is read from the environment once, since there are functions that set it;
// before, for each product.
// since 2.13: ATen/cuda/CUDAContextLight.h has `setChosenWorkspaceSize(`
constexpr bool kWorkspaceSizeIsReadOnce = TORCHPORT_TORCH_SINCE(2, 13);

}  // namespace torchport::vdev
