// What is remembered of each piece of memory that kernels used: who wrote it last, and who read it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace torchport::cuda::check {

// Counts what orders threads: barriers, fences, atomic operations. An access has the count of its
// time; 0 is before all.
using Stamp = std::uint64_t;

// The number of a block in its grid, and of a thread in it.
using Who = std::uint64_t;
inline constexpr unsigned kThreadBits = 10;
constexpr Who who_is(std::uint64_t block, unsigned thread) {
  return block << kThreadBits | thread;
}
constexpr std::uint64_t block_of(Who who) {
  return who >> kThreadBits;
}
constexpr unsigned thread_of(Who who) {
  return static_cast<unsigned>(who & ((1U << kThreadBits) - 1));
}

struct Access {
  Who who = 0;
  Stamp stamp = 0;         // 0: there was none
  std::uint32_t site = 0;  // where, by its number
  bool atomic = false;
  bool is_volatile = false;  // it counts as atomic, but is a plain one
};

struct Cell {
  Access write;
  Access atomic_write;
  // Two readers are enough to find one that is not the thread that writes. The first one is that of
  // the readers whose reads nothing orders before the reads that follow.
  Access first_read;
  Access last_read;
};

// Not thread safe.
class Shadow {
 public:
  // Calls `each(cell, bytes)` for the cells of an access, in their order.
  template <class Each>
  void for_cells(std::uintptr_t at, std::size_t bytes, Each each) {
    while (bytes > 0) {
      Page& page = page_at(at >> kPageBits);
      const std::size_t offset = at & (kPageBytes - 1);
      const std::size_t part = bytes < kPageBytes - offset ? bytes : kPageBytes - offset;
      if (page.step != 1 && (offset % page.step != 0 || part % page.step != 0)) page.refine();
      for (std::size_t i = offset; i < offset + part; i += page.step)
        each(page.cells[i / page.step], static_cast<std::size_t>(page.step));
      at += part;
      bytes -= part;
    }
  }

  // Forgets all, if it has become much.
  void trim();

 private:
  static constexpr unsigned kPageBits = 10;
  static constexpr std::size_t kPageBytes = std::size_t{1} << kPageBits;
  static constexpr unsigned kWord = 4;

  struct Page {
    unsigned step = kWord;  // bytes of a cell: a word, until bytes of it are used apart
    std::vector<Cell> cells = std::vector<Cell>(kPageBytes / kWord);
    void refine();
  };

  Page& page_at(std::uintptr_t number) {
    if (number == last_number_ && last_ != nullptr) return *last_;
    std::unique_ptr<Page>& page = pages_[number];
    if (page == nullptr) page = std::make_unique<Page>();
    last_number_ = number;
    last_ = page.get();
    return *page;
  }

  std::unordered_map<std::uintptr_t, std::unique_ptr<Page>> pages_;
  std::uintptr_t last_number_ = 0;
  Page* last_ = nullptr;
};

}  // namespace torchport::cuda::check
