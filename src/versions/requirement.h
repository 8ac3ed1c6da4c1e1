// Reads requirements on Python packages as projects state them.
//
// This is the only reader of requirement lines in C++. The rules look at what a line ties to CUDA,
// the settings take the oldest torch from it, and containers and workflows choose a version by it.
// It reads PEP 508 without evaluating the marker, PEP 440's specifiers over the versions of
// version.h, and Poetry's "^2.1" and "~2.1". Python's `packaging` cannot do it, because the program
// runs without Python.
//
// All functions are thread safe and take any text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace torchport::versions {

struct Requirement {
  std::string name;       // normalised: "torch-geometric"
  std::string specifier;  // ">=2.0,<3", without blanks; empty for any version
};

// Reads one requirement: "torch[opt-einsum] >= 2.0, <3 ; python_version > '3.8'". A requirement
// with a URL ("torch @ https://...") has no specifier. Returns none for options of pip, bare URLs
// and text that is not a requirement.
[[nodiscard]] std::optional<Requirement> parse_requirement(std::string_view text);

// The name at the start of a requirement, as written: "Torch_Geometric". It may be empty. Valid as
// long as `text`.
[[nodiscard]] std::string_view written_name(std::string_view text);

// Normalises a name by PEP 503: "Torch_Geometric" -> "torch-geometric".
[[nodiscard]] std::string normalised_name(std::string_view name);

// Whether the specifier allows a release ("2.13.0"). The local part after == is ignored. None for a
// specifier that cannot be read.
[[nodiscard]] std::optional<bool> allows(std::string_view specifier, std::string_view version);

// The only version that a specifier allows: "2.1.0+cu118" for "==2.1.0+cu118". Empty if it allows
// more than one.
[[nodiscard]] std::string pinned(std::string_view specifier);

// The lower bound of a specifier: "2.0" for ">=2.0,<3", "2.1.0" for "==2.1.0". Empty if it has
// none.
[[nodiscard]] std::string lower_bound(std::string_view specifier);

}  // namespace torchport::versions
