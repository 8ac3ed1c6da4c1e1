#include "runtime/virtual/core/shutdown.h"

#include <cstdio>
#include <exception>

#include <ATen/ops/empty.h>
#include <c10/core/AutogradState.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <pthread.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/streams.h"

namespace torchport::vdev {

namespace {

std::atomic<bool> forked{false};
const int kInChildren = pthread_atfork(nullptr, nullptr, [] {
  forked = true;
  device_was_used = false;
});

}  // namespace

void wait_for_autograd() {
  if (!device_was_used) return;
  const c10::InferenceMode no_inference(false);
  const c10::AutoGradMode with_grad(true);
  // Python modes that are still active at the end are not called.
  const c10::impl::ExcludeDispatchKeyGuard no_modes(
      c10::DispatchKeySet({c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot,
                           c10::DispatchKey::TESTING_ONLY_GenericMode}));
  show_devices(Runtime::get().count());
  // A thread runs its tasks one after another. So when it runs this one, which holds no Python
  // object, it has finished those before.
  for (c10::DeviceIndex i = 0; i < Runtime::get().count(); ++i) {
    const at::Tensor leaf =
        at::empty({0}, at::TensorOptions().device(Runtime::get().kind().type, i));
    leaf.requires_grad_();
    leaf.view({0}).backward(at::empty({0}, leaf.options()));
  }
}

// For ctypes, which releases Python's lock during the call. An operator would be shown to modes.
extern "C" [[gnu::used, gnu::visibility("default")]] void torchport_wait_for_autograd() {
  try {
    wait_for_autograd();
  } catch (const std::exception& error) {
    // In a forked child this error is expected: the child does not have its parent's threads, and
    // autograd refuses to start new ones if the parent had some.
    if (!forked)
      std::fprintf(stderr, "torchport: error at the end of the process: %s\n", error.what());
  }
}

}  // namespace torchport::vdev
