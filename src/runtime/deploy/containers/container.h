// Finds the contract of an artefact in the artefact's file.
//
// A container is a file of this folder with a registration. Formats that share a container (the
// archives of AOTInductor, torch.export and TorchScript) share its reader. No list names the
// containers, so a new one is a new file.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace torchport::deploy {

struct Container {
  // Whether these bytes are such a container. Null for ONNX, whose files start with no magic
  // number: it takes every file that no other container recognises.
  bool (*recognises)(std::string_view bytes);
  // Reads the contract's text. Fails with kConfig if there is none and with kSyntax if the file is
  // damaged. REQUIRED to be thread safe.
  base::Result<std::string> (*read)(const std::string& path, std::string_view bytes);
};

// Adds a container. REQUIRED to have static storage duration, in an object library (the linker
// drops unreferenced members of static ones).
struct ContainerRegistration {
  explicit ContainerRegistration(Container container);
};

// The error for a container that has no contract.
[[nodiscard]] tl::unexpected<base::Error> no_contract(const std::string& path);

}  // namespace torchport::deploy
