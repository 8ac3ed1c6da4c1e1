#include "cuda/device/division.h"

#include <cstdint>
#include <cstring>

#include "cuda/device/instructions.h"

namespace torchport::cuda {

#if defined(__x86_64__)

namespace {

struct Division {
  unsigned bytes = 4;
  std::uint64_t divisor = 0;
  std::size_t length = 0;  // of the instruction
};

std::uint64_t low_bytes(std::uint64_t value, unsigned bytes) {
  return bytes == 8 ? value : value & ((std::uint64_t{1} << (8 * bytes)) - 1);
}

// DIV and IDIV: F7 /6 and F7 /7, with prefixes.
bool decode(const greg_t* registers, Division& found) {
  const auto* const begin =
      reinterpret_cast<const std::uint8_t*>(static_cast<std::uintptr_t>(registers[REG_RIP]));
  const std::uint8_t* code = begin;
  while (*code == 0x66 || *code == 0x2e || *code == 0x3e || *code == 0xf2 || *code == 0xf3) {
    if (*code == 0x66) found.bytes = 2;
    ++code;
  }
  unsigned rex = 0;
  if ((*code & 0xf0U) == 0x40U) rex = *code++;
  if ((rex & 8U) != 0) found.bytes = 8;
  if (*code++ != 0xf7) return false;
  const Operand operand = operand_at(code, rex, registers);
  constexpr unsigned kDiv = 6;
  constexpr unsigned kIdiv = 7;
  if (operand.operation != kDiv && operand.operation != kIdiv) return false;
  if (operand.is_register)
    found.divisor = register_value(registers, operand.number);
  else
    std::memcpy(&found.divisor, reinterpret_cast<const void*>(operand.address), found.bytes);
  found.divisor = low_bytes(found.divisor, found.bytes);
  found.length = static_cast<std::size_t>(code - begin) + operand.length;
  return true;
}

void put(greg_t& to, std::uint64_t value, unsigned bytes) {
  constexpr std::uint64_t kLowHalf = 0xffff;
  if (bytes == 2)
    to = static_cast<greg_t>((static_cast<std::uint64_t>(to) & ~kLowHalf) | (value & kLowHalf));
  else
    to = static_cast<greg_t>(low_bytes(value, bytes));
}

}  // namespace

bool finish_division(ucontext_t& context) {
  greg_t* registers = context.uc_mcontext.gregs;
  Division division;
  if (!decode(registers, division)) return false;
  const auto dividend = low_bytes(static_cast<std::uint64_t>(registers[REG_RAX]), division.bytes);
  constexpr std::uint64_t kLow = 0xffffffff;
  std::uint64_t quotient = dividend;
  std::uint64_t remainder = 0;
  if (division.divisor == 0)
    quotient = remainder = division.bytes == 8 && dividend <= kLow ? kLow : ~std::uint64_t{0};
  put(registers[REG_RAX], quotient, division.bytes);
  put(registers[REG_RDX], remainder, division.bytes);
  registers[REG_RIP] += static_cast<greg_t>(division.length);
  return true;
}

#else

// Other processors do not stop.
bool finish_division(ucontext_t& /*context*/) {
  return false;
}

#endif

}  // namespace torchport::cuda
