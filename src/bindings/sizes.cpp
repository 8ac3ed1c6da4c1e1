#include <stdexcept>

#include <torch/library.h>

#include "base/bytes.h"

namespace torchport::bindings {

namespace {

std::int64_t parse_size(const std::string& text) {
  const auto bytes = base::parse_size(text);
  if (!bytes) throw std::invalid_argument("torchport: " + bytes.error().message);
  return static_cast<std::int64_t>(*bytes);
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("parse_size(str text) -> int", &parse_size);
}

}  // namespace

}  // namespace torchport::bindings
