#include "cuda/runtime/state.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "cuda/runtime/limits.h"
#include "cuda/runtime/pools.h"
#include "cuda/runtime/printing.h"
#include "devices/device_kind.h"
#include "devices/visibility.h"
#include "runtime/device/cuda_devices.h"
#include "runtime/device/spec.h"

namespace torchport::cuda {

namespace {

thread_local int error_of_thread = 0;
thread_local int device_of_thread = 0;
thread_local bool thread_uses_device = false;

std::vector<std::unique_ptr<DeviceState>> make_devices() {
  const char* text = std::getenv(device::kVariable);
  auto spec = device::parse_spec(text == nullptr || *text == '\0' ? "cuda:1" : text);
  std::vector<std::unique_ptr<DeviceState>> made;
  if (!spec) {
    std::fputs(fmt::format("torchport: {}: {}\n", device::kVariable, spec.error().message).c_str(),
               stderr);
    return made;
  }
  if (spec->kind != "cuda") return made;
  const std::size_t visible =
      devices::visible_numbers(std::getenv("CUDA_VISIBLE_DEVICES"), spec->count).size();
  for (int i = 0; i < static_cast<int>(visible); ++i) {
    made.push_back(std::make_unique<DeviceState>());
    made.back()->index = i;
    made.back()->profile = spec->profile;
    made.back()->memory = spec->memory != 0 ? spec->memory : spec->profile->memory;
    made.back()->limits = first_limits(*spec->profile);
  }
  return made;
}

std::vector<std::unique_ptr<DeviceState>>& all_devices() {
  static auto* const kAll = new std::vector<std::unique_ptr<DeviceState>>(make_devices());
  return *kAll;
}

}  // namespace

int noted(int error) {
  if (error != 0 && error != cudaErrorNotReady) error_of_thread = error;
  return error;
}

int last_error(bool forget) {
  const int error = error_of_thread;
  if (forget) error_of_thread = 0;
  return error;
}

int count_of_devices() {
  const int made = static_cast<int>(all_devices().size());
  if (const Devices* outside = devices_outside()) return std::min(outside->count(), made);
  return made;
}

DeviceState& device_state(int device) {
  return *all_devices().at(static_cast<std::size_t>(device));
}

int current_device() {
  if (const Devices* outside = devices_outside()) return outside->current();
  return device_of_thread;
}

int set_current_device(int device) {
  if (!is_device(device)) return cudaErrorInvalidDevice;
  if (const Devices* outside = devices_outside()) outside->set_current(device);
  device_of_thread = device;
  return cudaSuccess;
}

DeviceState& current_state() {
  return device_state(current_device());
}

int use_device() {
  if (count_of_devices() == 0) return cudaErrorNoDevice;
  DeviceState& state = current_state();
  state.active = true;
  thread_uses_device = true;
  if (state.unavailable) return cudaErrorDevicesUnavailable;
  return state.error_is_known ? state.error.load() : 0;
}

bool uses_device_on_this_thread() {
  return thread_uses_device || devices_outside() != nullptr;
}

int wait_for_device() {
  if (count_of_devices() == 0) return cudaErrorNoDevice;
  show_prints();
  DeviceState& state = current_state();
  trim_pools(state.index);
  if (state.error != 0) state.error_is_known = true;
  return use_device();
}

void set_device_error(int device, int error, const std::string& kernel, const std::string& text) {
  if (!text.empty())
    std::fputs(fmt::format("torchport: kernel {}: {}\n", kernel, text).c_str(), stderr);
  if (error == 0) return;
  DeviceState& state = device_state(device);
  int none = 0;
  state.error.compare_exchange_strong(none, error);
  if (const Devices* outside = devices_outside()) outside->failed(device, error, kernel.c_str());
}

}  // namespace torchport::cuda
