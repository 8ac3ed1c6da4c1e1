// Objects of C++ that Python holds by their addresses, because an operator has integers and no
// pointers.
#pragma once

#include <bit>
#include <cstdint>

namespace torchport::bindings {

inline std::int64_t address_of(const void* object) {
  return std::bit_cast<std::int64_t>(object);
}

template <typename Object>
Object& at_address(std::int64_t address) {
  return *std::bit_cast<Object*>(address);
}

}  // namespace torchport::bindings
