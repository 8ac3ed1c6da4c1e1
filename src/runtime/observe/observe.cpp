// Implements Observation: a listener that its owner starts and stops.
#include <c10/util/Exception.h>
#include <torchport/observe.h>

#include "runtime/observe/observation_listener.h"

namespace torchport {

std::uintptr_t tensor_number(const at::Tensor& tensor) {
  return reinterpret_cast<std::uintptr_t>(tensor.unsafeGetTensorImpl());
}

std::uintptr_t storage_number(const at::Tensor& tensor) {
  return reinterpret_cast<std::uintptr_t>(
      tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl());
}

Observation::Observation(ObserveOptions options)
    : listener_(std::make_shared<observe::ObservationListener>(std::move(options))) {
  observer::start(listener_);
}

Observation::~Observation() {
  if (!finished_) static_cast<void>(finish());
}

Observed Observation::finish() {
  TORCH_CHECK(!finished_, "torchport: finish() was called twice on one Observation; call it once");
  finished_ = true;
  detach_thread();
  return observe::summarize(listener_->take_log());
}

void Observation::attach_thread() {
  observer::join_this_thread({listener_});
}

void Observation::detach_thread() {
  observer::leave_this_thread(*listener_);
}

bool Observation::watches_this_thread() const {
  return observer::hears_this_thread(*listener_);
}

bool Observation::enter(std::uint32_t module) {
  return listener_->enter(module);
}

bool Observation::leave() {
  return listener_->leave();
}

ObservedThread ObservedThread::current() {
  ObservedThread thread;
  thread.listeners_ = observer::joined_by_this_thread();
  return thread;
}

void ObservedThread::join() const {
  observer::join_this_thread(*listeners_);
}

}  // namespace torchport
