// What makes a Python file a build script, and what in it belongs to CUDA.
#pragma once

#include "source/rules/rule.h"

namespace torchport::rules {

// setup.py and the like, and files that import setup() or the extension classes of torch.
[[nodiscard]] bool is_build_file(const PythonContext& context);

// Whether the code chooses or makes extensions: CUDAExtension, ".cu" sources, `ext_modules`.
[[nodiscard]] bool chooses_extension(const semantics::SemanticModel& model, syntax::Node range);

// Whether the file reads FORCE_CUDA or the like: an override of what it finds by itself.
[[nodiscard]] bool has_override(const semantics::SemanticModel& model);

}  // namespace torchport::rules
