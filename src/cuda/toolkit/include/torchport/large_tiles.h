// Tiles of cooperative groups that are larger than a warp.
#pragma once

#include "torchport/group_lanes.h"

namespace torchport::cuda {

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
    leave_for_tile(thread_number(), &value);
    meet(what);
    T result = value;
    if (rank < present()) take_from_tile(first() + rank, &result, sizeof(T));
    meet(what);  // nobody leaves while others read
    return result;
  }
  static unsigned count(bool predicate, const char* what) {
    leave_for_tile(thread_number(), &predicate);
    meet(what);
    unsigned result = 0;
    for (unsigned i = 0; i < present(); ++i) {
      bool one = false;
      take_from_tile(first() + i, &one, sizeof(one));
      if (one) ++result;
    }
    meet(what);
    return result;
  }
};

}  // namespace torchport::cuda
