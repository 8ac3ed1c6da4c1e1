#include "runtime/virtual/core/streams.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>

#include <c10/core/Stream.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include "runtime/virtual/core/capture.h"
#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/storage.h"
#include "runtime/virtual/errors/device_errors.h"
#include "runtime/virtual/errors/runtime_errors.h"
#include "runtime/virtual/torch_releases.h"
#include "runtime/virtual/watch/determinism_and_sync.h"
#include "runtime/virtual/watch/gpu_trace.h"
#include "runtime/virtual/watch/late_streams.h"

namespace torchport::vdev {

namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::Stream;

thread_local DeviceIndex this_device = 0;
thread_local std::array<std::int64_t, device::kMaxDevices> streams_of_thread{};
std::atomic<DeviceIndex> shown{device::kMaxDevices};

// The id of the calling thread's current stream on a device.
std::int64_t& this_stream(DeviceIndex device) {
  return streams_of_thread[static_cast<std::uint8_t>(device)];
}

// A device has 32 streams for each of four priorities, handed out in turn, as in CUDA.
constexpr std::int64_t kPoolSize = 32;
constexpr std::int64_t kPriorities = 4;

struct Pools {
  std::atomic<bool> made{false};
  std::array<std::atomic<std::uint32_t>, kPriorities> next{};
};
std::array<Pools, device::kMaxDevices> pools_of_devices;

// Packed as in c10/cuda/CUDAStream.cpp: index, type of the pool, "not external".
std::int64_t pooled_stream(std::int64_t number, std::int64_t priority) {
  return number << 5U | (priority + 1) << 1U | 1;
}

// The first stream of a device makes all of them.
void trace_pools() {
  for (std::int64_t number = 0; number < kPoolSize; ++number) {
    for (std::int64_t priority = 0; priority < kPriorities; ++priority) {
      const auto handle = static_cast<std::uintptr_t>(pooled_stream(number, priority));
      trace_gpu([&](const auto& python, c10::DeviceType type) {
        python->trace_gpu_stream_creation(type, handle);
      });
    }
  }
}

// The next stream of a priority: 0 is the lowest one.
std::int64_t next_stream(DeviceIndex device, std::int64_t priority) {
  Pools& pools = pools_of_devices[static_cast<std::uint8_t>(device)];
  if (!pools.made.exchange(true)) trace_pools();
  const std::uint32_t number = pools.next[static_cast<std::size_t>(priority)].fetch_add(1);
  return pooled_stream(number % kPoolSize, priority);
}

using Clock = std::chrono::steady_clock;

struct Event {
  Clock::time_point recorded;
  DeviceIndex device = 0;
  bool timed = false;
  late::Event late;
  std::weak_ptr<Capture> capture;  // that it was recorded in
};

void check_device_of(void* event) {
  if (event != nullptr) check_device(static_cast<Event*>(event)->device, Asks::kToWait);
}

double milliseconds_between(Event* first, Event* second) {
  TORCH_CHECK_VALUE(first != nullptr && second != nullptr,
                    "Both events must be recorded before calculating elapsed time.");
  TORCH_CHECK_VALUE(first->timed && second->timed,
                    "Both events must be created with argument 'enable_timing=True'.");
  check_device_of(first);
  check_event_in_capture(first->capture);
  check_event_in_capture(second->capture);
  const bool over =
      !streams_are_late() || (late::is_over(first->late) && late::is_over(second->late));
  // c10/core/impl/InlineEvent.h
  TORCH_CHECK(over, "Both events must be completed before calculating elapsed time.");
  const auto between = second->recorded - first->recorded;
  return std::chrono::duration<double, std::milli>(between).count();
}

// Of events by their handles, for torch.cuda.Event.
double elapsed_time(std::int64_t first, std::int64_t second) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): Python holds an event as a number.
  return milliseconds_between(reinterpret_cast<Event*>(first), reinterpret_cast<Event*>(second));
}

[[noreturn]] void no_such_device(DeviceIndex device) {
  const devices::DeviceKind& kind = Runtime::get().description();
  const std::string text = kind.invalid_device(device, shown_devices());
  TORCH_CHECK(kind.invalid_device_code != 0, text);
  throw c10::AcceleratorError(
      {"set_current_device", __FILE__, static_cast<std::uint32_t>(__LINE__)},
      kind.invalid_device_code, text);
}

// The bit of a dtype in c10::DeviceCapability, which has a bit for each in the order of this list.
std::uint64_t bit_of(std::string_view type) {
  std::uint64_t bit = 1;
#define BIT_OF_TYPE(_, name)     \
  if (type == #name) return bit; \
  bit <<= 1U;
  AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS(BIT_OF_TYPE)
#undef BIT_OF_TYPE
  return 0;
}

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  explicit Guard(c10::DeviceType type) : type_(type) {}

  [[nodiscard]] c10::DeviceType type() const override { return type_; }

  [[nodiscard]] Device exchangeDevice(Device device) const override {
    const Device old = getDevice();
    if (old.index() != device.index()) set_current_device(device.index());
    return old;
  }
  [[nodiscard]] Device getDevice() const override { return {type_, this_device}; }
  // Autograd calls this for its threads. It has one per device, shown or not.
  void setDevice(Device device) const override {
    if (device.index() < 0 || device.index() >= deviceCount()) no_such_device(device.index());
    this_device = device.index();
  }
  void uncheckedSetDevice(Device device) const noexcept override { this_device = device.index(); }

  [[nodiscard]] Stream getStream(Device device) const override {
    return stream(device, current_stream(index_of(device)));
  }
  [[nodiscard]] Stream getDefaultStream(Device device) const override { return stream(device, 0); }
  [[nodiscard]] Stream getStreamFromGlobalPool(Device device, bool high_priority) const override {
    return getNewStream(device, high_priority ? 1 - static_cast<int>(kPriorities) : 0);
  }
  [[nodiscard]] Stream getNewStream(Device device, int priority) const override {
    const auto level = std::clamp<std::int64_t>(-priority, 0, kPriorities - 1);
    return stream(device, next_stream(index_of(device), level));
  }
  [[nodiscard]] Stream exchangeStream(Stream next) const override {
    const DeviceIndex device = next.device_index();
    const Stream old = stream(next.device(), current_stream(device));
    this_stream(device) = next.id();
    return old;
  }

  void destroyEvent(void* event, const DeviceIndex) const noexcept override {
    if (event == nullptr) return;
    trace_gpu([&](const auto& python, c10::DeviceType type) {
      python->trace_gpu_event_deletion(type, handle_of(event));
    });
    delete static_cast<Event*>(event);
  }
  void record(void** event, const Stream& stream, const DeviceIndex,
              const c10::EventFlag flag) const override {
    check_device(stream.device_index(), Asks::kToStart);
    if (*event == nullptr) {
      *event = new Event();
      trace_gpu([&](const auto& python, c10::DeviceType type) {
        python->trace_gpu_event_creation(type, handle_of(*event));
      });
    }
    auto* recorded = static_cast<Event*>(*event);
    recorded->recorded = Clock::now();
    recorded->device = stream.device_index();
    recorded->timed = flag == c10::EventFlag::BACKEND_DEFAULT;
    recorded->capture = capture_of(stream.device_index(), stream.id());
    if (streams_are_late()) recorded->late = late::record(stream.device_index(), stream.id());
    trace_gpu([&](const auto& python, c10::DeviceType type) {
      python->trace_gpu_event_record(type, handle_of(*event), handle_of(stream));
    });
  }
  void block(void* event, const Stream& stream) const override {
    check_device(stream.device_index(), Asks::kToStart);
    if (event == nullptr) return;
    join_capture(static_cast<Event*>(event)->capture, stream.device_index(), stream.id());
    if (streams_are_late())
      late::wait(stream.device_index(), stream.id(), static_cast<Event*>(event)->late);
    trace_gpu([&](const auto& python, c10::DeviceType type) {
      python->trace_gpu_event_wait(type, handle_of(event), handle_of(stream));
    });
  }
  [[nodiscard]] bool queryEvent(void* event) const override {
    check_device_of(event);
    if (event != nullptr) check_event_in_capture(static_cast<Event*>(event)->capture);
    return !streams_are_late() || event == nullptr || late::query(static_cast<Event*>(event)->late);
  }
  [[nodiscard]] bool queryStream(const Stream& stream) const override {
    check_device(stream.device_index(), Asks::kToWait);
    check_wait_in_capture(stream.device_index(), stream.id());
    // Whoever is told that a stream is done has waited for it.
    if (streams_are_late()) late::host_waits(stream.device_index(), stream.id());
    return true;
  }
  [[nodiscard]] bool isStreamCapturing(const Stream& stream) const
      TORCHPORT_OVERRIDES_STREAM_CAPTURING {
    return capture_of(stream.device_index(), stream.id()) != nullptr;
  }
  void synchronizeStream(const Stream& stream) const override {
    note_synchronization();
    wait_for_stream(stream.device_index(), stream.id());
  }
  void synchronizeEvent(void* event) const override {
    if (event == nullptr) return;
    trace_gpu([&](const auto& python, c10::DeviceType type) {
      python->trace_gpu_event_synchronization(type, handle_of(event));
    });
    check_device_of(event);
    check_event_in_capture(static_cast<Event*>(event)->capture);
    if (streams_are_late()) late::host_waits(static_cast<Event*>(event)->late);
  }
  void synchronizeDevice(const DeviceIndex device) const override { wait_for_device(device); }
  void recordDataPtrOnStream(const c10::DataPtr& pointer, const Stream& stream) const override {
    record_stream(pointer, stream);
  }
  [[nodiscard]] double elapsedTime(void* first, void* second, const DeviceIndex) const override {
    return milliseconds_between(static_cast<Event*>(first), static_cast<Event*>(second));
  }

  [[nodiscard]] DeviceCapability getDeviceCapability(Device) const
      TORCHPORT_OVERRIDES_DEVICE_CAPABILITY {
    DeviceCapability capability;  // all dtypes
    for (const devices::RefusedType& refused : Runtime::get().description().refused_types)
      capability.capability_data.capability_bits &= ~bit_of(refused.type);
    return capability;
  }

  [[nodiscard]] DeviceIndex deviceCount() const noexcept override { return Runtime::get().count(); }

 private:
  static DeviceIndex index_of(Device device) {
    return device.has_index() ? device.index() : this_device;
  }
  static std::uintptr_t handle_of(const Stream& stream) {
    return static_cast<std::uintptr_t>(stream.id());
  }
  static std::uintptr_t handle_of(const void* event) {
    return reinterpret_cast<std::uintptr_t>(event);
  }
  static Stream stream(Device device, std::int64_t id) {
    return Stream(Stream::UNSAFE, Device(device.type(), index_of(device)), id);
  }

  c10::DeviceType type_;
};

}  // namespace

DeviceIndex current_device() {
  return this_device;
}

void check_exists(DeviceIndex device) {
  if (device < 0 || device >= shown_devices()) no_such_device(device);
}

void set_current_device(DeviceIndex device) {
  check_exists(device);
  this_device = device;
}

DeviceIndex shown_devices() {
  return std::min(shown.load(), Runtime::get().count());
}

void show_devices(DeviceIndex count) {
  shown = count;
  if (this_device >= count) this_device = 0;
}

std::int64_t current_stream(DeviceIndex device) {
  return this_stream(device);
}

void wait_for_stream(DeviceIndex device, std::int64_t stream) {
  trace_gpu([&](const auto& python, c10::DeviceType type) {
    python->trace_gpu_stream_synchronization(type, static_cast<std::uintptr_t>(stream));
  });
  check_device(device, Asks::kToWait);
  check_wait_in_capture(device, stream);
  if (streams_are_late()) late::host_waits(device, stream);
}

void wait_for_device(DeviceIndex device) {
  trace_gpu([](const auto& python, c10::DeviceType type) {
    python->trace_gpu_device_synchronization(type);
  });
  check_device(device, Asks::kToWait);
  check_device_wait_in_capture(device);
  if (streams_are_late()) late::host_waits(device);
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("elapsed_time(int first, int second) -> float", &elapsed_time);
  library.def("synchronize(int device) -> ()",
              [](std::int64_t device) { wait_for_device(static_cast<DeviceIndex>(device)); });
}

void register_guard() {
  const c10::DeviceType type = Runtime::get().kind().type;
  static const Guard* guard = new Guard(type);
  c10::impl::device_guard_impl_registry[static_cast<std::size_t>(type)].store(guard);
}

}  // namespace torchport::vdev
