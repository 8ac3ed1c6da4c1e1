#include "runtime/virtual/core/capture.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/virtual/core/streams.h"
#include "runtime/virtual/errors/runtime_errors.h"

namespace torchport::vdev {

class Capture {
 public:
  using Stream = std::pair<c10::DeviceIndex, std::int64_t>;

  Capture(Stream origin, CaptureMode mode) : mode_(mode), streams_{origin} {}

  void join(Stream stream) {
    if (!has(stream)) streams_.push_back(stream);
  }
  void invalidate() { valid_ = false; }

  [[nodiscard]] bool has(Stream stream) const {
    return std::find(streams_.begin(), streams_.end(), stream) != streams_.end();
  }
  [[nodiscard]] bool is_on(c10::DeviceIndex device) const {
    return std::any_of(streams_.begin(), streams_.end(),
                       [&](const Stream& stream) { return stream.first == device; });
  }
  [[nodiscard]] bool valid() const { return valid_; }
  // Whether it forbids potentially unsafe calls to this thread.
  [[nodiscard]] bool forbids_unsafe() const {
    return mode_ == CaptureMode::kGlobal ||
           (mode_ == CaptureMode::kThreadLocal && thread_ == std::this_thread::get_id());
  }

 private:
  CaptureMode mode_;
  std::thread::id thread_ = std::this_thread::get_id();
  std::vector<Stream> streams_;
  std::atomic<bool> valid_{true};
};

namespace {

// The default stream of a device, which no capture can have.
constexpr std::int64_t kLegacyStream = 0;

struct Underway {
  std::mutex mutex;
  std::vector<std::shared_ptr<Capture>> captures;

  // The one that a stream belongs to, or null. REQUIRES the mutex.
  [[nodiscard]] std::shared_ptr<Capture> of(Capture::Stream stream) const {
    for (const auto& capture : captures) {
      if (capture->has(stream)) return capture;
    }
    return nullptr;
  }
};

// Never destroyed: threads may use devices until the process ends.
Underway& underway() {
  static auto* all = new Underway();
  return *all;
}

thread_local bool is_replaying = false;

// Makes the captures for which `concerned` holds invalid. Returns whether there are any.
template <class Concerned>
bool invalidate(Concerned concerned) {
  Underway& all = underway();
  const std::lock_guard lock(all.mutex);
  bool any = false;
  for (const auto& capture : all.captures) {
    if (!concerned(*capture)) continue;
    capture->invalidate();
    any = true;
  }
  return any;
}

}  // namespace

std::atomic<int> detail::captures_underway{0};

std::shared_ptr<Capture> begin_capture(c10::DeviceIndex device, std::int64_t stream,
                                       CaptureMode mode) {
  check_wait_in_capture(device, stream);
  Underway& all = underway();
  const std::lock_guard lock(all.mutex);
  all.captures.push_back(std::make_shared<Capture>(Capture::Stream{device, stream}, mode));
  detail::captures_underway = static_cast<int>(all.captures.size());
  return all.captures.back();
}

bool end_capture(const std::shared_ptr<Capture>& capture) {
  Underway& all = underway();
  const std::lock_guard lock(all.mutex);
  std::erase(all.captures, capture);
  detail::captures_underway = static_cast<int>(all.captures.size());
  return capture->valid();
}

std::shared_ptr<Capture> capture_of(c10::DeviceIndex device, std::int64_t stream) {
  if (!any_capture()) return nullptr;
  const std::lock_guard lock(underway().mutex);
  return underway().of({device, stream});
}

void join_capture(const std::weak_ptr<Capture>& capture, c10::DeviceIndex device,
                  std::int64_t stream) {
  if (!any_capture()) return;
  const auto joined = capture.lock();
  Underway& all = underway();
  auto refusal = RuntimeError::kCaptureIsolation;
  {
    const std::lock_guard lock(all.mutex);
    const bool going_on =
        joined && std::find(all.captures.begin(), all.captures.end(), joined) != all.captures.end();
    const auto own = all.of({device, stream});
    if (own == joined || (own == nullptr && !going_on)) return;
    if (own != nullptr) {
      own->invalidate();
    } else if (stream != kLegacyStream) {
      joined->join({device, stream});
      return;
    } else {
      joined->invalidate();
      refusal = RuntimeError::kCaptureImplicit;
    }
  }
  raise_runtime_error(refusal);
}

bool captures(const Capture& capture, c10::DeviceIndex device, std::int64_t stream) {
  const std::lock_guard lock(underway().mutex);
  return capture.has({device, stream});
}

bool is_capturing_graph() {
  if (!any_capture()) return false;
  const c10::DeviceIndex device = current_device();
  return capture_of(device, current_stream(device)) != nullptr;
}

void check_start_in_capture(c10::DeviceIndex device, std::int64_t stream) {
  if (!any_capture()) return;
  const auto capture = capture_of(device, stream);
  if (capture && !capture->valid()) raise_runtime_error(RuntimeError::kCaptureInvalidated);
}

bool invalidate_capture(c10::DeviceIndex device, std::int64_t stream) {
  return any_capture() && invalidate([&](const Capture& one) { return one.has({device, stream}); });
}

void check_wait_in_capture(c10::DeviceIndex device, std::int64_t stream) {
  if (!any_capture()) return;
  check_start_in_capture(device, stream);
  if (invalidate_capture(device, stream)) raise_runtime_error(RuntimeError::kCaptureUnsupported);
}

void check_device_wait_in_capture(c10::DeviceIndex device) {
  if (!any_capture()) return;
  const c10::DeviceIndex index = device < 0 ? current_device() : device;
  if (invalidate([&](const Capture& one) { return one.is_on(index) || one.forbids_unsafe(); }))
    raise_runtime_error(RuntimeError::kCaptureUnsupported);
}

void check_event_in_capture(const std::weak_ptr<Capture>& recorded) {
  if (!any_capture()) return;
  const auto own = recorded.lock();
  if (own && invalidate([&](const Capture& one) { return &one == own.get(); }))
    raise_runtime_error(RuntimeError::kCapturedEvent);
  if (invalidate([](const Capture& one) { return one.forbids_unsafe(); }))
    raise_runtime_error(RuntimeError::kCaptureUnsupported);
}

void set_replaying(bool replaying) {
  is_replaying = replaying;
}

bool is_replaying_graph() {
  return is_replaying;
}

bool runs_in_graph() {
  return is_replaying || is_capturing_graph();
}

}  // namespace torchport::vdev
