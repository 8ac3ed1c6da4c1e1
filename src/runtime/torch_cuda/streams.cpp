// c10/cuda/CUDAStream.h: c10's streams of virtual devices, and the handles that CUDA's runtime
// knows them by.
#include <map>
#include <mutex>
#include <ostream>
#include <utility>

#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>

#include "runtime/torch_cuda/devices.h"
#include "runtime/torch_cuda/torch_releases.h"

namespace c10::cuda {

namespace {

Device device_of(DeviceIndex index) {
  return {DeviceType::CUDA, index < 0 ? current_device() : index};
}

// The handle of each stream but the default ones, made when it is first asked for; and the streams
// of handles that a program made.
struct Handles {
  std::mutex mutex;
  std::map<std::pair<DeviceIndex, StreamId>, cudaStream_t> of_stream;
};
Handles& handles() {
  static auto* all = new Handles;  // lives as long as the process
  return *all;
}

}  // namespace

cudaStream_t CUDAStream::stream() const {
  const StreamId id = stream_.id();
  if (id == 0) return nullptr;
  Handles& all = handles();
  const std::scoped_lock lock(all.mutex);
  cudaStream_t& handle = all.of_stream[{stream_.device_index(), id}];
  if (handle == nullptr) C10_CUDA_CHECK(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking));
  return handle;
}

#if TORCHPORT_DEFINES_STREAM_WAITS  // else they are in the header
bool CUDAStream::query() const {
  const cudaError_t error = cudaStreamQuery(stream());
  if (error == cudaErrorNotReady) {
    (void)cudaGetLastError();
    return false;
  }
  C10_CUDA_CHECK(error);
  return true;
}

void CUDAStream::synchronize() const {
  C10_CUDA_CHECK(cudaStreamSynchronize(stream()));
}
#endif

CUDAStream getStreamFromPool(const bool isHighPriority, DeviceIndex device) {
  return CUDAStream(virtual_devices().getStreamFromGlobalPool(device_of(device), isHighPriority));
}

CUDAStream getStreamFromPool(const int priority, DeviceIndex device) {
  return getStreamFromPool(priority < 0, device);
}

CUDAStream getStreamFromExternal(cudaStream_t ext_stream, DeviceIndex device_index) {
  Handles& all = handles();
  {
    const std::scoped_lock lock(all.mutex);
    for (const auto& [stream, handle] : all.of_stream)
      if (handle == ext_stream && stream.first == device_index)
        return CUDAStream(
            Stream(Stream::UNSAFE, Device(DeviceType::CUDA, device_index), stream.second));
  }
  if (ext_stream == nullptr) return getDefaultCUDAStream(device_index);
  const CUDAStream made = getStreamFromPool(false, device_index);
  const std::scoped_lock lock(all.mutex);
  all.of_stream[{device_index, made.id()}] = ext_stream;
  return made;
}

CUDAStream getDefaultCUDAStream(DeviceIndex device_index) {
  return CUDAStream(Stream(Stream::DEFAULT, device_of(device_index)));
}

CUDAStream getCurrentCUDAStream(DeviceIndex device_index) {
  return CUDAStream(virtual_devices().getStream(device_of(device_index)));
}

void setCurrentCUDAStream(CUDAStream stream) {
  virtual_devices().exchangeStream(stream.unwrap());
}

std::ostream& operator<<(std::ostream& stream, const CUDAStream& s) {
  return stream << s.unwrap();
}

}  // namespace c10::cuda
