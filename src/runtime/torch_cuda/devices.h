// The virtual devices, as c10 knows them.
#pragma once

#include <c10/core/impl/VirtualGuardImpl.h>

namespace c10::cuda {

inline const impl::VirtualGuardImpl& virtual_devices() {
  static const impl::VirtualGuardImpl kDevices(DeviceType::CUDA);
  return kDevices;
}

}  // namespace c10::cuda
