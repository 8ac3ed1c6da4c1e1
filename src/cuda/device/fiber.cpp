#include "cuda/device/fiber.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

namespace torchport::cuda {

namespace {

std::size_t page() {
  static const auto kBytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return kBytes;
}

std::atomic<std::size_t> wanted_bytes = FiberPool::kLeastStack;

#if !TORCHPORT_OWN_SWITCH
thread_local void (*begins)() = nullptr;

void begin(boost::context::detail::transfer_t from) {
  static_cast<Walk*>(from.data)->context = from.fctx;
  begins();
}
#endif

// A stack that was left before it did anything.
void* new_context(char* low, char* high, void (*entry)()) {
#if TORCHPORT_OWN_SWITCH
  (void)low;
  auto** top = reinterpret_cast<void**>(reinterpret_cast<std::uintptr_t>(high) / 64 * 64);
  *--top = nullptr;  // where the entry would return to
  *--top = reinterpret_cast<void*>(entry);
  return static_cast<void*>(top);
#else
  begins = entry;
  return boost::context::detail::make_fcontext(high, static_cast<std::size_t>(high - low), &begin);
#endif
}

}  // namespace

void FiberPool::let_stacks_be(std::size_t bytes) {
  constexpr std::size_t kFramesOfHost = 4;
  wanted_bytes = std::max(kLeastStack, (bytes * kFramesOfHost + page() - 1) / page() * page());
}

void FiberPool::forget() {
  for (const auto& one : all_) munmap(one->low - page(), stack_bytes_ + page());
  all_.clear();
  free_.clear();
}

FiberPool::~FiberPool() {
  forget();
}

Fiber* FiberPool::take(void (*entry)()) {
  if (stack_bytes_ != wanted_bytes && free_.size() == all_.size()) {
    forget();
    stack_bytes_ = wanted_bytes;
  }
  if (free_.empty()) {
    void* memory = mmap(nullptr, stack_bytes_ + page(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    mprotect(memory, page(), PROT_NONE);
    auto made = std::make_unique<Fiber>();
    made->low = static_cast<char*>(memory) + page();
    // Stacks that begin at the same place of a page would share the few lines of a cache that
    // belong to this place.
    constexpr std::size_t kLine = 64;
    constexpr std::size_t kLinesApart = 5;
    constexpr std::size_t kPlaces = 128;
    made->high = made->low + stack_bytes_ - all_.size() * kLinesApart % kPlaces * kLine;
    free_.push_back(made.get());
    all_.push_back(std::move(made));
  }
  Fiber* fiber = free_.back();
  free_.pop_back();
  fiber->context = new_context(fiber->low, fiber->high, entry);
  fiber->one_thread = fiber->quick = false;
  fiber->next = nullptr;
  fiber->waits_at = nullptr;
  fiber->held = nullptr;
  return fiber;
}

void FiberPool::reset() {
  free_.clear();
  // The first stack is taken first, as before.
  for (auto one = all_.rbegin(); one != all_.rend(); ++one) free_.push_back(one->get());
}

bool FiberPool::is_guard(const void* address) const {
  const auto* at = static_cast<const char*>(address);
  return std::any_of(all_.begin(), all_.end(),
                     [&](const auto& one) { return at < one->low && at >= one->low - page(); });
}

}  // namespace torchport::cuda
