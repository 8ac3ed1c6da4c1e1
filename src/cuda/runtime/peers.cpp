// Devices that use each other's memory, and memory of other processes.
#include <cstdio>

#include "cuda/runtime/state.h"

using namespace torchport::cuda;

namespace {

cudaError_t refused(const char* what) {
  std::fprintf(
      stderr,
      "torchport: %s: virtual devices share no memory between processes; use one process, or "
      "send the data\n",
      what);
  return told(cudaErrorNotSupported);
}

}  // namespace

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (can == nullptr) return told(cudaErrorInvalidValue);
  if (!is_device(device) || !is_device(peer)) return told(cudaErrorInvalidDevice);
  *can = device == peer ? 0 : 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  if (!is_device(peer)) return told(cudaErrorInvalidDevice);
  if (flags != 0) return told(cudaErrorInvalidValue);
  if (const int error = use_device()) return told(error);
  DeviceState& state = current_state();
  if (peer == state.index) return told(cudaErrorPeerAccessUnsupported);
  const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(peer);
  if ((state.peers & bit) != 0) return told(cudaErrorPeerAccessAlreadyEnabled);
  state.peers |= bit;
  return cudaSuccess;
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  if (!is_device(peer)) return told(cudaErrorInvalidDevice);
  if (const int error = use_device()) return told(error);
  DeviceState& state = current_state();
  const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(peer);
  if ((state.peers & bit) == 0) return told(cudaErrorPeerAccessNotEnabled);
  state.peers &= ~bit;
  return cudaSuccess;
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t*, cudaEvent_t) {
  return refused("cudaIpcGetEventHandle");
}
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t*, cudaIpcEventHandle_t) {
  return refused("cudaIpcOpenEventHandle");
}
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t*, void*) {
  return refused("cudaIpcGetMemHandle");
}
cudaError_t cudaIpcOpenMemHandle(void**, cudaIpcMemHandle_t, unsigned int) {
  return refused("cudaIpcOpenMemHandle");
}
cudaError_t cudaIpcCloseMemHandle(void*) {
  return refused("cudaIpcCloseMemHandle");
}
