// Autograd over the CPU's tensors inside of a kernel.
#pragma once

#include <ATen/SavedTensorHooks.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

namespace torchport::vdev {

// Lets operators of the CPU record a graph inside of a kernel, and run it backward, as long as it
// lives. The program does not see that: its hooks of saved tensors get none of this graph, and
// torch.autograd.detect_anomaly() looks only at the operator. Of the calling thread.
class GraphInKernel {
 public:
  GraphInKernel();
  ~GraphInKernel();
  GraphInKernel(const GraphInKernel&) = delete;
  GraphInKernel& operator=(const GraphInKernel&) = delete;
  GraphInKernel(GraphInKernel&&) = delete;
  GraphInKernel& operator=(GraphInKernel&&) = delete;

 private:
  at::impl::SavedTensorDefaultHooksTLS hooks_;
  c10::InferenceMode no_inference_{false};
  c10::AutoGradMode grad_{true};
  c10::impl::ForceDispatchKeyGuard keys_;
};

}  // namespace torchport::vdev
