// Fixes notebooks by the Python rules.
#pragma once

#include <string>

#include "source/project/check.h"
#include "source/rules/converge.h"

namespace torchport::project {

// The fixed notebook. The JSON outside of the changed source lines keeps its bytes.
[[nodiscard]] base::Result<rules::Converged> converge_notebook(const std::string& path,
                                                               const std::string& source,
                                                               const CheckOptions& options,
                                                               edit::Applicability tier,
                                                               rules::Deadline* deadline = nullptr);

}  // namespace torchport::project
