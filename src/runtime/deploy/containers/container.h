// How the contract of an artefact is found in its file.
//
// A container is a file of this folder with a registration; formats that share one (archives of
// AOTInductor, torch.export and TorchScript) share its reader. No list names the containers.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace torchport::deploy {

struct Container {
  // Whether a file of these bytes is such a container. Null for the one that takes what no other
  // recognises: ONNX, whose files start with no mark.
  bool (*recognises)(std::string_view bytes);
  // The contract's text. kConfig where there is none, kSyntax for a damaged file. Thread-safe.
  base::Result<std::string> (*read)(const std::string& path, std::string_view bytes);
};

// REQUIRED: static storage duration, in a file that is linked as an object.
struct ContainerRegistration {
  explicit ContainerRegistration(Container container);
};

// The error of a container without a contract.
[[nodiscard]] tl::unexpected<base::Error> no_contract(const std::string& path);

}  // namespace torchport::deploy
