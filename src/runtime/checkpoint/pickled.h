// Interprets a pickle by torch's conventions: which calls rebuild tensors, which persistent ids
// name storages, and what a path in a state dict is called. The pickle reader itself knows nothing
// of torch, so that it can be tested and fuzzed alone.
#pragma once

#include <functional>

#include "runtime/checkpoint/contents.h"
#include "runtime/checkpoint/pickle.h"

namespace torchport::checkpoint {

// Adds everything under the pickle's root to `contents`: each tensor under the path that it would
// have in a state dict, other values beside them, the globals, and notes on both. Storages get
// their key, dtype, device and declared size; the caller adds where their bytes lie.
void add_pickled(const Pickle& pickle, Contents& contents);

// Fills in Contents::refused and its notes. Call it after the globals of all pickles were added.
void judge_globals(Contents& contents);

}  // namespace torchport::checkpoint
