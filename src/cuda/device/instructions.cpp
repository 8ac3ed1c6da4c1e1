#include "cuda/device/instructions.h"

#include <array>
#include <cstring>

namespace torchport::cuda {

#if defined(__x86_64__)

namespace {

// General registers by their numbers in instructions.
constexpr std::array<int, 16> kRegisters{REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                         REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                         REG_R12, REG_R13, REG_R14, REG_R15};

template <class T>
std::uint64_t extended(const std::uint8_t* address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return static_cast<std::uint64_t>(std::int64_t{value});
}

}  // namespace

std::uint64_t register_value(const greg_t* registers, unsigned number) {
  return static_cast<std::uint64_t>(registers[kRegisters[number & 15U]]);
}

Operand operand_at(const std::uint8_t* code, unsigned rex, const greg_t* registers,
                   std::size_t behind) {
  const std::uint8_t* const begin = code;
  Operand found;
  const unsigned mode = *code >> 6U;
  found.operation = *code >> 3U & 7U;
  unsigned base = *code & 7U;
  ++code;
  found.number = base | (rex & 1U) << 3U;
  found.is_register = mode == 3;
  bool relative = false;
  if (!found.is_register) {
    const auto with_base = [&](unsigned number) {
      found.address += register_value(registers, number | (rex & 1U) << 3U);
    };
    const bool has_sib = base == 4;
    if (has_sib) {
      const unsigned sib = *code++;
      base = sib & 7U;
      const unsigned index = (sib >> 3U & 7U) | (rex & 2U) << 2U;
      if (index != 4) found.address += register_value(registers, index) << (sib >> 6U);
    }
    if (base == 5 && mode == 0) {
      relative = !has_sib;
      found.address += extended<std::int32_t>(code);
      code += 4;
    } else {
      with_base(base);
    }
    if (mode == 1) found.address += extended<std::int8_t>(code++);
    if (mode == 2) {
      found.address += extended<std::int32_t>(code);
      code += 4;
    }
  }
  found.length = static_cast<std::size_t>(code - begin);
  if (relative) found.address += reinterpret_cast<std::uintptr_t>(code) + behind;
  return found;
}

bool vector_operand(const greg_t* registers, std::uint64_t& address) {
  const auto* code =
      reinterpret_cast<const std::uint8_t*>(static_cast<std::uintptr_t>(registers[REG_RIP]));
  unsigned rex = 0;
  if (*code == 0xc5) {
    code += 3;  // VEX with two bytes, then the opcode
  } else if (*code == 0xc4) {
    rex = static_cast<unsigned>(~code[1]) >> 5U & 7U;
    code += 4;
  } else {
    while (*code == 0x66 || *code == 0xf2 || *code == 0xf3) ++code;
    if ((*code & 0xf0U) == 0x40U) rex = *code++;
    if (*code++ != 0x0f) return false;
    if (*code == 0x38 || *code == 0x3a) ++code;
    ++code;
  }
  const Operand operand = operand_at(code, rex, registers);
  address = operand.address;
  return !operand.is_register;
}

#endif

}  // namespace torchport::cuda
