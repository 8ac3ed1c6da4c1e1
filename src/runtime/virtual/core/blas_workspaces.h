// The workspaces of cuBLAS and cuBLASLt: memory of the device that stays allocated from a thread's
// first product in a stream on, so that programs have it in their accounts.
//
// The rules are those of aten/src/ATen/cuda/CublasHandlePool.cpp: a workspace for each handle and
// stream, a handle for each thread; backward passes of a real device run in a thread of their own.
#pragma once

#include <cstdint>

#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

namespace torchport::vdev {

enum class BlasUse : std::uint8_t {
  kNone,
  kCublas,
  kCublasLt,
  kCublasOfOne,     // the operator has one argument
  kCublasForBatch,  // cuBLAS for more than one matrix, cuSOLVER for one
  kLtForBias,       // cuBLASLt if the arguments allow it, else cuBLAS
};

// What the kernels of an operator call, by its name.
[[nodiscard]] BlasUse blas_use_of(const std::string& name);

// What this call of an operator of the given use takes: kNone, kCublas or kCublasLt.
[[nodiscard]] BlasUse blas_use(BlasUse use, const c10::IValue* arguments);

// Takes the workspaces that a call on `device` needs, in the calling thread's current stream there,
// unless they are there. Raises c10::OutOfMemoryError. Thread safe.
void take_blas_workspaces(BlasUse use, c10::DeviceIndex device);

}  // namespace torchport::vdev
