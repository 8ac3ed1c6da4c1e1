#include "source/syntax/parser_memory.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <tree_sitter/api.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TORCHPORT_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define TORCHPORT_ASAN 1
#endif
#ifdef TORCHPORT_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) (static_cast<void>(address))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) (static_cast<void>(address))
#endif

namespace torchport::syntax {

namespace {

constexpr std::size_t kHeader = 8;  // the block's size class or, for a large block, its size
constexpr std::size_t kChunk = std::size_t{1} << 20U;
constexpr std::size_t kLargest = std::size_t{64} << 10U;  // the largest block in a chunk
constexpr std::size_t kFine = 512;  // up to here there is a class for each 16 bytes

// Classes 0 to 31 are multiples of 16 bytes, the others powers of two.
constexpr std::size_t class_of(std::size_t size) {
  if (size <= kFine) return (std::max<std::size_t>(size, 1) - 1) / 16;
  return kFine / 16 + static_cast<std::size_t>(std::bit_width(size - 1)) -
         static_cast<std::size_t>(std::bit_width(kFine - 1)) - 1;
}
constexpr std::size_t size_of(std::size_t index) {
  if (index < kFine / 16) return (index + 1) * 16;
  return kFine << (index - kFine / 16 + 1);
}
constexpr std::size_t kClasses = class_of(kLargest) + 1;
static_assert(size_of(class_of(kFine)) == kFine && size_of(class_of(kFine + 1)) == 2 * kFine);
static_assert(size_of(kClasses - 1) == kLargest);

[[noreturn]] void out_of_memory() {
  // The parser is C code that never checks an allocation, so there is no way to recover.
  std::fputs("torchport: out of memory while parsing; check fewer files, or with -j 1\n", stderr);
  std::_Exit(3);
}

std::byte* allocated(std::size_t size) {
  auto* memory = static_cast<std::byte*>(std::malloc(size));
  if (memory == nullptr) out_of_memory();
  return memory;
}

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() {
    clear();
    for (std::byte* chunk : chunks_) {
      ASAN_UNPOISON_MEMORY_REGION(chunk, kChunk);
      std::free(chunk);
    }
  }

  void* allocate(std::size_t size) {
    if (size > kLargest) return allocate_large(size);
    const std::size_t index = class_of(size);
    std::byte* block = free_[index];
    const std::size_t room = size_of(index);
    if (block != nullptr) {
      ASAN_UNPOISON_MEMORY_REGION(block, room);
      std::memcpy(static_cast<void*>(&free_[index]), block, sizeof(std::byte*));
    } else {
      if (static_cast<std::size_t>(end_ - next_) < kHeader + room) add_chunk();
      ASAN_UNPOISON_MEMORY_REGION(next_, kHeader);
      const std::size_t mark = index;
      std::memcpy(next_, &mark, kHeader);
      block = next_ + kHeader;
      next_ += kHeader + room;
    }
    ASAN_POISON_MEMORY_REGION(block, room);
    ASAN_UNPOISON_MEMORY_REGION(block, size);
    return block;
  }

  void release(void* memory) {
    auto* block = static_cast<std::byte*>(memory);
    const std::size_t mark = mark_of(block);
    if (mark >= kClasses) return release_large(block, mark);
    ASAN_UNPOISON_MEMORY_REGION(block, sizeof(std::byte*));
    std::memcpy(block, static_cast<const void*>(&free_[mark]), sizeof(std::byte*));
    free_[mark] = block;
    ASAN_POISON_MEMORY_REGION(block, size_of(mark));
  }

  void* reallocate(void* memory, std::size_t size) {
    if (memory == nullptr) return allocate(size);
    const std::size_t mark = mark_of(static_cast<std::byte*>(memory));
    const std::size_t old = mark < kClasses ? size_of(mark) : mark - kClasses;
    if (mark < kClasses && size <= old) {
      ASAN_UNPOISON_MEMORY_REGION(memory, size);
      return memory;
    }
    void* fresh = allocate(size);
    // Parts of the old block may never have been written.
    ASAN_UNPOISON_MEMORY_REGION(memory, old);
    std::memcpy(fresh, memory, std::min(old, size));
    release(memory);
    return fresh;
  }

  // Releases all blocks, and keeps one chunk for the next parse.
  void clear() {
    for (std::byte* block : large_) std::free(block - kHeader);
    large_.clear();
    large_bytes_ = 0;
    while (chunks_.size() > 1) {
      ASAN_UNPOISON_MEMORY_REGION(chunks_.back(), kChunk);
      std::free(chunks_.back());
      chunks_.pop_back();
    }
    free_.fill(nullptr);
    next_ = nullptr;
    end_ = nullptr;
    if (!chunks_.empty()) start_at(chunks_.front());
  }

  [[nodiscard]] std::int64_t used() const {
    return static_cast<std::int64_t>(chunks_.size() * kChunk) + large_bytes_;
  }

 private:
  static std::size_t mark_of(const std::byte* block) {
    std::size_t mark = 0;
    std::memcpy(&mark, block - kHeader, kHeader);
    return mark;
  }

  void add_chunk() {
    chunks_.push_back(allocated(kChunk));
    start_at(chunks_.back());
  }

  void start_at(std::byte* chunk) {
    next_ = chunk;
    end_ = chunk + kChunk;
    ASAN_POISON_MEMORY_REGION(chunk, kChunk);
  }

  void* allocate_large(std::size_t size) {
    std::byte* block = allocated(kHeader + size) + kHeader;
    const std::size_t mark = kClasses + size;
    std::memcpy(block - kHeader, &mark, kHeader);
    large_.push_back(block);
    large_bytes_ += static_cast<std::int64_t>(size);
    return block;
  }

  void release_large(std::byte* block, std::size_t mark) {
    large_.erase(std::find(large_.begin(), large_.end(), block));
    large_bytes_ -= static_cast<std::int64_t>(mark - kClasses);
    std::free(block - kHeader);
  }

  std::array<std::byte*, kClasses> free_{};
  std::byte* next_ = nullptr;
  std::byte* end_ = nullptr;
  std::vector<std::byte*> chunks_;
  std::vector<std::byte*> large_;  // few: blocks beyond kLargest
  std::int64_t large_bytes_ = 0;
};

thread_local Arena arena;

void* arena_malloc(std::size_t size) {
  return arena.allocate(size);
}
void* arena_calloc(std::size_t count, std::size_t size) {
  if (size != 0 && count > SIZE_MAX / size) out_of_memory();
  void* memory = arena.allocate(count * size);
  std::memset(memory, 0, count * size);
  return memory;
}
void* arena_realloc(void* memory, std::size_t size) {
  return arena.reallocate(memory, size);
}
void arena_free(void* memory) {
  if (memory != nullptr) arena.release(memory);
}

}  // namespace

void use_parser_memory() {
  static const bool kSet = [] {
    ts_set_allocator(arena_malloc, arena_calloc, arena_realloc, arena_free);
    return true;
  }();
  static_cast<void>(kSet);
}

ParserMemory::ParserMemory() {
  use_parser_memory();
}

ParserMemory::~ParserMemory() {
  arena.clear();
}

std::int64_t ParserMemory::used() {
  return arena.used();
}

}  // namespace torchport::syntax
