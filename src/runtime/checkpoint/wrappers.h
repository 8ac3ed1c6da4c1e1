// Lists the wrappers that training puts around a model. It is the only such list: loading and
// inspecting read the key prefixes here, and Python unwraps models by the attributes.
//
// The prefixes are those of the state dicts that programs save; FSDP and activation checkpointing
// remove theirs in state_dict(), but not in every way to save a model.
#pragma once

#include <array>
#include <string_view>

namespace torchport::checkpoint {

struct Wrapper {
  std::string_view name;        // as PyTorch's documentation calls it
  std::string_view key_prefix;  // with its dot
  std::string_view type;        // the Python class
  // The attribute of the wrapped model; empty if the wrapper stays, because it passes all
  // attributes on.
  std::string_view attribute;
};

inline constexpr std::array<Wrapper, 6> kWrappers{{
    {"DataParallel", "module.", "torch.nn.parallel.data_parallel.DataParallel", "module"},
    {"DistributedDataParallel", "module.", "torch.nn.parallel.distributed.DistributedDataParallel",
     "module"},
    {"AveragedModel", "module.", "torch.optim.swa_utils.AveragedModel", "module"},
    {"torch.compile", "_orig_mod.", "torch._dynamo.eval_frame.OptimizedModule", "_orig_mod"},
    {"FullyShardedDataParallel", "_fsdp_wrapped_module.",
     "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel", "module"},
    {"activation checkpointing", "_checkpoint_wrapped_module.",
     "torch.distributed.algorithms._checkpoint.checkpoint_wrapper.CheckpointWrapper", ""},
}};

}  // namespace torchport::checkpoint
