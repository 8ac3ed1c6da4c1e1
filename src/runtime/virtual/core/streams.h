// Streams, events and the current device of virtual devices, for each thread.
//
// Work on a virtual device is done when its call returns, so streams order nothing and events are
// over when they are recorded; what is kept are their identities and their times.
#pragma once

#include <cstdint>

#include <c10/core/Device.h>

namespace torchport::vdev {

// This thread's current device.
[[nodiscard]] c10::DeviceIndex current_device();
// Raises c10::AcceleratorError for an index that is none of a device shown.
void set_current_device(c10::DeviceIndex device);

// How many devices the program is shown, the first ones of all there are: all, unless less is set.
// Tensors on the others stay what they are; nothing new can be made there.
[[nodiscard]] c10::DeviceIndex shown_devices();
void show_devices(c10::DeviceIndex count);

// Makes c10's guards of this kind of device use these.
void register_guard();

// The id of this thread's current stream on a device; 0 is the default stream.
[[nodiscard]] std::int64_t current_stream(c10::DeviceIndex device);

}  // namespace torchport::vdev
