// Says once that a folder is CUDA kernels, instead of once for each line in it.
#pragma once

#include <vector>

#include "source/project/check.h"
#include "source/project/verdicts.h"

namespace torchport::project {

// Replaces what is said about devices in a folder of kernels by one diagnostic of the rule
// kernel-folder, if that rule is selected and there are several. Diagnostics stay in order.
void fold_kernel_folders(const Verdicts& verdicts, const rules::Selection& selection,
                         std::vector<Diagnostic>& diagnostics);

}  // namespace torchport::project
