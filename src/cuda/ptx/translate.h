// The C++ that computes what an asm statement of PTX does, by calling torchport/ptx.h of the
// toolkit.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cuda/source/rewrite.h"

namespace torchport::cuda {

// One C++ statement without its last `;` and without line ends. Fails with kSyntax where the text
// is not PTX, and names the instruction that virtual devices do not have.
[[nodiscard]] base::Result<std::string> translate_asm(const AsmStatement& statement);

// The statement that a program can contain but not reach: it ends the kernel with these words and
// the line.
[[nodiscard]] std::string refusing_statement(std::string_view why);

}  // namespace torchport::cuda
