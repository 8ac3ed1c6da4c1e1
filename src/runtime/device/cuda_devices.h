// The devices of PyTorch, when its virtual devices (libtorchport_virtual.so) are in the process:
// then both have one current device, one account of memory and one state of errors.
//
// Who loads both (python/torchport/virtual/kernels) gives torchport_virtual_devices() of
// libtorchport_virtual.so to torchport_cuda_use_devices() of libtorchport_cuda.so. Without that
// call CUDA's runtime keeps devices itself. All functions are thread safe; none may throw.
#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;

namespace torchport::cuda {

// The bytes of a storage.
struct TensorBytes {
  const char* begin = nullptr;
  std::size_t count = 0;
  bool freed = false;
};

// A storage of a device without data.
struct StoragePlace {
  const char* begin = nullptr;
  std::size_t bytes = 0;
  int device = 0;
  bool has_memory = true;     // else its addresses read as zeros
  bool lacks_values = false;  // it has none, or they stand for some that are not there
};

enum class CopyWay : unsigned char { kFromHost, kToHost, kOnDevice };

// Devices whose large blocks have no values (virtual/without_data). A launch that is given such
// memory is not run, and its other memory counts as without values from then on.
struct WithoutData {
  // Blocks of more bytes have no values.
  std::size_t kept = 0;
  // The storage that contains an address; false if there is none.
  bool (*find)(const void* address, StoragePlace* found) = nullptr;
  // The values of the storage that contains an address count as not there from now on.
  void (*make_up)(const void* address) = nullptr;
  // A kernel ran, or was not run for want of values; it was given so many bytes.
  void (*launched)(int device, const char* kernel, std::size_t bytes, bool ran) = nullptr;
  // So many bytes were copied, whether they have values or not.
  void (*copied)(int device, std::size_t bytes, CopyWay way, bool host_waits) = nullptr;
  // The host read values that are not there, by a call of this name.
  void (*read)(const char* call) = nullptr;
};

struct Devices {
  // Of this struct; later versions add fields at its end.
  std::uint32_t version = 3;
  int (*count)() = nullptr;
  int (*current)() = nullptr;
  void (*set_current)(int device) = nullptr;
  // Memory beside the allocator's, as cudaMalloc takes it. `take` returns a number for `give`, or 0
  // if the device is full.
  std::uint64_t (*take)(int device, std::size_t bytes) = nullptr;
  void (*give)(int device, std::uint64_t taken) = nullptr;
  void (*memory)(int device, std::size_t* left, std::size_t* total) = nullptr;
  // The device of a tensor whose bytes contain the address; -1 if there is none. May be null.
  int (*device_of)(const void* address) = nullptr;
  // A kernel ended with an error, a cudaError_t, which has been printed. Tensors of the device are
  // lost after the next call that waits.
  void (*failed)(int device, int error, const char* kernel) = nullptr;
  // Since version 2. For the checker of kernels: the storage of a device, or pinned memory, that
  // contains an address; false if there is none.
  bool (*find_bytes)(const void* address, TensorBytes* found) = nullptr;
  // The storage that contains an address, or did before it was freed, or ends near before it, with
  // words for it: "tensor float32[3, 4]". `text` has `room` bytes.
  bool (*describe_bytes)(const void* address, TensorBytes* found, char* text,
                         std::size_t room) = nullptr;
  // Whether the work that this thread starts now becomes a part of a graph of PyTorch's.
  bool (*captures)() = nullptr;
  // Since version 3. Null if the devices have data.
  const WithoutData* without_data = nullptr;
};

// Null if PyTorch's devices are not in the process.
const Devices* devices_outside();

}  // namespace torchport::cuda

// Of libtorchport_virtual.so; null if its devices are not CUDA's.
extern "C" __attribute__((visibility("default"))) const torchport::cuda::Devices*
torchport_virtual_devices();
// `devices` is kept, and must live as long as the process.
extern "C" __attribute__((visibility("default"))) void torchport_cuda_use_devices(
    const torchport::cuda::Devices* devices);
// The stream of CUDA's runtime for a stream of PyTorch by its id; null for 0, the default stream.
extern "C" __attribute__((visibility("default"))) CUstream_st* torchport_cuda_stream_of(
    int device, std::int64_t id, int priority);
