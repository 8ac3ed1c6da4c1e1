// Implements the collectives of a device's own library, such as NCCL: gloo does the work, and the
// rules are those of the other library. It gets CPU tensors over the bytes of virtual ones
// (distributed.h).
//
// Like NCCL it takes a tensor for its bytes in memory: shapes do not matter, counts do.
#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/custom_class.h>
#include <torch/library.h>

#include "runtime/virtual/core/build_facts.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/distributed/distributed_parts.h"
#include "runtime/virtual/planning/communicator_record.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::intrusive_ptr;
using c10d::Work;
using Tensors = std::vector<Tensor>;
using Works = std::vector<intrusive_ptr<Work>>;

const Tensor& only(const Tensors& tensors) {
  TORCH_CHECK_VALUE(!tensors.empty(), "Tensor list must be nonempty");
  TORCH_CHECK_VALUE(tensors.size() == 1,
                    "torchport: collectives over several tensors of one process, one for each "
                    "device, are not supported; pass one tensor");
  return tensors.front();
}

bool same_size(const Tensors& tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [&](const Tensor& tensor) {
    return tensor.numel() == tensors.front().numel();
  });
}

Tensors all_bytes(const Tensors& tensors) {
  Tensors result;
  for (const Tensor& tensor : tensors) result.push_back(bytes_of(tensor));
  return result;
}

// Converts sizes along the first dimension into sizes in bytes.
std::vector<std::int64_t> byte_splits(const std::vector<std::int64_t>& splits,
                                      const Tensor& tensor) {
  const std::int64_t rows = tensor.dim() == 0 ? 1 : tensor.size(0);
  const std::int64_t row =
      rows == 0 ? 0 : tensor.numel() / rows * static_cast<std::int64_t>(tensor.itemsize());
  std::vector<std::int64_t> result;
  for (const std::int64_t split : splits) result.push_back(split * row);
  return result;
}

class Library final : public c10d::Backend {
 public:
  // `store` is the store of this group.
  Library(std::string name, intrusive_ptr<c10d::Backend> gloo, intrusive_ptr<c10d::Store> store)
      : Backend(gloo->getRank(), gloo->getSize()),
        name_(std::move(name)),
        gloo_(std::move(gloo)),
        store_(std::move(store)),
        options_(c10::make_intrusive<Options>(name_, gloo_->getBackendOptions()->timeout)) {
    init();
  }

  const std::string getBackendName() const override { return name_; }
  intrusive_ptr<Options> getBackendOptions() override { return options_; }
  bool supportsSplitting() const override { return true; }
  bool supportsCoalescing() const override { return true; }
  void setTimeout(std::chrono::milliseconds timeout) override {
    options_->timeout = timeout;
    gloo_->setTimeout(timeout);
  }
  void setSequenceNumberForGroup() override {}
  uint64_t getSequenceNumberForGroup() override { return sequence_; }
  c10d::ErrorType getError() override { return c10d::ErrorType::SUCCESS; }
  void abort() override { gloo_->abort(); }
  void shutdown() override { gloo_->shutdown(); }
  void eagerConnectSingleDevice(at::Device device) override {
    record_eager_communicator(*this, device.index());
  }

  // NCCL splits a communicator without using the store. gloo's ranks have to meet in one, but not
  // in the given one: it carries the name of the new group, and each rank derives that name from
  // the number of groups that it is in. What all ranks know alike is which ranks split off and how
  // often they did; that names the place where they meet.
  intrusive_ptr<Backend> split(const intrusive_ptr<c10d::Store>&, const std::vector<int>& ranks,
                               const intrusive_ptr<Options>& options) override {
    const intrusive_ptr<Options> inner = gloo_->getBackendOptions();
    if (options) inner->timeout = options->timeout;
    const std::string meeting =
        fmt::format("split/{}/{}/", fmt::join(ranks, ","), splits_[ranks]++);
    auto store = c10::make_intrusive<c10d::PrefixStore>(meeting, store_);
    auto part = gloo_->split(store, ranks, inner);
    if (!part) return nullptr;
    return c10::make_intrusive<Library>(name_, std::move(part), std::move(store));
  }

  // Works issued from here on are combined into one work, which endCoalescing() returns.
  void startCoalescing() override {
    record_coalescing(*this, true);
    coalescing_ = true;
    coalesced_.clear();
  }
  intrusive_ptr<Work> endCoalescing() override {
    record_coalescing(*this, false);
    coalescing_ = false;
    return together(std::exchange(coalesced_, {}), c10d::OpType::COALESCED);
  }

  intrusive_ptr<Work> broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) override {
    Tensors bytes{bytes_of(only(tensors))};
    check_root(opts.rootRank, "Broadcast");
    return given(after({gloo_->broadcast(bytes, opts)}, tensors));
  }

  intrusive_ptr<Work> allreduce_sparse(Tensors& tensors,
                                       const c10d::AllreduceOptions& opts) override {
    if (name_ != "nccl") return Backend::allreduce_sparse(tensors, opts);
    C10_THROW_ERROR(Error,
                    "NCCL does not support all_reduce with sparse tensors. Please use dense "
                    "tensors instead.");
  }

  intrusive_ptr<Work> allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) override {
    const Reduction part = reduction_of(only(tensors), opts.reduceOp, size_);
    c10d::AllreduceOptions inner = opts;
    inner.reduceOp = part.op;
    Tensors buffer{part.buffer};
    return given(after({gloo_->allreduce(buffer, inner)}, tensors,
                       [part, to = tensors.front()] { part.into(to); }));
  }

  intrusive_ptr<Work> allreduce_coalesced(Tensors& tensors,
                                          const c10d::AllreduceCoalescedOptions& opts) override {
    Works works;
    for (Tensor& tensor : tensors) {
      Tensors one{tensor};
      works.push_back(allreduce(one, opts));
    }
    return together(std::move(works), c10d::OpType::COALESCED);
  }

  intrusive_ptr<Work> reduce(Tensors& tensors, const c10d::ReduceOptions& opts) override {
    check_root(opts.rootRank, "Reduce");
    return given(reduced(only(tensors), tensors.front(), opts));
  }

  intrusive_ptr<Work> allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                const c10d::AllgatherOptions& opts) override {
    const Tensor& input = only(inputs);
    Tensors& to = outputs.at(0);
    TORCH_CHECK_VALUE(static_cast<int>(to.size()) == size_,
                      "Tensor list input to scatter/gather must match number of collective "
                      "participants but got ",
                      to.size(), " inputs with world_size ", size_, " and 1 tensors.");
    if (same_size(to)) {
      std::vector<Tensors> bytes{all_bytes(to)};
      Tensors from{bytes_of(input)};
      return given(after({gloo_->allgather(bytes, from, opts)}, to));
    }
    // Sizes may differ, so each rank broadcasts its own part.
    Works works;
    for (int rank = 0; rank < size_; ++rank) {
      const Tensor& target = to[static_cast<std::size_t>(rank)];
      if (rank == rank_) target.copy_(input);
      c10d::BroadcastOptions one;
      one.rootRank = rank;
      one.timeout = opts.timeout;
      Tensors bytes{bytes_of(target)};
      works.push_back(gloo_->broadcast(bytes, one));
    }
    return given(after(std::move(works), to));
  }

  intrusive_ptr<Work> _allgather_base(Tensor& output, Tensor& input,
                                      const c10d::AllgatherOptions& opts) override {
    TORCH_CHECK_TYPE(output.dtype() == input.dtype(),
                     "output tensor must have the same type as input tensor");
    TORCH_CHECK_VALUE(output.numel() == input.numel() * size_,
                      "output tensor size must be equal to world_size times input tensor size");
    Tensor to = bytes_of(output);
    Tensor from = bytes_of(input);
    return given(after({gloo_->_allgather_base(to, from, opts)}, {output}));
  }

  intrusive_ptr<Work> allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                      const c10d::AllgatherOptions& opts) override {
    Works works;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      works.push_back(_allgather_base(outputs.at(i), inputs[i], opts));
    return together(std::move(works), c10d::OpType::COALESCED);
  }

  intrusive_ptr<Work> gather(std::vector<Tensors>& outputs, Tensors& inputs,
                             const c10d::GatherOptions& opts) override {
    Tensors from{bytes_of(only(inputs))};
    std::vector<Tensors> to;
    for (const Tensors& list : outputs) to.push_back(all_bytes(list));
    return given(
        after({gloo_->gather(to, from, opts)}, outputs.empty() ? Tensors{} : outputs.front()));
  }

  intrusive_ptr<Work> scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                              const c10d::ScatterOptions& opts) override {
    Tensors to{bytes_of(only(outputs))};
    std::vector<Tensors> from;
    for (const Tensors& list : inputs) from.push_back(all_bytes(list));
    return given(after({gloo_->scatter(to, from, opts)}, outputs));
  }

  intrusive_ptr<Work> reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                     const c10d::ReduceScatterOptions& opts) override {
    const Tensor& output = only(outputs);
    Works works;
    for (int rank = 0; rank < size_; ++rank) {
      c10d::ReduceOptions one;
      one.reduceOp = opts.reduceOp;
      one.rootRank = rank;
      one.timeout = opts.timeout;
      const Tensor& part = inputs.at(0).at(static_cast<std::size_t>(rank));
      works.push_back(reduced(part, rank == rank_ ? output : Tensor(), one));
    }
    return given(after(std::move(works), outputs));
  }

  intrusive_ptr<Work> _reduce_scatter_base(Tensor& output, Tensor& input,
                                           const c10d::ReduceScatterOptions& opts) override {
    TORCH_CHECK_TYPE(output.dtype() == input.dtype(),
                     "input tensor must be the same type as the output tensor.");
    TORCH_CHECK_VALUE(input.numel() == output.numel() * size_,
                      "input tensor must be the same size as output size times world size");
    // gloo's own reduce_scatter also reduces everything on every rank, and has no future.
    Reduction part = reduction_of(input, opts.reduceOp, size_);
    if (part.buffer.is_alias_of(input)) part.buffer = part.buffer.clone();
    c10d::AllreduceOptions inner;
    inner.reduceOp = part.op;
    inner.timeout = opts.timeout;
    Tensors buffer{part.buffer};
    return given(after({gloo_->allreduce(buffer, inner)}, {output}, [part, output, rank = rank_] {
      part.into(output, part.buffer.narrow(0, rank * output.numel(), output.numel()));
    }));
  }

  intrusive_ptr<Work> reduce_scatter_tensor_coalesced(
      Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& opts) override {
    Works works;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      works.push_back(_reduce_scatter_base(outputs.at(i), inputs[i], opts));
    return together(std::move(works), c10d::OpType::COALESCED);
  }

  intrusive_ptr<Work> alltoall_base(Tensor& output, Tensor& input,
                                    std::vector<std::int64_t>& output_sizes,
                                    std::vector<std::int64_t>& input_sizes,
                                    const c10d::AllToAllOptions& opts) override {
    Tensor to = bytes_of(output);
    Tensor from = bytes_of(input);
    auto to_sizes = byte_splits(output_sizes, output);
    auto from_sizes = byte_splits(input_sizes, input);
    return given(after({gloo_->alltoall_base(to, from, to_sizes, from_sizes, opts)}, {output}));
  }

  intrusive_ptr<Work> alltoall(Tensors& outputs, Tensors& inputs,
                               const c10d::AllToAllOptions& opts) override {
    // Sends one buffer, so that sizes may differ.
    std::vector<std::int64_t> to_sizes;
    std::vector<std::int64_t> from_sizes;
    for (const Tensor& tensor : outputs) to_sizes.push_back(tensor.numel() * tensor.itemsize());
    for (const Tensor& tensor : inputs) from_sizes.push_back(tensor.numel() * tensor.itemsize());
    Tensor from = at::cat(all_bytes(inputs));
    Tensor to = at::empty({std::accumulate(to_sizes.begin(), to_sizes.end(), std::int64_t{0})},
                          from.options());
    // Gloo takes the sizes away.
    const std::vector<std::int64_t> sizes = to_sizes;
    return given(after({gloo_->alltoall_base(to, from, to_sizes, from_sizes, opts)}, outputs,
                       [to, outputs, sizes] {
                         const auto parts = to.split_with_sizes(sizes);
                         for (std::size_t i = 0; i < outputs.size(); ++i)
                           bytes_of(outputs[i]).copy_(parts[i]);
                       }));
  }

  // Tags are ignored: sends and receives of two ranks match in their order.
  intrusive_ptr<Work> send(Tensors& tensors, int to, int) override {
    Tensors bytes{bytes_of(only(tensors))};
    return given(gloo_->send(bytes, to, 0));
  }
  intrusive_ptr<Work> recv(Tensors& tensors, int from, int) override {
    Tensors bytes{bytes_of(only(tensors))};
    return given(gloo_->recv(bytes, from, 0));
  }
  intrusive_ptr<Work> recvAnysource(Tensors&, int) override {
    C10_THROW_ERROR(NotImplementedError, "ProcessGroupNCCL does not support recvAnysource");
  }

  intrusive_ptr<Work> barrier(const c10d::BarrierOptions& opts) override {
    return given(gloo_->barrier(opts));
  }

 private:
  // What NCCL says of it, in the words of C10D_NCCL_CHECK in NCCLUtils.hpp. (The line is that of a
  // broadcast in torch 2.11.)
  void check_root(std::int64_t root, const char* collective) const {
    if (name_ != "nccl" || (root >= 0 && root < size_)) return;
    const devices::Profile* profile = Runtime::get().profile();
    const std::string_view version = cuda_build_for(profile == nullptr ? 99 : profile->major,
                                                    profile == nullptr ? 0 : profile->minor)
                                         .nccl;
    C10_THROW_ERROR(
        DistBackendError,
        fmt::format(
            "NCCL error in: /pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:3780, "
            "invalid argument (run with NCCL_DEBUG=WARN for details), NCCL version {}\n"
            "ncclInvalidArgument: Invalid value for an argument.\nLast error:\n"
            "{} : invalid root {} (root should be in the 0..{} range)",
            version, collective, root, size_));
  }

  intrusive_ptr<Work> given(intrusive_ptr<Work> work) {
    ++sequence_;
    if (coalescing_) coalesced_.push_back(work);
    return work;
  }

  // `to` receives the result on the root. Other ranks pass an undefined tensor.
  intrusive_ptr<Work> reduced(const Tensor& from, const Tensor& to,
                              const c10d::ReduceOptions& opts) {
    Reduction part = reduction_of(from, opts.reduceOp, size_);
    // gloo leaves intermediate sums in the tensors of ranks other than the root.
    if (part.buffer.is_alias_of(from)) part.buffer = part.buffer.clone();
    c10d::ReduceOptions inner = opts;
    inner.reduceOp = part.op;
    Tensors buffer{part.buffer};
    const bool root = opts.rootRank == rank_;
    return after({gloo_->reduce(buffer, inner)}, {from}, [part, to, root] {
      if (root) part.into(to);
    });
  }

  std::string name_;
  intrusive_ptr<c10d::Backend> gloo_;
  intrusive_ptr<c10d::Store> store_;
  intrusive_ptr<Options> options_;
  std::atomic<std::uint64_t> sequence_{0};
  std::map<std::vector<int>, int> splits_;
  bool coalescing_ = false;
  Works coalesced_;
};

// Takes a group whose backend for the CPU is gloo, and adds one for the virtual devices to it.
void add_library(const intrusive_ptr<c10d::ProcessGroup>& group, std::string name) {
  const auto type = c10d::ProcessGroup::strToBackendType(name);
  auto gloo = group->getBackend(c10::DeviceType::CPU);
  intrusive_ptr<c10d::Backend> backend =
      c10::make_intrusive<Library>(std::move(name), std::move(gloo), group->getStore());
  group->setBackend(Runtime::get().kind().type, type, backend);
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("add_collectives(__torch__.torch.classes.c10d.ProcessGroup group, str name) -> ()",
              &add_library);
}

}  // namespace

}  // namespace torchport::vdev
