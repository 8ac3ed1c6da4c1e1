// Compares a file before and after its fixes: a safe fix gives every name that it writes a value,
// and leaves tensors that met on one device on one device.
#pragma once

#include <optional>
#include <string>

#include "source/rules/examine.h"

namespace torchport::rules {

// What the text after the fixes has against it, as the end of a sentence: "`DEVICE` has no value".
// Nothing if a name without a value, or a finding of the rules about tensors on two devices, was
// there before, too. The latter are only asked for a safe tier.
[[nodiscard]] std::optional<std::string> harm_of(const PythonContext& before,
                                                 const PythonContext& after, Applicability tier,
                                                 Deadline* deadline);

}  // namespace torchport::rules
