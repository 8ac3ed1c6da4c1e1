// Requirements on Python packages as projects state them.
//
// This is the one reader of requirement lines in C++: for the rules, which look at what a line ties
// to CUDA; for the settings, which take the oldest torch from it; for containers and workflows,
// which choose a version by it. It reads PEP 508 without evaluating the marker, PEP 440's
// specifiers over the versions of version.h, and Poetry's "^2.1" and "~2.1". `packaging` cannot be
// asked: the program runs without Python.
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

// One requirement: "torch[opt-einsum] >= 2.0, <3 ; python_version > '3.8'". A requirement with an
// address ("torch @ https://...") has no specifier. Nothing for options of pip, bare addresses and
// text that is not a requirement.
[[nodiscard]] std::optional<Requirement> parse_requirement(std::string_view text);

// The name at the start of a requirement, as it is written: "Torch_Geometric". May be empty. Valid
// as long as `text`.
[[nodiscard]] std::string_view written_name(std::string_view text);

// PEP 503, so far as names of packages differ: "Torch_Geometric" -> "torch-geometric".
[[nodiscard]] std::string normalised_name(std::string_view name);

// Whether the specifier allows a release ("2.13.0"). The local part behind == is ignored. Nothing
// for a specifier that cannot be read.
[[nodiscard]] std::optional<bool> allows(std::string_view specifier, std::string_view version);

// "2.1.0+cu118" of "==2.1.0+cu118"; empty where the specifier does not name a single version.
[[nodiscard]] std::string pinned(std::string_view specifier);

// The highest version that the specifier states as its floor: "2.0" of ">=2.0,<3", "2.1.0" of
// "==2.1.0". Empty where it states none.
[[nodiscard]] std::string lower_bound(std::string_view specifier);

}  // namespace torchport::versions
