// Implements the collectives of ranks that are assumed to be alike. What another rank would send is
// what this rank has: a sum is this rank's tensor times the number of ranks, and each part of a
// gathered tensor is this rank's part. Nothing is sent, and no memory is taken beside the program's
// own tensors. What only another rank could know is zero.
#include "runtime/virtual/distributed/alike_ranks.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/custom_class.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/planning/communicator_record.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::intrusive_ptr;
using c10d::ReduceOp;
using c10d::Work;
using Tensors = std::vector<Tensor>;

// A work that is complete from the beginning.
class Done final : public Work {
 public:
  Done(c10d::OpType type, Tensors results) : Work(-1, type), results_(std::move(results)) {}

  bool isCompleted() override { return true; }
  bool isSuccess() const override { return true; }
  bool wait(std::chrono::milliseconds) override { return true; }
  void synchronize() override {}
  void blockCurrentStream() override {}
  Tensors result() override { return results_; }
  intrusive_ptr<c10::ivalue::Future> getFuture() override {
    std::vector<c10::Device> devices;
    for (c10::DeviceIndex i = 0; i < Runtime::get().count(); ++i)
      devices.emplace_back(Runtime::get().kind().type, i);
    auto future = c10::make_intrusive<c10::ivalue::Future>(
        c10::ListType::create(c10::TensorType::get()), std::move(devices));
    future->markCompleted(c10::IValue(results_));
    return future;
  }

 private:
  Tensors results_;
};

intrusive_ptr<Work> done(c10d::OpType type, Tensors results = {}) {
  return c10::make_intrusive<Done>(type, std::move(results));
}

// Elements are copied in their order, whatever the shapes. Tensors with other numbers of elements
// come from a rank that is not alike: zeros stand for them.
void give(const Tensor& to, const Tensor& from) {
  if (to.is_same(from)) return;
  if (to.numel() != from.numel()) {
    to.zero_();
  } else if (to.sizes() == from.sizes()) {
    to.copy_(from);
  } else {
    to.copy_(from.reshape(to.sizes()));
  }
}

// Makes of one rank's tensor what `ranks` alike ones give together.
void combine(const Tensor& tensor, const ReduceOp& op, int ranks) {
  const bool is_bool = tensor.scalar_type() == at::kBool;
  switch (op.op_) {
    case ReduceOp::SUM:
      if (!is_bool) tensor.mul_(ranks);
      break;
    case ReduceOp::PRODUCT:
      if (!is_bool) tensor.pow_(ranks);
      break;
    case ReduceOp::BXOR:
      if (ranks % 2 == 0) tensor.zero_();
      break;
    case ReduceOp::PREMUL_SUM: {
      // torch 2.13 has a new name for this class, and keeps this one.
      const auto* factor = static_cast<c10d::NCCLPreMulSumSupplement*>(op.supplement_.get());
      if (factor->tensor_factor.defined())
        tensor.mul_(factor->tensor_factor).mul_(ranks);
      else
        tensor.mul_(factor->double_factor * ranks);
      break;
    }
    default:  // the average, the least, the largest, each bit of all or any: the tensor itself
      break;
  }
}

// The buffer that ProcessGroupNCCL takes for a list of tensors of a device, to have them in one
// piece (newLikeFlat() of its allgather and reduce_scatter).
Tensor flat_buffer(const Tensors& tensors) {
  if (tensors.empty() || tensors.front().is_cpu()) return {};
  std::int64_t count = 0;
  for (const Tensor& tensor : tensors) count += tensor.numel();
  return at::empty({count}, tensors.front().options());
}

class AlikeRanks final : public c10d::Backend {
 public:
  AlikeRanks(std::string name, int rank, int size)
      : Backend(rank, size),
        name_(std::move(name)),
        options_(c10::make_intrusive<Options>(name_, kBackendDefaultTimeout)) {
    init();
  }

  const std::string getBackendName() const override { return name_; }
  intrusive_ptr<Options> getBackendOptions() override { return options_; }
  bool supportsSplitting() const override { return true; }
  bool supportsCoalescing() const override { return true; }
  void setTimeout(std::chrono::milliseconds timeout) override { options_->timeout = timeout; }
  void setSequenceNumberForGroup() override {}
  uint64_t getSequenceNumberForGroup() override { return 0; }
  c10d::ErrorType getError() override { return c10d::ErrorType::SUCCESS; }
  void monitoredBarrier(const c10d::BarrierOptions&, bool) override {}
  void eagerConnectSingleDevice(at::Device device) override {
    record_eager_communicator(*this, device.index());
  }

  intrusive_ptr<Backend> split(const intrusive_ptr<c10d::Store>&, const std::vector<int>& ranks,
                               const intrusive_ptr<Options>&) override {
    const auto own = std::find(ranks.begin(), ranks.end(), rank_);
    if (own == ranks.end()) return nullptr;
    return c10::make_intrusive<AlikeRanks>(name_, static_cast<int>(own - ranks.begin()),
                                           static_cast<int>(ranks.size()));
  }

  // DistributedDataParallel asks for the results.
  void startCoalescing() override {
    record_coalescing(*this, true);
    coalesced_.emplace();
  }
  intrusive_ptr<Work> endCoalescing() override {
    record_coalescing(*this, false);
    return done(c10d::OpType::COALESCED,
                std::exchange(coalesced_, std::nullopt).value_or(Tensors()));
  }

  intrusive_ptr<Work> broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) override {
    // Another rank's value is its own: parameters and seeds are alike.
    (void)opts;
    return given(c10d::OpType::BROADCAST, tensors);
  }

  intrusive_ptr<Work> allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) override {
    const at::AutoDispatchBelowAutograd below;
    for (const Tensor& tensor : tensors) combine(tensor, opts.reduceOp, size_);
    return given(c10d::OpType::ALLREDUCE, tensors);
  }
  intrusive_ptr<Work> allreduce_sparse(Tensors& tensors,
                                       const c10d::AllreduceOptions& opts) override {
    return allreduce(tensors, opts);
  }
  intrusive_ptr<Work> allreduce_coalesced(Tensors& tensors,
                                          const c10d::AllreduceCoalescedOptions& opts) override {
    return allreduce(tensors, opts);
  }

  intrusive_ptr<Work> reduce(Tensors& tensors, const c10d::ReduceOptions& opts) override {
    const at::AutoDispatchBelowAutograd below;
    if (opts.rootRank == rank_)
      for (const Tensor& tensor : tensors) combine(tensor, opts.reduceOp, size_);
    return given(c10d::OpType::REDUCE, tensors);
  }

  intrusive_ptr<Work> allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                const c10d::AllgatherOptions&) override {
    const at::AutoDispatchBelowAutograd below;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Tensor held = flat_buffer(outputs[i]);
      for (const Tensor& output : outputs[i]) give(output, inputs.at(i));
    }
    return given(c10d::OpType::ALLGATHER, outputs.empty() ? Tensors{} : outputs.front());
  }

  intrusive_ptr<Work> _allgather_base(Tensor& output, Tensor& input,
                                      const c10d::AllgatherOptions&) override {
    gather_into(output, input);
    return given(c10d::OpType::_ALLGATHER_BASE, {output});
  }
  intrusive_ptr<Work> allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                      const c10d::AllgatherOptions&) override {
    for (std::size_t i = 0; i < inputs.size(); ++i) gather_into(outputs.at(i), inputs[i]);
    return given(c10d::OpType::COALESCED, outputs);
  }
  intrusive_ptr<Work> allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions&) override {
    const at::AutoDispatchBelowAutograd below;
    for (const Tensors& of_rank : outputs)
      for (std::size_t i = 0; i < inputs.size(); ++i) give(of_rank.at(i), inputs[i]);
    return given(c10d::OpType::COALESCED);
  }

  intrusive_ptr<Work> gather(std::vector<Tensors>& outputs, Tensors& inputs,
                             const c10d::GatherOptions& opts) override {
    const at::AutoDispatchBelowAutograd below;
    if (opts.rootRank == rank_)
      for (const Tensor& output : outputs.at(0)) give(output, inputs.at(0));
    return given(c10d::OpType::GATHER, outputs.empty() ? Tensors{} : outputs.front());
  }

  intrusive_ptr<Work> scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                              const c10d::ScatterOptions& opts) override {
    const at::AutoDispatchBelowAutograd below;
    if (opts.rootRank == rank_)
      give(outputs.at(0), inputs.at(0).at(static_cast<std::size_t>(rank_)));
    else
      outputs.at(0).zero_();
    return given(c10d::OpType::SCATTER, outputs);
  }

  intrusive_ptr<Work> reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                     const c10d::ReduceScatterOptions& opts) override {
    const at::AutoDispatchBelowAutograd below;
    const Tensor held = flat_buffer(inputs.at(0));
    give(outputs.at(0), inputs[0].at(static_cast<std::size_t>(rank_)));
    combine(outputs[0], opts.reduceOp, size_);
    return given(c10d::OpType::REDUCE_SCATTER, outputs);
  }
  intrusive_ptr<Work> _reduce_scatter_base(Tensor& output, Tensor& input,
                                           const c10d::ReduceScatterOptions& opts) override {
    reduce_into(output, input, opts.reduceOp);
    return given(c10d::OpType::_REDUCE_SCATTER_BASE, {output});
  }
  intrusive_ptr<Work> reduce_scatter_tensor_coalesced(
      Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& opts) override {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      reduce_into(outputs.at(i), inputs[i], opts.reduceOp);
    return given(c10d::OpType::COALESCED, outputs);
  }

  // Each rank sends its part number `rank_` to this one.
  intrusive_ptr<Work> alltoall_base(Tensor& output, Tensor& input,
                                    std::vector<std::int64_t>& output_sizes,
                                    std::vector<std::int64_t>& input_sizes,
                                    const c10d::AllToAllOptions&) override {
    const at::AutoDispatchBelowAutograd below;
    const Tensor part = parts(input, input_sizes).at(static_cast<std::size_t>(rank_));
    for (const Tensor& one : parts(output, output_sizes)) give(one, part);
    return given(c10d::OpType::ALLTOALL_BASE, {output});
  }
  intrusive_ptr<Work> alltoall(Tensors& outputs, Tensors& inputs,
                               const c10d::AllToAllOptions&) override {
    const at::AutoDispatchBelowAutograd below;
    for (const Tensor& one : outputs) give(one, inputs.at(static_cast<std::size_t>(rank_)));
    return given(c10d::OpType::ALLTOALL, outputs);
  }

  intrusive_ptr<Work> send(Tensors& tensors, int, int) override {
    return given(c10d::OpType::SEND, tensors);
  }
  intrusive_ptr<Work> recv(Tensors& tensors, int, int) override {
    const at::AutoDispatchBelowAutograd below;
    for (const Tensor& tensor : tensors) tensor.zero_();
    return given(c10d::OpType::RECV, tensors);
  }
  intrusive_ptr<Work> recvAnysource(Tensors& tensors, int tag) override {
    return recv(tensors, 0, tag);
  }
  intrusive_ptr<Work> barrier(const c10d::BarrierOptions&) override {
    return given(c10d::OpType::BARRIER);
  }

 private:
  intrusive_ptr<Work> given(c10d::OpType type, Tensors results = {}) {
    if (coalesced_) coalesced_->insert(coalesced_->end(), results.begin(), results.end());
    return done(type, std::move(results));
  }

  void gather_into(const Tensor& output, const Tensor& input) const {
    const at::AutoDispatchBelowAutograd below;
    TORCH_CHECK_VALUE(output.numel() == input.numel() * size_,
                      "output tensor size must be equal to world_size times input tensor size");
    if (input.numel() == 0) return;
    output.view({size_, -1}).copy_(input.reshape({1, -1}).expand({size_, input.numel()}));
  }

  void reduce_into(const Tensor& output, const Tensor& input, const ReduceOp& op) const {
    const at::AutoDispatchBelowAutograd below;
    TORCH_CHECK_VALUE(input.numel() == output.numel() * size_,
                      "input tensor must be the same size as output size times world size");
    if (input.numel() == 0) return;
    give(output, input.view({size_, -1})[rank_]);
    combine(output, op, size_);
  }

  [[nodiscard]] Tensors parts(const Tensor& tensor, const std::vector<std::int64_t>& sizes) const {
    if (!sizes.empty()) return tensor.split_with_sizes(sizes);
    TORCH_CHECK_VALUE(tensor.dim() > 0 && tensor.size(0) % size_ == 0,
                      "Tensor's dim 0 does not divide equally across group size");
    return tensor.split(std::max<std::int64_t>(tensor.size(0) / size_, 1));
  }

  std::string name_;
  intrusive_ptr<Options> options_;
  std::optional<Tensors> coalesced_;  // the results since startCoalescing()
};

// Adds a backend of that name to the group, for the CPU and the virtual devices.
void add_alike_ranks(const intrusive_ptr<c10d::ProcessGroup>& group, const std::string& name) {
  const intrusive_ptr<c10d::Backend> backend =
      c10::make_intrusive<AlikeRanks>(name, group->getRank(), group->getSize());
  const auto type = c10d::ProcessGroup::strToBackendType(name);
  group->setBackend(c10::DeviceType::CPU, type, backend);
  group->setBackend(Runtime::get().kind().type, type, backend);
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("add_alike_ranks(__torch__.torch.classes.c10d.ProcessGroup group, str name) -> ()",
              &add_alike_ranks);
}

}  // namespace

bool ranks_are_alike() {
  static const bool kAlike = std::getenv("TORCHPORT_RANKS") != nullptr;
  return kAlike;
}

c10::intrusive_ptr<c10d::ProcessGroup> alike_group(
    const c10::intrusive_ptr<c10d::ProcessGroup>& group) {
  struct Known {
    c10::weak_intrusive_ptr<c10d::ProcessGroup> group;  // its address is not used again
    c10::intrusive_ptr<c10d::ProcessGroup> alike;
  };
  static std::mutex mutex;
  static auto* known = new std::map<c10d::ProcessGroup*, Known>;  // never destroyed
  const std::lock_guard lock(mutex);
  const auto found = known->find(group.get());
  if (found != known->end()) return found->second.alike;
  auto alike = c10::make_intrusive<c10d::ProcessGroup>(group->getStore(), group->getRank(),
                                                       group->getSize());
  add_alike_ranks(alike, "nccl");
  known->emplace(group.get(), Known{c10::weak_intrusive_ptr<c10d::ProcessGroup>(group), alike});
  return alike;
}

}  // namespace torchport::vdev
