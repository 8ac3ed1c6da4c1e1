// Reads the operand of an instruction that the host's processor refused (Intel's manual, volume 2,
// chapter 2). For x86-64 only.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ucontext.h>

namespace torchport::cuda {

#if defined(__x86_64__)

// ModRM and what follows it.
struct Operand {
  unsigned operation = 0;  // the middle field
  bool is_register = false;
  unsigned number = 0;        // of the register
  std::uint64_t address = 0;  // of memory
  std::size_t length = 0;     // bytes from ModRM on
};
// `rex` has the bits of a REX prefix. `behind`: bytes of the instruction behind the operand.
Operand operand_at(const std::uint8_t* code, unsigned rex, const greg_t* registers,
                   std::size_t behind = 0);
std::uint64_t register_value(const greg_t* registers, unsigned number);

// The memory that an instruction of SSE or AVX uses at the program counter. False if it is none.
bool vector_operand(const greg_t* registers, std::uint64_t& address);

#endif

}  // namespace torchport::cuda
