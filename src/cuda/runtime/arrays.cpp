#include "cuda/runtime/arrays.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "cuda/runtime/copies.h"
#include "cuda/runtime/memory.h"
#include "cuda/runtime/state.h"
#include "cuda/runtime/streams.h"

using namespace torchport::cuda;

namespace torchport::cuda {

namespace {

std::mutex arrays_mutex;
std::set<const cudaArray*>& arrays() {
  static auto* const kAll = new std::set<const cudaArray*>();
  return *kAll;
}

}  // namespace

bool is_array(const cudaArray* array) {
  const std::scoped_lock lock(arrays_mutex);
  return arrays().count(array) != 0;
}

std::size_t bytes_of_format(const cudaChannelFormatDesc& format) {
  return static_cast<std::size_t>(format.x + format.y + format.z + format.w) / 8;
}

// Where one side of a 3D copy begins. Positions and widths in arrays count texels.
int box_of(const cudaMemcpy3DParms& p, Box& box) {
  box = {};
  if ((p.srcArray != nullptr) == (p.srcPtr.ptr != nullptr) ||
      (p.dstArray != nullptr) == (p.dstPtr.ptr != nullptr))
    return cudaErrorInvalidValue;
  for (const cudaArray* one : {p.srcArray, p.dstArray})
    if (one != nullptr && !is_array(one)) return cudaErrorInvalidResourceHandle;
  const cudaArray* any = p.srcArray != nullptr ? p.srcArray : p.dstArray;
  const std::size_t element = any == nullptr ? 1 : any->element;
  box.width = p.extent.width * element;
  box.height = p.extent.height;
  box.depth = p.extent.depth;
  const auto side = [&](const cudaArray* array, const cudaPitchedPtr& pointer, const cudaPos& at,
                        char*& data, std::size_t& pitch, std::size_t& slice) -> int {
    if (array != nullptr) {
      if (at.x + p.extent.width > array->extent.width || at.y + p.extent.height > array->rows() ||
          at.z + p.extent.depth > array->slices())
        return cudaErrorInvalidValue;
      pitch = array->width_bytes();
      slice = pitch * array->rows();
      data = array->data + at.z * slice + at.y * pitch + at.x * array->element;
      return 0;
    }
    pitch = pointer.pitch;
    slice = pitch * pointer.ysize;
    if (box.width + at.x > pitch || (box.depth > 1 && box.height + at.y > pointer.ysize))
      return cudaErrorInvalidPitchValue;
    data = static_cast<char*>(pointer.ptr) + at.z * slice + at.y * pitch + at.x;
    return 0;
  };
  char* from = nullptr;
  if (const int error = side(p.srcArray, p.srcPtr, p.srcPos, from, box.from_pitch, box.from_slice))
    return error;
  box.from = from;
  return side(p.dstArray, p.dstPtr, p.dstPos, box.to, box.to_pitch, box.to_slice);
}

namespace {

int make_array(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent,
               unsigned flags) {
  if (array == nullptr || format == nullptr || extent.width == 0) return cudaErrorInvalidValue;
  if (const int error = unsafe_in_capture()) return error;
  if (const int error = use_device()) return error;
  const std::size_t element = bytes_of_format(*format);
  if (element == 0 || element > 16 || format->f == cudaChannelFormatKindNone)
    return cudaErrorInvalidChannelDescriptor;
  auto made = std::make_unique<cudaArray>();
  made->format = *format;
  made->extent = extent;
  made->flags = flags;
  made->device = current_device();
  made->element = element;
  made->data = static_cast<char*>(
      allocate_on_device(made->device, made->width_bytes() * made->rows() * made->slices()));
  if (made->data == nullptr) return cudaErrorMemoryAllocation;
  *array = made.release();
  const std::scoped_lock lock(arrays_mutex);
  arrays().insert(*array);
  return 0;
}

int array_rows(cudaArray_const_t array, std::size_t x, std::size_t y, std::size_t width,
               std::size_t height, char*& data, std::size_t& pitch) {
  if (!is_array(array)) return cudaErrorInvalidResourceHandle;
  if (x + width > array->width_bytes() || y + height > array->rows()) return cudaErrorInvalidValue;
  pitch = array->width_bytes();
  data = array->data + y * pitch + x;
  return 0;
}

int to_array(cudaArray_t to, std::size_t x, std::size_t y, const void* from, std::size_t pitch,
             std::size_t width, std::size_t height, int kind, cudaStream_t stream, bool waits) {
  Box box;
  if (const int error = array_rows(to, x, y, width, height, box.to, box.to_pitch)) return error;
  if (width > pitch) return cudaErrorInvalidPitchValue;
  box.from = static_cast<const char*>(from);
  box.from_pitch = pitch;
  box.width = width;
  box.height = height;
  return copy_box(box, kind, stream, waits);
}

int from_array(void* to, std::size_t pitch, cudaArray_const_t from, std::size_t x, std::size_t y,
               std::size_t width, std::size_t height, int kind, cudaStream_t stream, bool waits) {
  Box box;
  char* data = nullptr;
  if (const int error = array_rows(from, x, y, width, height, data, box.from_pitch)) return error;
  if (width > pitch) return cudaErrorInvalidPitchValue;
  box.from = data;
  box.to = static_cast<char*>(to);
  box.to_pitch = pitch;
  box.width = width;
  box.height = height;
  return copy_box(box, kind, stream, waits);
}

}  // namespace

}  // namespace torchport::cuda

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width,
                            size_t height, unsigned int flags) {
  return told(make_array(array, format, {width, height, 0}, flags));
}
cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format,
                              cudaExtent extent, unsigned int flags) {
  return told(make_array(array, format, extent, flags));
}
cudaError_t cudaFreeArray(cudaArray_t array) {
  if (array == nullptr) return told(use_device());
  {
    const std::scoped_lock lock(arrays_mutex);
    if (arrays().erase(array) == 0) return told(cudaErrorInvalidResourceHandle);
  }
  if (array->owns && take_range(array->data, {Owner::kDevice}))
    memory_of(array->device)
        .free(array->data, array->width_bytes() * array->rows() * array->slices());
  delete array;
  return told(use_device());
}
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned int* flags,
                             cudaArray_t array) {
  if (!is_array(array)) return told(cudaErrorInvalidResourceHandle);
  if (format != nullptr) *format = array->format;
  if (extent != nullptr) *extent = array->extent;
  if (flags != nullptr) *flags = array->flags;
  return cudaSuccess;
}
cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t array) {
  if (format == nullptr) return told(cudaErrorInvalidValue);
  if (!is_array(array)) return told(cudaErrorInvalidResourceHandle);
  *format = array->format;
  return cudaSuccess;
}
cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f) {
  return {x, y, z, w, f};
}
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                size_t width, size_t height, cudaMemcpyKind kind) {
  return told(to_array(to, x, y, from, pitch, width, height, kind, nullptr, true));
}
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from,
                                     size_t pitch, size_t width, size_t height, cudaMemcpyKind kind,
                                     cudaStream_t stream) {
  return told(to_array(to, x, y, from, pitch, width, height, kind, stream, false));
}
cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x,
                                  size_t y, size_t width, size_t height, cudaMemcpyKind kind) {
  return told(from_array(to, pitch, from, x, y, width, height, kind, nullptr, true));
}
cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t from, size_t x,
                                       size_t y, size_t width, size_t height, cudaMemcpyKind kind,
                                       cudaStream_t stream) {
  return told(from_array(to, pitch, from, x, y, width, height, kind, stream, false));
}
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t toX, size_t toY, cudaArray_const_t from,
                                     size_t fromX, size_t fromY, size_t width, size_t height,
                                     cudaMemcpyKind kind) {
  char* data = nullptr;
  std::size_t pitch = 0;
  if (const int error = array_rows(from, fromX, fromY, width, height, data, pitch))
    return told(error);
  return told(to_array(to, toX, toY, data, pitch, width, height, kind, nullptr, true));
}
cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes,
                              cudaMemcpyKind kind) {
  if (!is_array(to)) return told(cudaErrorInvalidResourceHandle);
  const std::size_t at = y * to->width_bytes() + x;
  if (at + bytes > to->width_bytes() * to->rows()) return told(cudaErrorInvalidValue);
  return cudaMemcpy(to->data + at, from, bytes, kind);
}
cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                cudaMemcpyKind kind) {
  if (!is_array(from)) return told(cudaErrorInvalidResourceHandle);
  const std::size_t at = y * from->width_bytes() + x;
  if (at + bytes > from->width_bytes() * from->rows()) return told(cudaErrorInvalidValue);
  return cudaMemcpy(to, from->data + at, bytes, kind);
}
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* array,
                                     const cudaChannelFormatDesc* format, cudaExtent extent,
                                     unsigned int levels, unsigned int flags) {
  if (array == nullptr || levels == 0) return told(cudaErrorInvalidValue);
  auto made = std::make_unique<cudaMipmappedArray>();
  for (unsigned i = 0; i < levels; ++i) {
    cudaArray_t level = nullptr;
    if (const int error = make_array(&level, format, extent, flags)) return told(error);
    made->levels.push_back(level);
    for (std::size_t* size : {&extent.width, &extent.height, &extent.depth})
      if (*size > 1) *size /= 2;
  }
  *array = made.release();
  return cudaSuccess;
}
cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t* level, cudaMipmappedArray_const_t array,
                                       unsigned int which) {
  if (level == nullptr || array == nullptr || which >= array->levels.size())
    return told(cudaErrorInvalidValue);
  *level = array->levels[which];
  return cudaSuccess;
}
cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t array) {
  if (array == nullptr) return told(cudaErrorInvalidValue);
  for (cudaArray* level : array->levels) cudaFreeArray(level);
  delete array;
  return cudaSuccess;
}
