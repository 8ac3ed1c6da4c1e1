#include "runtime/virtual/errors/runtime_errors.h"

#include <string>

#include <c10/util/Exception.h>
#include <torch/library.h>

#include "devices/cuda_errors.h"
#include "runtime/device/runtime_error_words.h"
#include "runtime/virtual/errors/device_errors.h"

namespace torchport::vdev {

namespace {

void raise_by_number(std::int64_t number) {
  raise_runtime_error(static_cast<RuntimeError>(number));
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("raise_runtime_error(int number) -> ()", &raise_by_number);
  library.def("runtime_error_text(int number) -> str", [](std::int64_t number) {
    return std::string(device::runtime_error_words(number).text);
  });
}

}  // namespace

void raise_runtime_error(RuntimeError error) {
  const device::RuntimeErrorWords words =
      device::runtime_error_words(static_cast<std::int64_t>(error));
  const std::string text =
      devices::cuda_error_text(words.text, /*help=*/"", words.name, each_call_waits());
  throw c10::AcceleratorError(
      {"raise_runtime_error", __FILE__, static_cast<std::uint32_t>(__LINE__)},
      static_cast<int>(error), text);
}

}  // namespace torchport::vdev
