// Turns changed texts into the protocol's workspace edits, and findings into the texts that a fix
// or a comment makes of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "source/server/session.h"

namespace torchport::server {

// Whether the file may be edited at all: what is not Python now could not be judged afterwards.
[[nodiscard]] bool may_edit(const Analysis& analysis);

// The edit that gives the parts of an analysis these texts. None if nothing differs.
[[nodiscard]] std::optional<Json> workspace_edit(const Session& session, const Analysis& analysis,
                                                 const std::vector<std::string>& parts);

// The parts after one finding's fix. Empty if it has none that can be applied, or if the result
// would not be Python.
[[nodiscard]] std::vector<std::string> parts_after_fix(const Analysis& analysis,
                                                       const rules::Finding& finding);
// The parts after all safe fixes, as `torchport fix` makes them. Empty if they cannot be made.
[[nodiscard]] std::vector<std::string> parts_after_all(const Analysis& analysis,
                                                       const Job::Stop& stop);
// The parts with a comment that silences the finding. Empty where a comment cannot stand.
[[nodiscard]] std::vector<std::string> parts_with_ignore(const Analysis& analysis,
                                                         const rules::Finding& finding);

}  // namespace torchport::server
