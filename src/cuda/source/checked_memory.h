// What a checker of kernels is told of, beside accesses: copies, new and delete.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cuda/source/code.h"

namespace torchport::cuda {

class CheckedMemory : CodePart {
 public:
  using CodePart::CodePart;

  // A function of the host's library that uses memory: a checker is told before. Not in the headers
  // of the host.
  void copy(std::size_t i, std::string_view it);
  // new and delete of a device's function, so that a checker knows of their memory.
  void on_heap(std::size_t i, std::string_view it);
  // The body of a function that only a device calls.
  void enter_device_function(std::size_t i);

 private:
  [[nodiscard]] bool is_of_toolkit(const std::string& file) const;
};

}  // namespace torchport::cuda
