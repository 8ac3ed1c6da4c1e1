// Recognizes tests of stand-ins, which name CUDA and need no device.
#pragma once

#include "source/rules/rule.h"

namespace torchport::rules {

// Whether a place in a test needs no CUDA: its function replaces functions of torch.cuda, it is
// expected to raise, it calls a mocked object, or the value is only passed through and compared.
[[nodiscard]] bool is_faked(const PythonContext& context, Node place);

}  // namespace torchport::rules
