// torch.export programs that run without Python.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <torch/library.h>
#include <torchport/export.h>
#include <torchport/program.h>

#include "bindings/addresses.h"

namespace torchport::bindings {

namespace {

std::int64_t open_program(const std::string& path, c10::Device device) {
  return address_of(std::make_unique<Program>(path, device).release());
}

std::vector<at::Tensor> run_program(std::int64_t program, at::TensorList inputs) {
  return at_address<const Program>(program).run(inputs.vec());
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("open_program(str path, Device device) -> int", &open_program);
  library.def("run_program(int program, Tensor[] inputs) -> Tensor[]", &run_program);
}

}  // namespace

extern "C" {

TORCHPORT_API void torchport_program_free(Program* program) noexcept {
  delete program;
}
}

}  // namespace torchport::bindings
