// Collectives over a backend of the test's own: with two virtual CUDA devices
// (src/runtime/virtual/CMakeLists.txt). gloo itself is run by tests/virtual.
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <doctest/doctest.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "runtime/virtual/core/test_options.h"
#include "runtime/virtual/distributed/distributed_parts.h"

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
// libtorch counts the references to a future where ThreadSanitizer does not see it, and the last
// callback frees what others released.
extern "C" const char* __tsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "race:c10::ivalue::Future::FutureCallback::~FutureCallback";
}
#endif
#endif

namespace torchport::vdev {

namespace {

using at::Tensor;
using c10::intrusive_ptr;
using c10::ivalue::Future;
using c10d::ReduceOp;
using c10d::Work;
using Tensors = std::vector<Tensor>;

constexpr std::array<c10::DeviceIndex, 2> kDevices = {0, 1};

intrusive_ptr<Future> future_of_tensors() {
  return c10::make_intrusive<Future>(c10::ListType::create(c10::TensorType::get()));
}

// The threads of the works that the calling thread starts; they are joined when it goes. A test
// declares one after the tensors of its works: libtorch counts references where ThreadSanitizer
// does not see it, so that the last owner of a tensor or a future must not be a thread that still
// runs. What a body holds is therefore held here, too, until its thread is joined.
class WorkThreads {
 public:
  WorkThreads() = default;
  ~WorkThreads() {
    for (std::thread& thread : threads) thread.join();
    threads.clear();
    bodies.clear();
  }
  WorkThreads(const WorkThreads&) = delete;
  WorkThreads& operator=(const WorkThreads&) = delete;

  static void start(std::function<void()> body) {
    bodies.push_back(body);
    threads.emplace_back(std::move(body));
  }

 private:
  static inline thread_local std::vector<std::function<void()>> bodies;
  static inline thread_local std::vector<std::thread> threads;
};

// A work that another thread ends, as a backend's own thread does.
class Threaded final : public Work {
 public:
  Threaded(Tensors results, std::function<void()> body)
      : Work(-1, c10d::OpType::ALLREDUCE),
        results_(std::move(results)),
        future_(future_of_tensors()) {
    WorkThreads::start([body = std::move(body), future = future_, results = results_] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      try {
        body();
        future->markCompleted(c10::IValue(results));
      } catch (const std::exception&) {
        future->setError(std::current_exception());
      }
    });
  }

  bool isCompleted() override { return future_->completed(); }
  bool isSuccess() const override { return future_->completed() && !future_->hasError(); }
  std::exception_ptr exception() const override {
    return future_->hasError() ? future_->exception_ptr() : nullptr;
  }
  bool wait(std::chrono::milliseconds) override {
    future_->waitAndThrow();
    return true;
  }
  Tensors result() override { return results_; }
  intrusive_ptr<Future> getFuture() override { return future_; }

 private:
  Tensors results_;
  intrusive_ptr<Future> future_;
};

intrusive_ptr<Work> threaded(Tensors results, std::function<void()> body) {
  return c10::make_intrusive<Threaded>(std::move(results), std::move(body));
}

// A backend that doubles instead of adding what another rank has, and notes where its tensors are.
class Doubling final : public c10d::Backend {
 public:
  Doubling() : Backend(0, 2) {}
  const std::string getBackendName() const override { return "doubling"; }
  intrusive_ptr<Work> allreduce(Tensors& tensors, const c10d::AllreduceOptions&) override {
    for (const Tensor& tensor : tensors) seen.push_back(tensor.device());
    return threaded(tensors, [tensors = tensors] {
      for (const Tensor& tensor : tensors) tensor.mul_(2);
    });
  }

  std::vector<c10::Device> seen;
};

intrusive_ptr<c10d::ProcessGroup> group_of(const intrusive_ptr<Doubling>& backend) {
  auto group =
      c10::make_intrusive<c10d::ProcessGroup>(c10::make_intrusive<c10d::HashStore>(), 0, 2);
  group->setBackend(c10::DeviceType::CUDA, c10d::ProcessGroup::BackendType::CUSTOM, backend);
  return group;
}

}  // namespace

TEST_CASE("a backend works on the host, and the program sees its devices") {
  const auto backend = c10::make_intrusive<Doubling>();
  const auto group = group_of(backend);
  for (const c10::DeviceIndex device : kDevices) {
    Tensors tensors = {at::ones({8}, on(device))};
    const WorkThreads threads;
    const auto work = group->allreduce(tensors);
    const auto future = work->getFuture();
    work->wait();
    CHECK(tensors.front().device() == c10::Device(c10::DeviceType::CUDA, device));
    CHECK(at::equal(tensors.front().cpu(), at::full({8}, 2.0)));
    CHECK(work->result().front().device() == tensors.front().device());
    future->wait();
    CHECK(future->value().toTensorVector().front().device() == tensors.front().device());
  }
  for (const c10::Device seen : backend->seen) CHECK(seen.is_cpu());
  CHECK(backend->seen.size() == 2);
}

TEST_CASE("collectives of several threads do not meet") {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (const c10::DeviceIndex device : kDevices) {
    threads.emplace_back([&, device] {
      // A backend is not thread safe; a group of its own is.
      const auto own = group_of(c10::make_intrusive<Doubling>());
      for (int i = 0; i < 20; ++i) {
        Tensors tensors = {at::full({64}, i, on(device))};
        const WorkThreads joined;
        own->allreduce(tensors)->wait();
        if (!at::equal(tensors.front().cpu(), at::full({64}, 2 * i))) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("the bytes of a tensor lie in the order of its memory") {
  const Tensor tensor = at::arange(6, at::kFloat).view({2, 3});
  CHECK(bytes_of(tensor).numel() == 24);
  CHECK(bytes_of(tensor).data_ptr() == tensor.data_ptr());
  const Tensor last = at::ones({1, 2, 2, 3}).contiguous(at::MemoryFormat::ChannelsLast);
  CHECK(bytes_of(last).numel() == 48);  // dense in another order
  CHECK_THROWS_AS((void)bytes_of(tensor.t()), c10::ValueError);
  CHECK_THROWS_AS((void)bytes_of(tensor.to_sparse()), c10::ValueError);
  CHECK_THROWS_AS((void)bytes_of(at::ones({2}, at::kShort)), c10::TypeError);
}

TEST_CASE("reductions that gloo does not have are made of those that it has") {
  const Tensor bools = at::tensor({1, 0}).to(at::kBool);
  CHECK(reduction_of(bools, ReduceOp::SUM, 2).op == ReduceOp::MAX);
  CHECK(reduction_of(bools, ReduceOp::PRODUCT, 2).op == ReduceOp::MIN);
  CHECK_THROWS_AS((void)reduction_of(bools, ReduceOp::AVG, 2), c10::TypeError);
  CHECK_THROWS_AS((void)reduction_of(bools, ReduceOp::BXOR, 2), c10::ValueError);

  Tensor counts = at::tensor({5, -5, 8}, at::kLong);
  const Reduction mean = reduction_of(counts, ReduceOp::AVG, 2);
  CHECK(mean.op == ReduceOp::SUM);
  mean.into(counts);
  CHECK(at::equal(counts, at::tensor({2, -2, 4}, at::kLong)));  // towards zero, as NCCL does

  const Tensor small = at::ones({4}).to(at::kFloat8_e5m2);
  const Reduction wide = reduction_of(small, ReduceOp::SUM, 2);
  CHECK((wide.buffer.scalar_type() == at::kFloat));  // doctest cannot print a ScalarType
  wide.buffer.mul_(2);
  wide.into(small);
  CHECK(at::equal(small.to(at::kFloat), at::full({4}, 2.0)));
}

TEST_CASE("what follows several works runs once, after all of them") {
  std::atomic<int> bodies{0};
  std::atomic<int> seen{-1};
  Tensors results = {at::ones({1})};
  const WorkThreads threads;
  const auto count = [&] { ++bodies; };
  const auto work = after({threaded({}, count), threaded({}, count), threaded({}, count)}, results,
                          [&] { seen = bodies.load(); });
  work->wait();
  CHECK(seen == 3);
  CHECK(work->isSuccess());
  CHECK(work->result().size() == 1);
}

TEST_CASE("the error of one of several works is the error of all") {
  const WorkThreads threads;
  const auto fails = [] { throw std::runtime_error("the peer is gone"); };
  const auto work = after({threaded({}, [] {}), threaded({}, fails)}, {});
  CHECK_THROWS_WITH(work->wait(), doctest::Contains("the peer is gone"));
  CHECK_FALSE(work->isSuccess());
  const auto both = together({threaded({}, [] {}), threaded({}, fails)}, c10d::OpType::COALESCED);
  CHECK_THROWS_WITH(both->wait(), doctest::Contains("the peer is gone"));
  CHECK_FALSE(both->isSuccess());
  CHECK(both->exception() != nullptr);
}

TEST_CASE("works together have the results of each, in their order") {
  const Tensors one = {at::ones({1})};
  const Tensors two = {at::ones({2})};
  const WorkThreads threads;
  const auto work = together({threaded(one, [] {}), threaded(two, [] {})}, c10d::OpType::COALESCED);
  work->wait();
  REQUIRE(work->result().size() == 2);
  CHECK(work->result()[1].numel() == 2);
  CHECK(work->isCompleted());
}

}  // namespace torchport::vdev
