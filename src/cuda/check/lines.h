// The source lines of machine code, by addr2line of Debian's binutils, which comes with g++.
#pragma once

#include <cstdint>
#include <string>

namespace torchport::cuda::check {

// "a.cu:12" of the instruction before a return address. Of functions that were inlined, the
// innermost that is not of the toolkit's headers. "name+0x12 of lib.so" where no lines are known.
// Takes a fraction of a second; thread safe.
std::string line_of(std::uintptr_t return_address);

// Whether the source says `torchport: ignore` at a line, "a.cu:12", in a comment: what is done
// there is on purpose.
bool is_ignored(const std::string& line);

// Whether the instruction is of cub, thrust or libcu++ themselves: these read memory that nobody
// has written and discard it.
bool is_in_library(std::uintptr_t return_address);

}  // namespace torchport::cuda::check
