// Variables of the device, which a program names by their symbols.
#include "cuda/runtime/copies.h"
#include "cuda/runtime/memory.h"
#include "cuda/runtime/state.h"

using namespace torchport::cuda;

namespace {

// The bytes of a symbol from `offset` on.
int part_of(const void* symbol, size_t bytes, size_t offset, char*& data) {
  const auto range = range_of(symbol);
  if (!range || range->name == nullptr || range->begin != symbol) return cudaErrorInvalidSymbol;
  if (offset > range->bytes || bytes > range->bytes - offset) return cudaErrorInvalidValue;
  data = range->begin + offset;
  return 0;
}

int copied(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream,
           bool waits) {
  Box box;
  box.to = static_cast<char*>(to);
  box.from = static_cast<const char*>(from);
  box.width = bytes;
  return copy_box(box, kind, stream, waits);
}

int to_symbol(const void* symbol, const void* from, size_t bytes, size_t offset,
              cudaMemcpyKind kind, cudaStream_t stream, bool waits) {
  char* data = nullptr;
  if (const int error = use_device()) return error;
  if (const int error = part_of(symbol, bytes, offset, data)) return error;
  if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice &&
      kind != cudaMemcpyDefault)
    return cudaErrorInvalidMemcpyDirection;
  return copied(data, from, bytes, kind, stream, waits);
}

int from_symbol(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind,
                cudaStream_t stream, bool waits) {
  char* data = nullptr;
  if (const int error = use_device()) return error;
  if (const int error = part_of(symbol, bytes, offset, data)) return error;
  if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice &&
      kind != cudaMemcpyDefault)
    return cudaErrorInvalidMemcpyDirection;
  return copied(to, data, bytes, kind, stream, waits);
}

}  // namespace

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset,
                               cudaMemcpyKind kind) {
  return told(to_symbol(symbol, from, bytes, offset, kind, nullptr, true));
}
cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset,
                                 cudaMemcpyKind kind) {
  return told(from_symbol(to, symbol, bytes, offset, kind, nullptr, true));
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes,
                                    size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
  return told(to_symbol(symbol, from, bytes, offset, kind, stream, false));
}
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
  return told(from_symbol(to, symbol, bytes, offset, kind, stream, false));
}
cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  char* data = nullptr;
  if (address == nullptr) return told(cudaErrorInvalidValue);
  if (const int error = use_device()) return told(error);
  if (const int error = part_of(symbol, 0, 0, data)) return told(error);
  *address = data;
  return cudaSuccess;
}
cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  char* data = nullptr;
  if (size == nullptr) return told(cudaErrorInvalidValue);
  if (const int error = use_device()) return told(error);
  if (const int error = part_of(symbol, 0, 0, data)) return told(error);
  *size = range_of(symbol)->bytes;
  return cudaSuccess;
}
