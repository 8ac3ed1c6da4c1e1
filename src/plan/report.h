// The report of `torchport plan`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plan/plan.h"

namespace torchport::plan {

[[nodiscard]] std::string as_text(const Plan& plan);

// Why the plan is only of a part of the program, in words that begin in lower case; empty if it is
// of all.
[[nodiscard]] std::string what_is_left_out(const Plan& plan);
[[nodiscard]] std::string as_json(const Plan& plan);

// "fits, 12.3 GiB left", "does not fit: needs ...", in one line.
[[nodiscard]] std::string in_a_line(const Plan& plan);

// Plans of the same program on devices of several profiles, each with the profile's name.
using Plans = std::vector<std::pair<std::string, Plan>>;
[[nodiscard]] std::string comparison_as_text(const Plans& plans);
[[nodiscard]] std::string comparison_as_json(const Plans& plans);

// A program as it is, or with a change.
struct Alternative {
  std::string name;
  std::string not_done;  // why there are no figures; empty if there are
  Plan plan;
};
using Alternatives = std::vector<Alternative>;

[[nodiscard]] std::string alternatives_heading();
[[nodiscard]] std::string alternative_as_text(const Alternative& alternative);
[[nodiscard]] std::string alternatives_as_json(const Alternatives& alternatives);

}  // namespace torchport::plan
