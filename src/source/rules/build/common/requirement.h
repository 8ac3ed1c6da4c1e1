// What a requirement (of pip or conda) ties to CUDA. The same words stand in
// requirements files, setup.py, pyproject.toml and Dockerfiles.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "source/rules/rule.h"

namespace torchport::rules {

struct Pin {
  base::Span span;  // within the text that was given
  std::string message;
  Fix fix;  // edits within the text that was given; move_by() shifts them
};

// One requirement as pip reads it: "torch==1.6.0+cu101", "cupy-cuda11x>=9", "torch @ https://...".
// Requirements with an environment marker (`; sys_platform == "linux"`) that are CUDA-only packages
// are somebody's choice and no pins.
[[nodiscard]] std::optional<Pin> pin_of_requirement(std::string_view requirement);

// One requirement of conda: "cudatoolkit=10.2", "pytorch-cuda=11.8", "pytorch=1.7=py3.8_cuda11".
[[nodiscard]] std::optional<Pin> pin_of_conda(std::string_view requirement);

// An index that serves CUDA builds only: "https://download.pytorch.org/whl/cu118" in a line of
// options.
[[nodiscard]] std::optional<Pin> pin_of_index(std::string_view text);

// Reports the pin at `offset` of the file.
void report_pin(Reporter& reporter, Pin pin, std::uint32_t offset);

// Whether the file's name says that it is the CUDA variant: requirements-gpu.txt, Dockerfile.cuda.
[[nodiscard]] bool is_cuda_variant(std::string_view path);

}  // namespace torchport::rules
