// What of torch's headers for CUDA differs between releases (since.h has the form). What a release
// lacks has a stand-in here, so that functions that only later releases call are written once.
#pragma once

#include <c10/cuda/CUDACachingAllocator.h>

#include "runtime/torch_releases/since.h"

// since 2.11: c10/cuda/CUDAStream.h has `bool query() const;`
// before 2.11: c10/cuda/CUDAStream.h has `bool query() const {`
#define TORCHPORT_DEFINES_STREAM_WAITS TORCHPORT_TORCH_SINCE(2, 11)

// since 2.12: ATen/cuda/CUDAContextLight.h has `getCurrentCUDABlasHandle(bool`
#define TORCHPORT_HAS_BLAS_SETUP TORCHPORT_TORCH_SINCE(2, 12)
#if TORCHPORT_HAS_BLAS_SETUP
#define TORCHPORT_BLAS_SETUP bool /*setup*/
#else
#define TORCHPORT_BLAS_SETUP
#endif

// since 2.11: c10/cuda/CUDACachingAllocator.h has `bool include_traces`
#define TORCHPORT_HAS_SNAPSHOT_TRACES TORCHPORT_TORCH_SINCE(2, 11)
#if TORCHPORT_HAS_SNAPSHOT_TRACES
#define TORCHPORT_SNAPSHOT_TRACES , bool /*include_traces*/
#else
#define TORCHPORT_SNAPSHOT_TRACES
#endif

// since 2.11: c10/cuda/CUDACachingAllocator.h has `skip_actions`
#define TORCHPORT_HAS_SKIPPED_ACTIONS TORCHPORT_TORCH_SINCE(2, 11)
#if TORCHPORT_HAS_SKIPPED_ACTIONS
#define TORCHPORT_SKIPPED_ACTIONS , const std::vector<std::string>& /*skip_actions*/
#else
#define TORCHPORT_SKIPPED_ACTIONS
#endif

namespace c10::cuda::CUDACachingAllocator {

// since 2.10: c10/cuda/CUDACachingAllocator.h has `struct StreamSegmentSize`
#define TORCHPORT_HAS_SEGMENT_SIZES TORCHPORT_TORCH_SINCE(2, 10)
#if TORCHPORT_HAS_SEGMENT_SIZES
#define TORCHPORT_OVERRIDES_SEGMENT_SIZES override
#else
#define TORCHPORT_OVERRIDES_SEGMENT_SIZES
struct StreamSegmentSize {};
#endif

// since 2.12: c10/cuda/CUDACachingAllocator.h has `attachOomRejectionObserver(`
#define TORCHPORT_HAS_OOM_REJECTION TORCHPORT_TORCH_SINCE(2, 12)
#if TORCHPORT_HAS_OOM_REJECTION
#define TORCHPORT_OVERRIDES_OOM_REJECTION override
#else
#define TORCHPORT_OVERRIDES_OOM_REJECTION
using OomRejectionObserver = OutOfMemoryObserver;
#endif

}  // namespace c10::cuda::CUDACachingAllocator
