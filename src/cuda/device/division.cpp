#include "cuda/device/division.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace torchport::cuda {

#if defined(__x86_64__)

namespace {

// General registers by their numbers in instructions (Intel's manual, volume 2, table 2-2).
constexpr std::array<int, 16> kRegisters{REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                         REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                         REG_R12, REG_R13, REG_R14, REG_R15};

struct Division {
  unsigned bytes = 4;
  bool is_signed = false;
  std::uint64_t divisor = 0;
  std::size_t length = 0;  // of the instruction
};

template <class T>
T at(const std::uint8_t* address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}

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
  const unsigned mode = *code >> 6U;
  const unsigned operation = *code >> 3U & 7U;
  unsigned base = *code & 7U;
  ++code;
  if (operation != 6 && operation != 7) return false;
  found.is_signed = operation == 7;
  if (mode == 3) {
    found.divisor = static_cast<std::uint64_t>(registers[kRegisters[base | (rex & 1U) << 3U]]);
  } else {
    std::uint64_t address = 0;
    bool relative = false;
    if (base == 4) {
      const unsigned sib = *code++;
      base = sib & 7U;
      const unsigned index = (sib >> 3U & 7U) | (rex & 2U) << 2U;
      if (index != 4)
        address += static_cast<std::uint64_t>(registers[kRegisters[index]]) << (sib >> 6U);
      if (base != 5 || mode != 0)
        address += static_cast<std::uint64_t>(registers[kRegisters[base | (rex & 1U) << 3U]]);
      if (base == 5 && mode == 0) {
        address += static_cast<std::uint64_t>(std::int64_t{at<std::int32_t>(code)});
        code += 4;
      }
    } else if (base == 5 && mode == 0) {
      relative = true;
      address += static_cast<std::uint64_t>(std::int64_t{at<std::int32_t>(code)});
      code += 4;
    } else {
      address += static_cast<std::uint64_t>(registers[kRegisters[base | (rex & 1U) << 3U]]);
    }
    if (mode == 1) address += static_cast<std::uint64_t>(std::int64_t{at<std::int8_t>(code++)});
    if (mode == 2) {
      address += static_cast<std::uint64_t>(std::int64_t{at<std::int32_t>(code)});
      code += 4;
    }
    if (relative) address += reinterpret_cast<std::uintptr_t>(code);
    std::memcpy(&found.divisor, reinterpret_cast<const void*>(address), found.bytes);
  }
  found.divisor = low_bytes(found.divisor, found.bytes);
  found.length = static_cast<std::size_t>(code - begin);
  return true;
}

void put(greg_t& to, std::uint64_t value, unsigned bytes) {
  if (bytes == 2)
    to = static_cast<greg_t>((static_cast<std::uint64_t>(to) & ~std::uint64_t{0xffff}) | (value & 0xffff));
  else
    to = static_cast<greg_t>(low_bytes(value, bytes));
}

}  // namespace

bool finish_division(ucontext_t& context) {
  greg_t* registers = context.uc_mcontext.gregs;
  Division division;
  if (!decode(registers, division)) return false;
  const auto dividend =
      low_bytes(static_cast<std::uint64_t>(registers[REG_RAX]), division.bytes);
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
