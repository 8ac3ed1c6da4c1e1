#include "cuda/runtime/copies.h"

#include <cstring>

#include "cuda/runtime/memory.h"
#include "cuda/runtime/printing.h"
#include "cuda/runtime/state.h"
#include "cuda/runtime/streams.h"
#include "cuda/runtime/without_values.h"
#include "runtime/device/cuda_devices.h"

using namespace torchport::cuda;

namespace torchport::cuda {

namespace {

// Whether the runtime knows an address; `room`: how many bytes are behind it.
bool is_known(const void* data, std::size_t& room) {
  room = static_cast<std::size_t>(-1);
  if (const auto range = range_of(data)) {
    room = range->bytes - static_cast<std::size_t>(static_cast<const char*>(data) - range->begin);
    return true;
  }
  const Devices* outside = devices_outside();
  if (outside == nullptr) return false;
  return outside->device_of == nullptr || outside->device_of(data) >= 0;
}

int check_pointer(const void* data, std::size_t bytes, bool on_device) {
  if (data == nullptr) return cudaErrorInvalidValue;
  std::size_t room = 0;
  const bool known = is_known(data, room);
  if (on_device && !known) return cudaErrorInvalidValue;
  return known && bytes > room ? cudaErrorInvalidValue : 0;
}

std::size_t bytes_of(std::size_t pitch, std::size_t slice, const Box& box) {
  return (box.depth - 1) * slice + (box.height - 1) * pitch + box.width;
}

void copy_rows(const Box& box) {
  for (std::size_t z = 0; z < box.depth; ++z)
    for (std::size_t y = 0; y < box.height; ++y)
      std::memmove(box.to + z * box.to_slice + y * box.to_pitch,
                   box.from + z * box.from_slice + y * box.from_pitch, box.width);
}

// The error of a call that waits; it uses the default stream.
int begin_waiting(bool waits) {
  if (!waits) return 0;
  return implicit_in_capture();
}

bool is_within_device(const void* to, const void* from) {
  return is_device_memory(to) && is_device_memory(from);
}

}  // namespace

int check_copy(const void* to, const void* from, std::size_t bytes, int kind) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
    return cudaErrorInvalidMemcpyDirection;
  if (bytes == 0) return 0;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (const int error = check_pointer(to, bytes, to_device)) return error;
  return check_pointer(from, bytes, from_device);
}

int check_set(const void* to, std::size_t bytes) {
  return bytes == 0 ? 0 : check_pointer(to, bytes, true);
}

int copy_box(const Box& box, int kind, cudaStream_t stream, bool waits) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault)
    return cudaErrorInvalidMemcpyDirection;
  if (const int error = begin_waiting(waits)) return error;
  if (const int error =
          waits && !is_within_device(box.to, box.from) ? wait_for_device() : use_device())
    return error;
  if (box.width == 0 || box.height == 0 || box.depth == 0) return 0;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (const int error = check_pointer(box.to, bytes_of(box.to_pitch, box.to_slice, box), to_device))
    return error;
  if (const int error =
          check_pointer(box.from, bytes_of(box.from_pitch, box.from_slice, box), from_device))
    return error;
  return submit(stream, {cudaGraphNodeTypeMemcpy, [box, waits] {
                           if (is_to_be_copied(box, waits)) copy_rows(box);
                           return 0;
                         }});
}

int set_rows(void* to, std::size_t pitch, unsigned value, unsigned element, std::size_t width,
             std::size_t rows, cudaStream_t stream, bool waits) {
  if (const int error = begin_waiting(waits)) return error;
  if (const int error = use_device()) return error;
  if (width == 0 || rows == 0) return 0;
  const std::size_t bytes = width * element;
  if (const int error = check_set(to, (rows - 1) * pitch + bytes)) return error;
  return submit(stream, {cudaGraphNodeTypeMemset, [=] {
                           if (!is_to_be_set(to, rows * bytes)) return 0;
                           for (std::size_t y = 0; y < rows; ++y) {
                             char* row = static_cast<char*>(to) + y * pitch;
                             if (element == 1) {
                               std::memset(row, static_cast<int>(value), width);
                               continue;
                             }
                             for (std::size_t x = 0; x < width; ++x)
                               std::memcpy(row + x * element, &value, element);
                           }
                           return 0;
                         }});
}

}  // namespace torchport::cuda

namespace {

int copied(void* to, const void* from, size_t bytes, int kind, cudaStream_t stream, bool waits) {
  Box box;
  box.to = static_cast<char*>(to);
  box.from = static_cast<const char*>(from);
  box.width = bytes;
  return copy_box(box, kind, stream, waits);
}

int copied_2d(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
              size_t height, int kind, cudaStream_t stream, bool waits) {
  if (width > to_pitch || width > from_pitch) return cudaErrorInvalidPitchValue;
  Box box;
  box.to = static_cast<char*>(to);
  box.from = static_cast<const char*>(from);
  box.to_pitch = to_pitch;
  box.from_pitch = from_pitch;
  box.width = width;
  box.height = height;
  return copy_box(box, kind, stream, waits);
}

int set_2d(void* to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream,
           bool waits) {
  if (width > pitch) return cudaErrorInvalidValue;
  return set_rows(to, pitch, static_cast<unsigned>(value), 1, width, height, stream, waits);
}

int set_3d(const cudaPitchedPtr& to, int value, const cudaExtent& extent, cudaStream_t stream,
           bool waits) {
  if (extent.width > to.pitch || (extent.depth > 1 && extent.height > to.ysize))
    return cudaErrorInvalidValue;
  if (extent.height == to.ysize || extent.depth == 1)
    return set_2d(to.ptr, to.pitch, value, extent.width, extent.height * extent.depth, stream,
                  waits);
  for (size_t z = 0; z < extent.depth; ++z) {
    char* slice = static_cast<char*>(to.ptr) + z * to.pitch * to.ysize;
    if (const int error =
            set_2d(slice, to.pitch, value, extent.width, extent.height, stream, waits))
      return error;
  }
  return 0;
}

}  // namespace

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return told(copied(to, from, bytes, kind, nullptr, true));
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return told(copied(to, from, bytes, kind, stream, false));
}
cudaError_t cudaMemcpyPeer(void* to, int toDevice, const void* from, int fromDevice, size_t bytes) {
  if (!is_device(toDevice) || !is_device(fromDevice)) return told(cudaErrorInvalidDevice);
  return told(copied(to, from, bytes, cudaMemcpyDeviceToDevice, nullptr, true));
}
cudaError_t cudaMemcpyPeerAsync(void* to, int toDevice, const void* from, int fromDevice,
                                size_t bytes, cudaStream_t stream) {
  if (!is_device(toDevice) || !is_device(fromDevice)) return told(cudaErrorInvalidDevice);
  return told(copied(to, from, bytes, cudaMemcpyDeviceToDevice, stream, false));
}
cudaError_t cudaMemcpy2D(void* to, size_t toPitch, const void* from, size_t fromPitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
  return told(copied_2d(to, toPitch, from, fromPitch, width, height, kind, nullptr, true));
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t toPitch, const void* from, size_t fromPitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  return told(copied_2d(to, toPitch, from, fromPitch, width, height, kind, stream, false));
}
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) {
  if (p == nullptr) return told(cudaErrorInvalidValue);
  Box box;
  if (const int error = box_of(*p, box)) return told(error);
  return told(copy_box(box, p->kind, nullptr, true));
}
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
  if (p == nullptr) return told(cudaErrorInvalidValue);
  Box box;
  if (const int error = box_of(*p, box)) return told(error);
  return told(copy_box(box, p->kind, stream, false));
}
cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* p) {
  if (p == nullptr) return told(cudaErrorInvalidValue);
  const cudaMemcpy3DParms same{p->srcArray, p->srcPos, p->srcPtr, p->dstArray,
                               p->dstPos,   p->dstPtr, p->extent, cudaMemcpyDefault};
  return cudaMemcpy3D(&same);
}
cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* p, cudaStream_t stream) {
  if (p == nullptr) return told(cudaErrorInvalidValue);
  const cudaMemcpy3DParms same{p->srcArray, p->srcPos, p->srcPtr, p->dstArray,
                               p->dstPos,   p->dstPtr, p->extent, cudaMemcpyDefault};
  return cudaMemcpy3DAsync(&same, stream);
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return told(set_rows(to, bytes, static_cast<unsigned>(value), 1, bytes, 1, nullptr, true));
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return told(set_rows(to, bytes, static_cast<unsigned>(value), 1, bytes, 1, stream, false));
}
cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return told(set_2d(to, pitch, value, width, height, nullptr, true));
}
cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return told(set_2d(to, pitch, value, width, height, stream, false));
}
cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
  return told(set_3d(to, value, extent, nullptr, true));
}
cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent,
                              cudaStream_t stream) {
  return told(set_3d(to, value, extent, stream, false));
}
