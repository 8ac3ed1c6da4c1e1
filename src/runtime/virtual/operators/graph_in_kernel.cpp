#include "runtime/virtual/operators/graph_in_kernel.h"

#include <mutex>

#include <torch/csrc/autograd/anomaly_mode.h>

namespace torchport::vdev {

namespace {

using at::SavedTensorDefaultHooks;
using torch::autograd::AnomalyMode;

c10::impl::LocalDispatchKeySet keys_with_autograd() {
  c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
  keys.excluded_ = keys.excluded_ - c10::autograd_dispatch_keyset_with_ADInplaceOrView;
  return keys;
}

// PyTorch has one switch of the search for anomalies for all threads: the last graph that needs it
// off turns it on again.
class AnomalySwitch {
 public:
  static AnomalySwitch& get() {
    static auto* the_switch = new AnomalySwitch();
    return *the_switch;
  }

  void off() {
    const std::scoped_lock lock(mutex_);
    if (graphs_++ == 0) was_on_ = AnomalyMode::is_enabled();
    if (was_on_) AnomalyMode::set_enabled(false, AnomalyMode::should_check_nan());
  }

  void restore() {
    const std::scoped_lock lock(mutex_);
    if (--graphs_ == 0 && was_on_) AnomalyMode::set_enabled(true, AnomalyMode::should_check_nan());
  }

 private:
  std::mutex mutex_;
  int graphs_ = 0;
  bool was_on_ = false;
};

}  // namespace

GraphInKernel::GraphInKernel()
    : hooks_(SavedTensorDefaultHooks::get_tls_state()), keys_(keys_with_autograd()) {
  SavedTensorDefaultHooks::set_tls_state({});
  AnomalySwitch::get().off();
}

GraphInKernel::~GraphInKernel() {
  AnomalySwitch::get().restore();
  SavedTensorDefaultHooks::set_tls_state(hooks_);
}

}  // namespace torchport::vdev
