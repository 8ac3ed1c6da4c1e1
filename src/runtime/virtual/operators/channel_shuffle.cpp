// Implements channel_shuffle as CUDA has it: of views and a copy (ChanelShuffle.cpp), so that its
// result is contiguous, and a view that is not possible is refused.
#include <ATen/ops/channel_shuffle_native.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

void put_channel_shuffle(torch::Library& aten) {
  if (Runtime::get().kind_name() != "cuda") return;
  aten.impl("channel_shuffle", TORCH_FN(at::native::channel_shuffle));
}

const OperatorGroup kChannelShuffle(&put_channel_shuffle);

}  // namespace

}  // namespace torchport::vdev
