#include "cuda/runtime/state.h"

#include <atomic>
#include <cstdio>

#include <fmt/format.h>

namespace torchport::cuda {

namespace {

thread_local int error_of_thread = 0;
std::atomic<int> error_of_device = 0;

}  // namespace

int noted(int error) {
  if (error != 0) error_of_thread = error;
  return error;
}

int last_error(bool forget) {
  const int error = error_of_thread;
  if (forget) error_of_thread = 0;
  return error;
}

int device_error() {
  return error_of_device;
}

int device_status() {
  return noted(error_of_device);
}

void set_device_error(int error, const std::string& kernel, const std::string& text) {
  if (!text.empty())
    std::fputs(fmt::format("torchport: kernel {}: {}\n", kernel, text).c_str(), stderr);
  error_of_device = error;
}

}  // namespace torchport::cuda
