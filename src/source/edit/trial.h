// Knows the trial at the end of a module: what stands below `if __name__ == "__main__":`.
#pragma once

#include "source/syntax/tree.h"

namespace torchport::edit {

// The statement of that block that a node is in, or is; invalid for a node elsewhere.
[[nodiscard]] syntax::Node statement_of_trial(syntax::Node node);

}  // namespace torchport::edit
