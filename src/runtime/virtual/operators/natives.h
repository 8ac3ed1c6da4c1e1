// Kernels that are not the CPU's, by group: each registers under the key that `aten` was made for.
#pragma once

#include <torch/library.h>

namespace torchport::vdev {

void register_natives(torch::Library& aten);          // memory: empty, as_strided, set_
void register_quantized(torch::Library& aten);        // memory of quantized tensors
void register_attention(torch::Library& aten);        // scaled dot product attention
void register_flash_attention(torch::Library& aten);  // FlashAttention's own operators
void register_cuda_only(torch::Library& aten);        // what only CUDA has, in no other group
void register_cudnn(torch::Library& aten);            // what cuDNN has under names of its own
void register_rnn(torch::Library& aten);              // fused LSTM and GRU cells
void register_rnn_layers(torch::Library& aten);       // whole recurrent layers; autograd's, too
void register_sync_batch_norm(torch::Library& aten);  // the parts of SyncBatchNorm
void register_softmax(torch::Library& aten);          // softmax from half precision into float

}  // namespace torchport::vdev
