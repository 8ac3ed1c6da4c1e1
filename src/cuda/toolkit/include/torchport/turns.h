// How a thread that waits hands its turn to the next one without a call: what happens at nearly
// every barrier and shuffle once all threads of a block have met for the first time. Whatever else
// happens there (the first one comes, the last one comes, lanes are missing) is the library's.
//
// The switch is part of the kernel's own code, because a return on another stack than that of the
// call is mispredicted, and because only the registers that are in use are kept then.
#pragma once

#include <cstddef>
#include <cstring>

#include "torchport/kernel.h"

// Sanitizers are told of a switch by the library, if at all; the checker of kernels hears of all.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__TORCHPORT_CHECK__)
#define TORCHPORT_OWN_SWITCH 1
#else
#define TORCHPORT_OWN_SWITCH 0
#endif

namespace torchport::cuda {

// Where a thread waits, for the error that says so.
struct Site {
  const char* what;
  const char* file;
  int line;
};

// Threads in the order in which they came; `last` means nothing while `first` is null.
struct Queue {
  Walk* first = nullptr;
  Walk* last = nullptr;
  bool in_order = true;  // by their numbers

  void push(Walk* one) {
    one->next = nullptr;
    if (first == nullptr) {
      first = one;
      in_order = true;
    } else {
      in_order = in_order && last->thread < one->thread;
      last->next = one;
    }
    last = one;
  }
  Walk* pop() {
    Walk* one = first;
    first = one->next;
    return one;
  }
};

// Lanes that leave values for each other.
struct Exchange {
  unsigned mask = 0;
  unsigned arrived = 0;
  unsigned readers = 0;  // that have arrived and may still read
  std::size_t bytes = 0;
  Queue waiting;
  char* values = nullptr;
};

struct WarpTurns {
  Exchange* open = nullptr;  // the last one that some lanes, but not all, have come to
  unsigned gone = 0;         // lanes that ended, or that the block does not have
};

struct Barrier {
  Queue waiting;
  unsigned arrived = 0;
  unsigned wanted = 0;  // 0: all threads that have not ended
  int trues = 0;        // of the threads that came
  int result = 0;       // of the round before
};

// The turns of the threads of one block.
struct Turns {
  Queue ready;
  Barrier barrier;         // that of __syncthreads()
  std::size_t yields = 0;  // since anything else happened
  unsigned live = 0;       // threads that have not ended
};

#if TORCHPORT_OWN_SWITCH
#ifdef __AVX512F__
#define TORCHPORT_MORE_REGISTERS                                                                \
  , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",   \
      "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", \
      "k6", "k7"
#else
#define TORCHPORT_MORE_REGISTERS
#endif
// Leaves this stack, whose place is kept in `from`, for that whose place is in `to`. A stack that
// is left has two words on top: where it goes on, and the frame's pointer, which cannot be in the
// list of the registers that change. Below the stack's end the compiler may have 128 bytes in use.
__attribute__((always_inline)) inline void switch_stacks(void** from, void* to) {
  __asm__ volatile(
      "leaq -128(%%rsp), %%rsp\n\t"
      "pushq %%rbp\n\t"
      "leaq 1f(%%rip), %%rax\n\t"
      "pushq %%rax\n\t"
      "movq %%rsp, (%0)\n\t"
      "movq %1, %%rsp\n\t"
      "popq %%rax\n\t"
      "jmpq *%%rax\n\t"
      "1:\n\t"
      "popq %%rbp\n\t"
      "leaq 128(%%rsp), %%rsp"
      : "+D"(from), "+S"(to)
      :
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
        "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15", "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)",
        "st(6)", "st(7)" TORCHPORT_MORE_REGISTERS, "cc", "memory");
}
#undef TORCHPORT_MORE_REGISTERS

__attribute__((always_inline)) inline void hand_turn(Walk* me, Turns& all, Walk* next) {
  all.ready.first = next->next;
  all.yields = 0;
  torchport_cuda_walk = next;
  switch_stacks(&me->context, next->context);
}

// Whether the thread need not tell others that it has read what they left for it.
__attribute__((always_inline)) inline bool lets_go(Walk* me) {
  Exchange* held = me->held;
  if (held == nullptr) return true;
  if (held->readers == 1) return false;  // the last one
  --held->readers;
  me->held = nullptr;
  return true;
}

// At the barrier of the block. False: nothing was done.
__attribute__((always_inline)) inline bool wait_quickly(const Site& site) {
  Walk* me = torchport_cuda_walk;
  if (me == nullptr || !me->quick) return false;
  Turns& all = *me->turns;
  Barrier& barrier = all.barrier;
  Walk* next = all.ready.first;
  if (next == nullptr || barrier.waiting.first == nullptr || barrier.wanted != 0 ||
      barrier.arrived + 1 >= all.live || barrier.waiting.last->thread >= me->thread)
    return false;
  if (!lets_go(me)) return false;
  ++barrier.arrived;
  me->site = &site;
  me->next = nullptr;
  barrier.waiting.last->next = me;
  barrier.waiting.last = me;
  hand_turn(me, all, next);
  return true;
}

// As `exchange`. Null: nothing was done.
__attribute__((always_inline)) inline const void* exchange_quickly(unsigned mask, const void* mine,
                                                                   std::size_t bytes,
                                                                   const Site& site) {
  Walk* me = torchport_cuda_walk;
  if (me == nullptr || !me->quick) return nullptr;
  Exchange* open = me->warp->open;
  if (open == nullptr || open->mask != mask || open->bytes != bytes) return nullptr;
  Turns& all = *me->turns;
  Walk* next = all.ready.first;
  const unsigned lane = me->thread % 32;
  const unsigned bit = 1U << lane;
  const unsigned arrived = open->arrived;
  if (next == nullptr || (mask & bit & ~arrived) == 0 ||
      (mask & ~(arrived | bit | me->warp->gone)) == 0 || open->waiting.last->thread >= me->thread)
    return nullptr;
  if (!lets_go(me)) return nullptr;
  if (bytes > 0) std::memcpy(open->values + lane * bytes, mine, bytes);
  open->arrived = arrived | bit;
  ++open->readers;
  me->held = open;
  me->site = &site;
  me->next = nullptr;
  open->waiting.last->next = me;
  open->waiting.last = me;
  hand_turn(me, all, next);
  return open->values;
}
#else
inline bool wait_quickly(const Site& /*site*/) {
  return false;
}
inline const void* exchange_quickly(unsigned /*mask*/, const void* /*mine*/, std::size_t /*bytes*/,
                                    const Site& /*site*/) {
  return nullptr;
}
#endif

}  // namespace torchport::cuda
