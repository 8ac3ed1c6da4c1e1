// Finds what ties a requirement of pip or conda to CUDA. requirements files, setup.py,
// pyproject.toml and Dockerfiles contain the same requirements, so their rules share this code.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "source/rules/rule.h"

namespace torchport::rules {

struct Pin {
  base::Span span;  // relative to the given text
  std::string message;
  Fix fix;  // edits relative to the given text; report_pin() shifts them
};

// Examines one requirement as pip reads it: "torch==1.6.0+cu101", "cupy-cuda11x>=9", "torch @
// https://...". A package that exists only for CUDA is not a pin if it has an environment marker
// (`; sys_platform == "linux"`), because then somebody chose it.
[[nodiscard]] std::optional<Pin> pin_of_requirement(std::string_view requirement);

// Examines one requirement of conda: "cudatoolkit=10.2", "pytorch-cuda=11.8",
// "pytorch=1.7=py3.8_cuda11".
[[nodiscard]] std::optional<Pin> pin_of_conda(std::string_view requirement);

// Finds an index that serves only CUDA builds: "https://download.pytorch.org/whl/cu118" in a line
// of options.
[[nodiscard]] std::optional<Pin> pin_of_index(std::string_view text);

// Reports the pin at `offset` of the file.
void report_pin(Reporter& reporter, Pin pin, std::uint32_t offset);

// Whether the file's name says that it is the CUDA variant of another one: requirements-gpu.txt,
// Dockerfile.cuda.
[[nodiscard]] bool is_cuda_variant(std::string_view path);

}  // namespace torchport::rules
