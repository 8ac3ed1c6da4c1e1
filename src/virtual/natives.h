// Kernels that are not the CPU's, by group: each registers under the key that `aten` was made for.
#pragma once

#include <torch/library.h>

namespace torchport::vdev {

void register_natives(torch::Library& aten);    // memory: empty, as_strided, set_
void register_attention(torch::Library& aten);  // scaled dot product attention
void register_softmax(torch::Library& aten);    // softmax from half precision into float

}  // namespace torchport::vdev
