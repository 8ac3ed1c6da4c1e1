#include "runtime/virtual/errors/runtime_errors.h"

#include <string>
#include <string_view>

#include <c10/util/Exception.h>
#include <torch/library.h>

#include "devices/cuda_errors.h"
#include "runtime/virtual/errors/device_errors.h"

namespace torchport::vdev {

namespace {

struct Words {
  std::string_view name;
  std::string_view text;
};

Words words_of(RuntimeError error) {
  switch (error) {
    case RuntimeError::kInvalidValue:
      return {"cudaErrorInvalidValue", "invalid argument"};
    case RuntimeError::kMemoryAllocation:
      return {"cudaErrorMemoryAllocation", "out of memory"};
    case RuntimeError::kInvalidResourceHandle:
      return {"cudaErrorInvalidResourceHandle", "invalid resource handle"};
    case RuntimeError::kNotReady:
      return {"cudaErrorNotReady", "device not ready"};
    case RuntimeError::kCaptureUnsupported:
      return {"cudaErrorStreamCaptureUnsupported",
              "operation not permitted when stream is capturing"};
    case RuntimeError::kCaptureInvalidated:
      return {"cudaErrorStreamCaptureInvalidated",
              "operation failed due to a previous error during capture"};
    case RuntimeError::kCaptureIsolation:
      return {"cudaErrorStreamCaptureIsolation",
              "dependency created on uncaptured work in another stream"};
    case RuntimeError::kCapturedEvent:
      return {"cudaErrorCapturedEvent",
              "operation not permitted on an event last recorded in a capturing stream"};
  }
  return {"cudaErrorUnknown", "unknown error"};
}

void raise_by_number(std::int64_t number) {
  raise_runtime_error(static_cast<RuntimeError>(number));
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("raise_runtime_error(int number) -> ()", &raise_by_number);
}

}  // namespace

void raise_runtime_error(RuntimeError error) {
  const Words words = words_of(error);
  const std::string text =
      devices::cuda_error_text(words.text, /*help=*/"", words.name, each_call_waits());
  throw c10::AcceleratorError(
      {"raise_runtime_error", __FILE__, static_cast<std::uint32_t>(__LINE__)},
      static_cast<int>(error), text);
}

}  // namespace torchport::vdev
