// What torch's own conventions make of a pickle: tensors, storages, names.
#pragma once

#include <functional>

#include "runtime/checkpoint/contents.h"
#include "runtime/checkpoint/pickle.h"

namespace torchport::checkpoint {

// Adds what the pickle's root holds to `contents`: every tensor under the path that a state dict
// would have for it, other values beside them, globals, and notes on both. Storages get their key,
// dtype, device and declared size; where their bytes are is for the caller to add.
void add_pickled(const Pickle& pickle, Contents& contents);

// What torch's safe unpickler refuses, once all globals are in.
void judge_globals(Contents& contents);

}  // namespace torchport::checkpoint
