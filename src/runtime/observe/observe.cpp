// Implements Observation: a session of the observer that its owner begins and ends.
#include <c10/util/Exception.h>
#include <torchport/observe.h>

#include "runtime/observe/session.h"

namespace torchport {

std::uintptr_t tensor_number(const at::Tensor& tensor) {
  return reinterpret_cast<std::uintptr_t>(tensor.unsafeGetTensorImpl());
}

std::uintptr_t storage_number(const at::Tensor& tensor) {
  return reinterpret_cast<std::uintptr_t>(
      tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl());
}

Observation::Observation(ObserveOptions options)
    : session_(std::make_shared<observe::Session>(std::move(options))) {
  observer::start(session_);
}

Observation::~Observation() {
  if (!finished_) static_cast<void>(finish());
}

Observed Observation::finish() {
  TORCH_CHECK(!finished_, "torchport: finish() was called twice on one Observation; call it once");
  finished_ = true;
  detach_thread();
  return observe::summarize(session_->take_log());
}

void Observation::attach_thread() {
  observer::join_this_thread({session_});
}

void Observation::detach_thread() {
  observer::leave_this_thread(*session_);
}

bool Observation::watches_this_thread() const {
  return observer::hears_this_thread(*session_);
}

bool Observation::enter(std::uint32_t module) {
  return session_->enter(module);
}

bool Observation::leave() {
  return session_->leave();
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
