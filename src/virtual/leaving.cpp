#include "virtual/leaving.h"

#include <ATen/ops/empty.h>
#include <c10/core/AutogradState.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <pthread.h>
#include <torch/library.h>

#include "virtual/runtime.h"
#include "virtual/streams.h"

namespace torchport::vdev {

namespace {

// A child has none of its parent's threads, and may not start autograd's where the parent had them.
const int kOfThisProcess = pthread_atfork(nullptr, nullptr, [] { device_was_used = false; });

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("wait_for_autograd() -> ()", &wait_for_autograd);
}

}  // namespace

void wait_for_autograd() {
  if (!device_was_used) return;
  const c10::InferenceMode no_inference(false);
  const c10::AutoGradMode with_grad(true);
  const c10::impl::ExcludeDispatchKeyGuard unwatched(c10::DispatchKey::TESTING_ONLY_GenericMode);
  show_devices(Runtime::get().count());
  // A thread takes its tasks one after another: when it is at this one, which holds nothing of
  // Python's, it is done with those before.
  for (c10::DeviceIndex i = 0; i < Runtime::get().count(); ++i) {
    const at::Tensor leaf =
        at::empty({0}, at::TensorOptions().device(Runtime::get().kind().type, i));
    leaf.requires_grad_();
    leaf.view({0}).backward(at::empty({0}, leaf.options()));
  }
}

}  // namespace torchport::vdev
