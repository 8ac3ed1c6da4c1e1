// The report of `torchport plan` as one page, which needs no network and no script.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "plan/plan.h"

namespace torchport::plan {

[[nodiscard]] std::string as_html(const Plan& plan);

// Writes the page and adds a line about it to the plan's notes. Fails with kIo.
[[nodiscard]] base::Result<void> write_page(Plan& plan, const std::filesystem::path& target);

}  // namespace torchport::plan
