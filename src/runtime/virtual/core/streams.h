// Keeps the streams, events and current device of each thread, for virtual devices.
//
// Work on a virtual device is complete when its call returns. So streams order nothing, and an
// event is over when it is recorded; only their identities and times are kept.
#pragma once

#include <cstdint>

#include <c10/core/Device.h>

namespace torchport::vdev {

// The current device of this thread.
[[nodiscard]] c10::DeviceIndex current_device();
// Raises c10::AcceleratorError for an index that is not a shown device.
void check_exists(c10::DeviceIndex device);
// Sets it. Raises c10::AcceleratorError for an index that is not a shown device.
void set_current_device(c10::DeviceIndex device);

// The number of devices that the program sees: the first ones of all, and all of them by default.
// Tensors on the others stay valid, but nothing new can be made there.
[[nodiscard]] c10::DeviceIndex shown_devices();
void show_devices(c10::DeviceIndex count);

// Registers these functions as c10's device guard of the device kind.
void register_guard();

// The id of this thread's current stream on a device; 0 is the default stream.
[[nodiscard]] std::int64_t current_stream(c10::DeviceIndex device);

// The host waits until a stream, or all streams of a device, have done their work. Raises if the
// device is lost (errors/device_errors.h). -1 is the calling thread's current device.
void wait_for_stream(c10::DeviceIndex device, std::int64_t stream);
void wait_for_device(c10::DeviceIndex device);

}  // namespace torchport::vdev
