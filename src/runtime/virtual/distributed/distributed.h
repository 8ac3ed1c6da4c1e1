// Runs collectives over tensors on virtual devices.
//
// A process group's backend gets CPU tensors over the bytes of the virtual ones, so gloo runs
// unchanged. The backend under the name of a device's own library (nccl) is gloo with that
// library's rules (distributed_nccl.cpp).
#pragma once

#include <memory>

#include <ATen/core/ivalue.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "runtime/virtual/core/alias.h"

namespace torchport::vdev {

// Registers kernels for the operators c10d::* under the keys of the virtual devices. Call it once,
// after libtorch_cpu has registered its own.
void register_distributed();

// Registers the timer for DistributedDataParallel's logger; register_distributed() calls it.
void register_timer();

// A collective that a backend runs over aliases, as the program sees it: its results and futures
// hold the tensors of the virtual devices. It keeps those tensors alive until it is destroyed.
class DeviceWork final : public c10d::Work {
 public:
  DeviceWork(c10::intrusive_ptr<c10d::Work> inner, std::shared_ptr<Aliases> aliases);

  bool isCompleted() override { return inner_->isCompleted(); }
  bool isSuccess() const override { return inner_->isSuccess(); }
  std::exception_ptr exception() const override { return inner_->exception(); }
  int sourceRank() const override { return inner_->sourceRank(); }
  std::vector<at::Tensor> result() override;
  void synchronize() override { inner_->synchronize(); }
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override {
    return inner_->wait(timeout);
  }
  void blockCurrentStream() override { inner_->wait(); }
  void abort() override { inner_->abort(); }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFutureResult() override {
    return inner_->getFutureResult();
  }
  float getDuration() const override { return inner_->getDuration(); }
  uint64_t getSequencenumber() const override { return inner_->getSequencenumber(); }

 private:
  c10::intrusive_ptr<c10d::Work> inner_;
  std::shared_ptr<Aliases> aliases_;
};

}  // namespace torchport::vdev
