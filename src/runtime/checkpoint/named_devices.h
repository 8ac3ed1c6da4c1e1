// The devices that the code of an archive names: TorchScript's code, or the graph of torch.export.
#pragma once

#include <set>
#include <string>

#include "runtime/checkpoint/archive.h"

namespace torchport::checkpoint {

// "cuda:0", "cpu". What moves tensors when the file is loaded does not change them. Empty for
// archives of tensors, and for parts that cannot be read.
[[nodiscard]] std::set<std::string> named_devices(const Archive& archive);

}  // namespace torchport::checkpoint
