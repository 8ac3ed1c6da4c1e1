#include "runtime/virtual/distributed/distributed_parts.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <ATen/core/ivalue.h>
#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>

#include "runtime/virtual/core/alias.h"

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::intrusive_ptr;
using c10::ivalue::Future;
using c10d::ReduceOp;
using c10d::Work;

bool is_float8(at::ScalarType type) {
  return type == at::kFloat8_e4m3fn || type == at::kFloat8_e5m2 || type == at::kFloat8_e4m3fnuz ||
         type == at::kFloat8_e5m2fnuz;
}

// The dtypes of ncclDataType in torch/csrc/distributed/c10d/NCCLUtils.cpp. Complex numbers are sent
// as pairs.
bool is_supported(at::ScalarType type) {
  switch (type) {
    case at::kChar:
    case at::kByte:
    case at::kBool:
    case at::kInt:
    case at::kLong:
    case at::kHalf:
    case at::kBFloat16:
    case at::kFloat:
    case at::kDouble:
    case at::kComplexFloat:
    case at::kComplexDouble:
      return true;
    default:
      return is_float8(type);
  }
}

// The elements in the order in which they lie in memory.
Tensor flat(const Tensor& tensor) {
  TORCH_CHECK_VALUE(!tensor.is_sparse(), "Tensors must be CUDA and dense");
  TORCH_CHECK_VALUE(tensor.is_contiguous(tensor.suggest_memory_format()),
                    "Tensors must be contiguous");
  TORCH_CHECK_TYPE(
      is_supported(tensor.scalar_type()),
      "Input tensor data type is not supported for NCCL process group: ", tensor.scalar_type());
  return tensor.as_strided({tensor.numel()}, {1});
}

const char* name_of(ReduceOp::RedOpType op) {
  return op == ReduceOp::BAND ? "BAND" : op == ReduceOp::BOR ? "BOR" : "BXOR";
}

Tensor premultiplied(const Tensor& tensor, const ReduceOp& op) {
  // torch 2.13 has a new name for this class, and keeps this one.
  const auto* supplement = static_cast<c10d::NCCLPreMulSumSupplement*>(op.supplement_.get());
  if (!supplement->tensor_factor.defined()) return tensor.mul(supplement->double_factor);
  Aliases aliases;
  return tensor.mul(aliases.of(supplement->tensor_factor).to(tensor.scalar_type()));
}

ReduceOp reduction_of_bools(const ReduceOp& op) {
  TORCH_CHECK_TYPE(op.op_ != ReduceOp::AVG, "Cannot use ReduceOp.AVG with boolean inputs");
  if (op.op_ == ReduceOp::SUM) return ReduceOp::MAX;
  if (op.op_ == ReduceOp::PRODUCT) return ReduceOp::MIN;
  return op;
}

// A work that is complete when its future is.
class Awaited final : public Work {
 public:
  Awaited(intrusive_ptr<Future> future, std::vector<Tensor> results)
      : Work(-1, c10d::OpType::UNKNOWN), future_(std::move(future)), results_(std::move(results)) {}

  bool isCompleted() override { return future_->completed(); }
  bool isSuccess() const override { return future_->completed() && !future_->hasError(); }
  std::exception_ptr exception() const override {
    return future_->hasError() ? future_->exception_ptr() : nullptr;
  }
  // gloo itself enforces the timeout.
  bool wait(std::chrono::milliseconds) override {
    future_->waitAndThrow();
    return true;
  }
  void synchronize() override { future_->waitAndThrow(); }
  std::vector<Tensor> result() override { return results_; }
  intrusive_ptr<Future> getFuture() override { return future_; }

 private:
  intrusive_ptr<Future> future_;
  std::vector<Tensor> results_;
};

// Combines several works into one. Some may have no future, so it waits for each.
class Together final : public Work {
 public:
  Together(std::vector<intrusive_ptr<Work>> works, c10d::OpType type)
      : Work(-1, type), works_(std::move(works)) {}

  bool isCompleted() override {
    return std::all_of(works_.begin(), works_.end(),
                       [](const auto& work) { return work->isCompleted(); });
  }
  bool isSuccess() const override {
    return std::all_of(works_.begin(), works_.end(),
                       [](const auto& work) { return work->isSuccess(); });
  }
  std::exception_ptr exception() const override {
    for (const auto& work : works_) {
      if (work->exception()) return work->exception();
    }
    return nullptr;
  }
  bool wait(std::chrono::milliseconds timeout) override {
    bool done = true;
    for (const auto& work : works_) done = work->wait(timeout) && done;
    return done;
  }
  std::vector<Tensor> result() override {
    std::vector<Tensor> results;
    for (const auto& work : works_) {
      for (Tensor& tensor : work->result()) results.push_back(std::move(tensor));
    }
    return results;
  }
  intrusive_ptr<Future> getFuture() override { return after(works_, result())->getFuture(); }

 private:
  std::vector<intrusive_ptr<Work>> works_;
};

}  // namespace

Tensor bytes_of(const Tensor& tensor) {
  return flat(tensor).view(at::kByte);
}

Reduction reduction_of(const Tensor& tensor, const ReduceOp& op, int size) {
  TORCH_CHECK_VALUE(op.op_ != ReduceOp::BAND && op.op_ != ReduceOp::BOR && op.op_ != ReduceOp::BXOR,
                    "Cannot use ReduceOp.", name_of(op.op_), " with NCCL");
  Tensor from = flat(tensor);
  if (tensor.scalar_type() == at::kBool) return {from.view(at::kByte), reduction_of_bools(op)};
  // gloo's average is a true division, which has no integer result.
  if (op.op_ == ReduceOp::AVG && c10::isIntegralType(tensor.scalar_type(), false))
    return {from, ReduceOp::SUM, size};
  if (is_float8(tensor.scalar_type())) from = from.to(at::kFloat);
  if (op.op_ == ReduceOp::PREMUL_SUM) return {premultiplied(from, op), ReduceOp::SUM};
  return {from, op};
}

void Reduction::into(const Tensor& target, const Tensor& result) const {
  const Tensor to = flat(target);
  if (divisor != 1) {
    to.copy_(result.div(divisor, "trunc"));
    return;
  }
  if (to.data_ptr() == result.data_ptr()) return;
  if (target.scalar_type() == at::kBool) {
    to.view(at::kByte).copy_(result);
  } else {
    to.copy_(result);
  }
}

intrusive_ptr<Work> after(std::vector<intrusive_ptr<Work>> works, std::vector<Tensor> results,
                          std::function<void()> finish) {
  const auto type = c10::ListType::create(c10::TensorType::get());
  c10::List<intrusive_ptr<Future>> futures(c10::FutureType::create(type));
  for (const auto& work : works) futures.push_back(work->getFuture());
  // The works are kept alive, because gloo cancels an operation when its last reference goes.
  auto done = c10::collectAll(futures)->then(
      [works = std::move(works), futures, results, finish = std::move(finish)](Future&) {
        for (const intrusive_ptr<Future> future : futures) {
          if (future->hasError()) std::rethrow_exception(future->exception_ptr());
        }
        if (finish) finish();
        return c10::IValue(results);
      },
      type);
  return c10::make_intrusive<Awaited>(std::move(done), std::move(results));
}

intrusive_ptr<Work> together(std::vector<intrusive_ptr<Work>> works, c10d::OpType type) {
  return c10::make_intrusive<Together>(std::move(works), type);
}

}  // namespace torchport::vdev
