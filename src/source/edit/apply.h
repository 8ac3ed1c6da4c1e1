// From fixes to a new text.
#pragma once

#include <string>
#include <vector>

#include "source/edit/device_source.h"
#include "source/edit/edit.h"

namespace torchport::edit {

struct Applied {
  std::string text;
  std::vector<std::size_t> used;  // indices into `fixes`, in the order given
};

// Applies as many of the fixes as go together: in order of position, a fix that
// touches bytes of an accepted one waits for the next pass. A fix is applied
// whole or not at all. What the accepted ones need is put in once.
[[nodiscard]] Applied apply_fixes(std::string_view text, const std::vector<const Fix*>& fixes,
                                  const DeviceSource& devices);

// The same for files without imports and devices.
[[nodiscard]] Applied apply_fixes(std::string_view text, const std::vector<const Fix*>& fixes);

}  // namespace torchport::edit
