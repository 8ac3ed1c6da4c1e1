// Tests devices, streams, events and generators of threads with two virtual CUDA devices.
#include "runtime/virtual/core/streams.h"

#include <set>
#include <thread>

#include <ATen/ops/rand.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <doctest/doctest.h>

#include "runtime/virtual/core/generator.h"
#include "runtime/virtual/core/pinned.h"

namespace torchport::vdev {

namespace {

const c10::Device kFirst(c10::DeviceType::CUDA, 0);
const c10::Device kSecond(c10::DeviceType::CUDA, 1);

}  // namespace

TEST_CASE("each thread has a current device of its own, which guards set and put back") {
  set_current_device(0);
  {
    const c10::DeviceGuard guard(kSecond);
    CHECK(current_device() == 1);
    c10::DeviceIndex seen = -1;
    std::thread([&] { seen = current_device(); }).join();
    CHECK(seen == 0);
  }
  CHECK(current_device() == 0);
  CHECK_THROWS_AS(set_current_device(2), c10::AcceleratorError);
  CHECK_THROWS_AS(set_current_device(-1), c10::AcceleratorError);
  CHECK(current_device() == 0);
}

TEST_CASE("a device that is not shown cannot become the current one") {
  show_devices(1);
  CHECK(shown_devices() == 1);
  CHECK_THROWS_AS(set_current_device(1), c10::AcceleratorError);
  show_devices(2);
  set_current_device(1);
  set_current_device(0);
}

TEST_CASE("streams of the pool differ, and a guard makes one the current stream") {
  const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
  std::set<c10::StreamId> ids;
  for (int i = 0; i < 32; ++i) ids.insert(guard.getStreamFromGlobalPool(kFirst).id());
  CHECK(ids.size() == 32);
  CHECK(ids.count(0) == 0);  // the default stream is not in the pool
  const c10::Stream stream = guard.getStreamFromGlobalPool(kSecond, /*isHighPriority=*/true);
  {
    const c10::StreamGuard current(stream);
    CHECK(current_stream(1) == stream.id());
    CHECK(current_device() == 1);
  }
  CHECK(current_stream(1) == 0);
  CHECK(current_device() == 0);
}

TEST_CASE("an event is over when it is recorded, and has the time between two") {
  const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
  const c10::Stream stream = guard.getDefaultStream(kFirst);
  void* first = nullptr;
  void* second = nullptr;
  guard.record(&first, stream, 0, c10::EventFlag::BACKEND_DEFAULT);
  guard.record(&second, stream, 0, c10::EventFlag::BACKEND_DEFAULT);
  CHECK(guard.queryEvent(first));
  CHECK(guard.elapsedTime(first, second, 0) >= 0);
  guard.destroyEvent(first, 0);
  guard.destroyEvent(second, 0);
}

TEST_CASE("devices draw from generators of their own, the same from the same seed") {
  const auto draw = [](const c10::Device& device) {
    return at::rand({4}, at::TensorOptions().device(device)).cpu();
  };
  at::Generator first = default_generator(0);
  at::Generator second = default_generator(1);
  first.set_current_seed(5);
  second.set_current_seed(5);
  const at::Tensor numbers = draw(kFirst);
  CHECK_FALSE(draw(kFirst).equal(numbers));
  CHECK(draw(kSecond).equal(numbers));
  CHECK_THROWS_AS(static_cast<void>(default_generator(7)), c10::Error);
}

TEST_CASE("pinned memory is known by its address until it is freed") {
  const void* address = nullptr;
  {
    const c10::DataPtr block = pinned_allocator()->allocate(1000);
    address = block.get();
    CHECK(is_pinned(address));
    CHECK(is_pinned(static_cast<const char*>(address) + 999));
    CHECK(pinned_stats().active_blocks.current >= 1);
  }
  int local = 0;
  CHECK_FALSE(is_pinned(&local));
  empty_pinned_cache();
  CHECK_FALSE(is_pinned(address));
}

}  // namespace torchport::vdev
