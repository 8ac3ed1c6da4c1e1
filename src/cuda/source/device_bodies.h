// The bodies of functions that a mark names as those of devices.
#pragma once

#include <cstddef>
#include <optional>

#include "cuda/source/code.h"

namespace torchport::cuda {

class DeviceBodies : CodePart {
 public:
  using CodePart::CodePart;

  struct Region {
    std::size_t begin;  // tokens; with the initializers of a constructor
    std::size_t end;
  };
  // The body of the function that the declaration around token `mark` defines; none: it is declared
  // only, or a variable.
  [[nodiscard]] std::optional<Region> behind(std::size_t mark) const;

 private:
  [[nodiscard]] bool is_attribute(std::size_t open) const;
};

}  // namespace torchport::cuda
