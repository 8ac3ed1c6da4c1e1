// malloc, free and assert in kernels. The heap has a limit of its own (cudaLimitMallocHeapSize);
// how much a block takes of it is recorded of an H100 (program heap) for one size.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "cuda/device/block.h"
#include "cuda/device/checker.h"
#include "cuda/device/error_codes.h"
#include "cuda/runtime/memory.h"
#include "cuda/runtime/state.h"

namespace torchport::cuda {

namespace {

struct Heap {
  std::mutex mutex;
  struct Block {
    std::size_t bytes;
    std::size_t taken;  // of the heap
  };
  std::map<const char*, Block> blocks;
  std::size_t taken = 0;
};
Heap& heap() {
  static auto* const kHeap = new Heap();
  return *kHeap;
}
std::atomic<bool> used = false;

std::size_t taken_by(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kHead = 64;
  constexpr std::size_t kSmall = 2048;
  return bytes <= kSmall ? rounded_up(bytes, 16) + kHead : rounded_up(bytes, kPage) + kPage;
}

void* allocate(std::size_t bytes) {
  const std::size_t size = taken_by(bytes);
  const std::size_t limit = current_state().limits[cudaLimitMallocHeapSize];
  const std::scoped_lock lock(heap().mutex);
  if (size > limit || heap().taken > limit - size) return nullptr;
  void* data = std::malloc(bytes == 0 ? 1 : bytes);
  if (data == nullptr) return nullptr;
  heap().taken += size;
  heap().blocks.emplace(static_cast<const char*>(data), Heap::Block{bytes, size});
  used = true;
  if (Checker* watches = checker()) watches->memory_changed(data, bytes);
  return data;
}

bool release(void* data) {
  const std::scoped_lock lock(heap().mutex);
  const auto found = heap().blocks.find(static_cast<const char*>(data));
  if (found == heap().blocks.end()) return false;
  if (Checker* watches = checker()) watches->memory_changed(data, found->second.bytes);
  heap().taken -= found->second.taken;
  heap().blocks.erase(found);
  std::free(data);
  return true;
}

// GCC's name of a function as nvcc writes it: void <unnamed>::f(int), without the lambda that a
// kernel's body has become.
std::string readable(std::string name) {
  if (const auto lambda = name.find("::<lambda("); lambda != std::string::npos) {
    name.erase(lambda);
    name.insert(0, "void ");
  }
  constexpr std::string_view kAnonymous = "{anonymous}";
  for (auto at = name.find(kAnonymous); at != std::string::npos; at = name.find(kAnonymous))
    name.replace(at, kAnonymous.size(), "<unnamed>");
  return name;
}

}  // namespace

// Of operator new: the host's operator delete gives it back, after it was forgotten.
void* torchport_cuda_new(std::size_t bytes) {
  void* data = ::operator new(bytes);
  if (Block::current() == nullptr) return data;
  const std::scoped_lock lock(heap().mutex);
  heap().blocks.insert_or_assign(static_cast<const char*>(data), Heap::Block{bytes, 0});
  if (Checker* watches = checker()) watches->memory_changed(data, bytes);
  return data;
}

void torchport_cuda_forget_new(const volatile void* data) {
  const std::scoped_lock lock(heap().mutex);
  const auto found = heap().blocks.find(static_cast<const char*>(const_cast<const void*>(data)));
  if (found == heap().blocks.end()) return;
  if (Checker* watches = checker()) watches->memory_changed(found->first, found->second.bytes);
  heap().blocks.erase(found);
}

std::optional<HeapBlock> heap_block_before(const void* address) {
  const std::scoped_lock lock(heap().mutex);
  auto after = heap().blocks.upper_bound(static_cast<const char*>(address));
  if (after == heap().blocks.begin()) return std::nullopt;
  --after;
  return HeapBlock{after->first, after->second.bytes};
}

std::optional<HeapBlock> heap_block_of(const void* address) {
  const auto block = heap_block_before(address);
  if (!block || static_cast<const char*>(address) >= block->begin + block->bytes)
    return std::nullopt;
  return block;
}

}  // namespace torchport::cuda

using torchport::cuda::Block;

// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

__attribute__((visibility("default"))) void* torchport_cuda_malloc(std::size_t bytes) {
  return Block::current() == nullptr ? std::malloc(bytes) : torchport::cuda::allocate(bytes);
}

__attribute__((visibility("default"))) void torchport_cuda_free(void* data) {
  if (data == nullptr) return;
  if (torchport::cuda::used && torchport::cuda::release(data)) return;
  std::free(data);
}

void __assert_fail(const char*, const char*, unsigned int, const char*) noexcept;

__attribute__((visibility("default"))) void torchport_cuda_assert_fail(const char* expression,
                                                                       const char* file,
                                                                       unsigned int line,
                                                                       const char* function) {
  if (Block::current() == nullptr) __assert_fail(expression, file, line, function);
  torchport::cuda::assert_failed(expression, file, line, function);
}
}
// NOLINTEND(readability-identifier-naming)

namespace torchport::cuda {

void assert_failed(const char* expression, const char* file, unsigned line, const char* function) {
  Block* block = Block::current();
  if (block == nullptr) std::abort();
  const ::uint3 thread = block->thread_index();
  const ::uint3 place = block->place();
  const std::string text = fmt::format(
      "{}:{}: {}: block: [{},{},{}], thread: [{},{},{}] Assertion `{}` failed.\n", file, line,
      readable(function), place.x, place.y, place.z, thread.x, thread.y, thread.z, expression);
  std::fputs(text.c_str(), stderr);
  block->end_thread(kDeviceAssert);
}

}  // namespace torchport::cuda
