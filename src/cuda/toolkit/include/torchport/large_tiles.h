// Tiles of cooperative groups that are larger than a warp.
#pragma once

#include <cstring>

#include "torchport/group_lanes.h"

namespace torchport::cuda {

// Where the threads of a block leave values for each other; one thread of the host runs them all.
inline thread_local const void* torchport_tile_values[1024];

// The tile of `Size` threads, 64 to 1024, that a thread belongs to.
template <unsigned Size>
class LargeTile {
 public:
  static unsigned thread_rank() { return thread_number() % Size; }
  static constexpr unsigned num_threads() { return Size; }
  static constexpr unsigned size() { return Size; }
  static unsigned meta_group_rank() { return thread_number() / Size; }
  static unsigned meta_group_size() { return (threads_of_block() + Size - 1) / Size; }
  static void sync() { meet("sync() of a tile"); }

  // As those of smaller tiles; reductions and scans are made of them.
  template <class T>
  T shfl(T value, unsigned rank) const {
    return of_rank(value, rank % Size, "shfl of a tile");
  }
  template <class T>
  T shfl_up(T value, unsigned delta) const {
    const unsigned rank = thread_rank();
    return of_rank(value, rank < delta ? rank : rank - delta, "shfl_up of a tile");
  }
  template <class T>
  T shfl_down(T value, unsigned delta) const {
    return of_rank(value, thread_rank() + delta, "shfl_down of a tile");
  }
  template <class T>
  T shfl_xor(T value, unsigned ranks) const {
    return of_rank(value, thread_rank() ^ ranks, "shfl_xor of a tile");
  }
  int any(int predicate) const { return count(predicate != 0, "any of a tile") != 0 ? 1 : 0; }
  int all(int predicate) const { return count(predicate == 0, "all of a tile") == 0 ? 1 : 0; }

 private:
  static unsigned first() { return thread_number() / Size * Size; }
  static unsigned present() {
    const unsigned left = threads_of_block() - first();
    return left < Size ? left : Size;
  }
  static void meet(const char* what) {
    wait_for_tile(Size, meta_group_rank(), present(), {what, "", 0});
  }
  template <class T>
  static T of_rank(const T& value, unsigned rank, const char* what) {
    const unsigned number = thread_number();
    torchport_tile_values[number] = &value;
    meet(what);
    T result = value;
    if (rank < present())
      std::memcpy(static_cast<void*>(&result), torchport_tile_values[first() + rank], sizeof(T));
    meet(what);  // nobody leaves while others read
    return result;
  }
  static unsigned count(bool predicate, const char* what) {
    torchport_tile_values[thread_number()] = &predicate;
    meet(what);
    unsigned result = 0;
    for (unsigned i = 0; i < present(); ++i)
      if (*static_cast<const bool*>(torchport_tile_values[first() + i])) ++result;
    meet(what);
    return result;
  }
};

}  // namespace torchport::cuda
