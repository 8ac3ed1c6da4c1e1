#include "runtime/virtual/errors/runtime_errors.h"

#include <cstdlib>
#include <string_view>

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <torch/library.h>

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

bool each_call_is_waited_for() {
  static const bool kWaits = [] {
    const char* text = std::getenv("CUDA_LAUNCH_BLOCKING");
    return text != nullptr && std::string_view(text) == "1";
  }();
  return kWaits;
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
  // With CUDA_LAUNCH_BLOCKING=1, get_cuda_check_suffix() in c10/cuda/CUDAMiscFunctions.cpp is
  // empty.
  const std::string text = fmt::format(
      "CUDA error: {}\nSearch for `{}' in "
      "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more "
      "information.{}\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n",
      words.text, words.name,
      each_call_is_waited_for()
          ? ""
          : "\nCUDA kernel errors might be asynchronously reported at some other API call, so the "
            "stacktrace below might be incorrect.\nFor debugging consider passing "
            "CUDA_LAUNCH_BLOCKING=1");
  throw c10::AcceleratorError(
      {"raise_runtime_error", __FILE__, static_cast<std::uint32_t>(__LINE__)},
      static_cast<int>(error), text);
}

}  // namespace torchport::vdev
