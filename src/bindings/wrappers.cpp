#include "runtime/checkpoint/wrappers.h"

#include <map>

#include <torch/library.h>

#include "bindings/as_json.h"

namespace torchport::bindings {

namespace {

// The attribute in which each class of wrapper keeps the wrapped model, as JSON.
std::string wrapped_attributes() {
  std::map<std::string, std::string> attributes;
  for (const checkpoint::Wrapper& wrapper : checkpoint::kWrappers) {
    if (!wrapper.attribute.empty()) attributes.emplace(wrapper.type, wrapper.attribute);
  }
  return as_json(attributes);
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("wrapped_attributes() -> str", &wrapped_attributes);
}

}  // namespace

}  // namespace torchport::bindings
