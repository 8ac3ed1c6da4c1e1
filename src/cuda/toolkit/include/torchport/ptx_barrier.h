// mbarrier of PTX: a barrier that is a word of shared memory. The threads of a block run on one
// thread of the host; the word is read and written atomically because that orders accesses, which a
// checker of kernels has to know.
#pragma once

#include "ptx_memory.h"

namespace torchport::ptx {

// The word: arrivals that are missing, arrivals of a phase, bytes that copies will bring, the
// phase.
class Mbarrier {
 public:
  explicit Mbarrier(char* at) : at_(reinterpret_cast<unsigned long long*>(at)) {
    const unsigned long long word = __atomic_load_n(at_, __ATOMIC_ACQUIRE);
    missing_ = static_cast<int>(word & kCount);
    count_ = static_cast<int>(word >> 20 & kCount);
    // 22 bits with a sign: a copy may be done before its bytes are expected.
    bytes_ = static_cast<int>(static_cast<unsigned>(word >> 40) << 10) >> 10;
    phase_ = word >> 63;
  }
  static void init(char* at, int count) { Mbarrier(at, count).store(); }

  [[nodiscard]] unsigned long long word() const {
    return static_cast<unsigned long long>(missing_ & kCount) |
           static_cast<unsigned long long>(count_ & kCount) << 20 |
           (static_cast<unsigned long long>(bytes_) & 0x3fffff) << 40 |
           static_cast<unsigned long long>(phase_) << 63;
  }
  [[nodiscard]] bool phase() const { return phase_; }

  // Returns the state before, which test_wait takes.
  unsigned long long arrive(int arrivals, int expected_bytes = 0, int dropped = 0) {
    const unsigned long long before = word();
    bytes_ += expected_bytes;
    count_ -= dropped;
    missing_ -= arrivals;
    settle();
    return before;
  }
  void complete(int bytes) {
    bytes_ -= bytes;
    settle();
  }

 private:
  static constexpr int kCount = 0xfffff;

  // The word of a new barrier, which holds nothing yet.
  Mbarrier(char* at, int count)
      : at_(reinterpret_cast<unsigned long long*>(at)),
        missing_(count),
        count_(count),
        bytes_(0),
        phase_(false) {}

  void settle() {
    if (missing_ <= 0 && bytes_ == 0) {
      missing_ = count_;
      phase_ = !phase_;
    }
    store();
  }
  void store() { __atomic_store_n(at_, word(), __ATOMIC_RELEASE); }

  unsigned long long* at_;
  int missing_;
  int count_;
  int bytes_;
  bool phase_;
};

template <class D>
__forceinline__ void mbarrier_arrive(D& d, char* at, unsigned arrivals, unsigned bytes,
                                     bool drops) {
  set_bits(d, Mbarrier(at).arrive(static_cast<int>(arrivals), static_cast<int>(bytes),
                                  drops ? static_cast<int>(arrivals) : 0));
}
// Whether the phase of a state is over.
inline bool mbarrier_done(char* at, unsigned long long state) {
  wait_a_little();
  return Mbarrier(at).phase() != (state >> 63 != 0);
}
inline bool mbarrier_done_parity(char* at, unsigned parity) {
  wait_a_little();
  return Mbarrier(at).phase() != ((parity & 1) != 0);
}

// A copy of many bytes, which a barrier hears of if there is one.
inline void cp_async_bulk(char* to, const char* from, unsigned bytes, char* barrier = nullptr) {
  __builtin_memcpy(to, from, bytes);
  if (barrier != nullptr) Mbarrier(barrier).complete(static_cast<int>(bytes));
}

}  // namespace torchport::ptx
