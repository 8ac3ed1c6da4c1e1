// The captures of CUDA graphs: which streams are being captured, and what that forbids.
//
// A capture begins on a stream; other streams join it by waiting for an event of a stream that
// belongs to it (CUDA programming guide, "Cross-stream Dependencies and Events"). Meanwhile nothing
// may wait for these streams or for events that were recorded on them: the call fails, and with it
// the whole capture. By its mode a capture also forbids calls that are potentially unsafe, such as
// asking for an event of another stream: to its thread, or to all threads (cudaStreamCaptureMode).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <c10/core/Device.h>

namespace torchport::vdev {

class Capture;

// As cudaStreamCaptureMode numbers them.
enum class CaptureMode : std::uint8_t { kGlobal, kThreadLocal, kRelaxed };

namespace detail {
extern std::atomic<int> captures_underway;
}

// Whether any thread captures a graph. Thread safe, like all functions below.
[[nodiscard]] inline bool any_capture() {
  return detail::captures_underway.load(std::memory_order_relaxed) != 0;
}

// Begins a capture on a stream, for the calling thread. Raises c10::AcceleratorError if the stream
// is being captured already.
std::shared_ptr<Capture> begin_capture(c10::DeviceIndex device, std::int64_t stream,
                                       CaptureMode mode);
// Ends it. Returns whether it is valid: whether no call was refused meanwhile.
[[nodiscard]] bool end_capture(const std::shared_ptr<Capture>& capture);

// The capture that a stream belongs to; null if there is none.
[[nodiscard]] std::shared_ptr<Capture> capture_of(c10::DeviceIndex device, std::int64_t stream);
// A stream waits for an event that was recorded in a capture, or in none, and so joins that. Raises
// c10::AcceleratorError if the stream belongs to another one: it cannot wait for uncaptured work.
void join_capture(const std::weak_ptr<Capture>& capture, c10::DeviceIndex device,
                  std::int64_t stream);
// Whether the streams of a capture include this one.
[[nodiscard]] bool captures(const Capture& capture, c10::DeviceIndex device, std::int64_t stream);

// Whether the work that this thread starts on the current stream is captured.
[[nodiscard]] bool is_capturing_graph();

// Makes the capture that a stream belongs to invalid, for a call that a library refuses then.
// Returns whether there is one.
bool invalidate_capture(c10::DeviceIndex device, std::int64_t stream);

// Raises c10::AcceleratorError, and makes the capture invalid, if the host must not do this now:
// start work on a stream whose capture is invalid,
void check_start_in_capture(c10::DeviceIndex device, std::int64_t stream);
// wait for a stream, or ask whether it is done,
void check_wait_in_capture(c10::DeviceIndex device, std::int64_t stream);
// wait for a device,
void check_device_wait_in_capture(c10::DeviceIndex device);
// or wait for an event, or ask whether it is done. `recorded` is the capture that it was recorded
// in.
void check_event_in_capture(const std::weak_ptr<Capture>& recorded);

// Whether this thread runs the work of a CUDA graph again that was captured.
void set_replaying(bool replaying);
[[nodiscard]] bool is_replaying_graph();

// Whether the work that this thread starts belongs to a CUDA graph: it captures one, or replays it.
[[nodiscard]] bool runs_in_graph();

}  // namespace torchport::vdev
