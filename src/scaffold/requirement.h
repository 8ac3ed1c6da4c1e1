// Requirements on Python packages as projects state them, as far as choosing a version takes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace torchport::scaffold {

struct Requirement {
  std::string name;       // normalised: "torch-geometric"
  std::string specifier;  // ">=2.0,<3"; empty for any version
  std::string file;       // where it stands, relative to the project
  std::uint32_t line = 0;
};

// One requirement of pip: "torch[opt-einsum] >= 2.0, <3 ; python_version > '3.8'". Nothing for
// options, addresses and what is no requirement.
[[nodiscard]] std::optional<Requirement> parse_requirement(std::string_view text);

// "Torch_Geometric" -> "torch-geometric".
[[nodiscard]] std::string normalised_name(std::string_view name);

// Whether a release ("2.13.0") is one of those that the specifier allows (PEP 440; of a version
// behind == its local part is left out). Also Poetry's "^2.1" and "~2.1". Nothing for a specifier
// that cannot be read.
[[nodiscard]] std::optional<bool> allows(std::string_view specifier, std::string_view version);

// "2.1.0+cu118" of "==2.1.0+cu118"; empty where it names no single version.
[[nodiscard]] std::string pinned(std::string_view specifier);

}  // namespace torchport::scaffold
