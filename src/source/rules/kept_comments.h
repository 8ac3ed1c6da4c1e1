// Keeps the comments that lie in the code which a fix replaces.
#pragma once

#include "source/edit/edit.h"
#include "source/syntax/tree.h"

namespace torchport::rules {

// Adds edits to the fix that write the comments in its replaced code, and not in the new one, above
// the statement that they were in. A comment that a tool reads at its line (`# noqa`, `# type:`)
// cannot move, so that such a fix is only described. What deletes whole statements deletes their
// comments.
void keep_comments(const syntax::Tree& tree, edit::Fix& fix);

}  // namespace torchport::rules
