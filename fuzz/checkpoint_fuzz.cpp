// Feeds any bytes to the readers of pickles and of safetensors, which have to read or refuse them.
#include <cstdint>
#include <string_view>

#include "runtime/checkpoint/formats.h"
#include "runtime/checkpoint/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  using namespace torchport::checkpoint;
  if (is_safetensors(bytes)) {
    if (const auto contents = inspect_safetensors(bytes))
      static_cast<void>(to_json("f", *contents));
  } else if (const auto contents = inspect_legacy(bytes)) {
    static_cast<void>(to_json("f", *contents));
  }
  return 0;
}
