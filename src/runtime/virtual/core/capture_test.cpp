// Runs with two virtual CUDA devices: see src/runtime/virtual/CMakeLists.txt.
#include "runtime/virtual/core/capture.h"

#include <thread>
#include <utility>

#include <ATen/ops/masked_select.h>
#include <ATen/ops/ones.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <doctest/doctest.h>

#include "runtime/virtual/core/streams.h"

namespace torchport::vdev {

namespace {

constexpr const char* kUnsupported = "operation not permitted when stream is capturing";
constexpr const char* kInvalidated = "operation failed due to a previous error during capture";

c10::Stream side_stream() {
  const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
  return guard.getNewStream(c10::Device(c10::DeviceType::CUDA, 0));
}

// A capture on a stream of its own, which is current meanwhile.
struct Captured {
  explicit Captured(CaptureMode mode = CaptureMode::kGlobal)
      : stream(side_stream()), guard(stream), capture(begin_capture(0, stream.id(), mode)) {}
  ~Captured() {
    if (capture) static_cast<void>(end_capture(capture));
  }
  bool end() { return end_capture(std::exchange(capture, nullptr)); }

  c10::Stream stream;
  c10::StreamGuard guard;
  std::shared_ptr<Capture> capture;
};

}  // namespace

TEST_CASE("a call that waits makes a capture invalid, and so do all after it") {
  const auto device = at::TensorOptions().device(at::kCUDA);
  const at::Tensor ones = at::ones({4}, device);
  Captured graph;
  CHECK(is_capturing_graph());
  CHECK_THROWS_WITH_AS(at::masked_select(ones, ones.gt(0)), doctest::Contains(kUnsupported),
                       c10::AcceleratorError);
  CHECK_THROWS_WITH_AS(ones.add(1), doctest::Contains(kInvalidated), c10::AcceleratorError);
  CHECK_FALSE(graph.end());
  CHECK_FALSE(is_capturing_graph());
  CHECK(ones.add(1).sum().item<float>() == 8);
}

TEST_CASE("a stream joins a capture by waiting for it") {
  Captured graph;
  const c10::Stream other = side_stream();
  c10::Event event(c10::DeviceType::CUDA);
  event.record(graph.stream);
  CHECK(capture_of(0, other.id()) == nullptr);
  CHECK_NOTHROW(wait_for_stream(0, other.id()));
  event.block(other);
  CHECK(capture_of(0, other.id()) == graph.capture);
  CHECK_THROWS_WITH_AS(wait_for_stream(0, other.id()), doctest::Contains(kUnsupported),
                       c10::AcceleratorError);
  CHECK_FALSE(graph.end());
  event.block(side_stream());  // of a capture that is over
}

TEST_CASE("a captured stream does not wait for what is not captured") {
  c10::Event event(c10::DeviceType::CUDA);
  event.record(side_stream());
  Captured graph;
  CHECK_THROWS_WITH_AS(event.block(graph.stream),
                       doctest::Contains("dependency created on uncaptured work"),
                       c10::AcceleratorError);
  CHECK_FALSE(graph.end());
}

TEST_CASE("the default stream joins no capture") {
  Captured graph;
  c10::Event event(c10::DeviceType::CUDA);
  event.record(graph.stream);
  const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
  const c10::Stream legacy = guard.getDefaultStream(c10::Device(c10::DeviceType::CUDA, 0));
  CHECK_THROWS_WITH_AS(event.block(legacy),
                       doctest::Contains("make the legacy stream depend on a capturing"),
                       c10::AcceleratorError);
  CHECK(capture_of(0, legacy.id()) == nullptr);
  CHECK_FALSE(graph.end());
}

TEST_CASE("a library makes a capture invalid") {
  Captured graph;
  CHECK_FALSE(invalidate_capture(0, side_stream().id()));
  CHECK(invalidate_capture(0, graph.stream.id()));
  CHECK_FALSE(graph.end());
}

TEST_CASE("nothing may ask for an event of a capture") {
  for (const CaptureMode mode : {CaptureMode::kGlobal, CaptureMode::kRelaxed}) {
    Captured graph(mode);
    c10::Event event(c10::DeviceType::CUDA);
    event.record(graph.stream);
    CHECK_THROWS_WITH_AS(event.query(),
                         doctest::Contains("event last recorded in a capturing stream"),
                         c10::AcceleratorError);
    CHECK_FALSE(graph.end());
    CHECK(event.query());
  }
}

TEST_CASE("the mode says whose unsafe calls are refused") {
  c10::Event event(c10::DeviceType::CUDA);
  event.record(side_stream());
  const auto asked_here = [&] {
    try {
      return event.query();
    } catch (const c10::AcceleratorError&) {
      return false;
    }
  };
  const auto asked_elsewhere = [&] {
    bool answered = false;
    std::thread([&] { answered = asked_here(); }).join();
    return answered;
  };
  const auto ask = [](CaptureMode mode, const auto& asked) {
    Captured graph(mode);
    const bool answered = asked();
    CHECK(graph.end() == answered);
    return answered;
  };
  CHECK_FALSE(ask(CaptureMode::kGlobal, asked_here));
  CHECK_FALSE(ask(CaptureMode::kGlobal, asked_elsewhere));
  CHECK_FALSE(ask(CaptureMode::kThreadLocal, asked_here));
  CHECK(ask(CaptureMode::kThreadLocal, asked_elsewhere));
  CHECK(ask(CaptureMode::kRelaxed, asked_here));
}

}  // namespace torchport::vdev
