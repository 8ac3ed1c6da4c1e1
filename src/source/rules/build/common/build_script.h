// Decides whether a Python file is a build script, and what in it belongs to CUDA.
#pragma once

#include "source/rules/rule.h"

namespace torchport::rules {

// Whether the file is setup.py or the like, or imports setup() or torch's extension classes.
[[nodiscard]] bool is_build_file(const PythonContext& context);

// Whether the code selects or creates extensions: CUDAExtension, ".cu" sources, `ext_modules`.
[[nodiscard]] bool chooses_extension(const semantics::SemanticModel& model, syntax::Node range);

// Whether the file reads FORCE_CUDA or the like, which overrides what it detects.
[[nodiscard]] bool has_override(const semantics::SemanticModel& model);

}  // namespace torchport::rules
