// Artefacts that torchport export wrote, run by their C++ engines.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <torch/library.h>
#include <torchport/export.h>
#include <torchport/session.h>

#include "bindings/addresses.h"

namespace torchport::bindings {

namespace {

std::string artefact_contract(const std::string& path) {
  return read_contract(path).json;
}

std::string hash_of_content(const std::string& path, std::int64_t bytes) {
  return content_hash(path, static_cast<std::uint64_t>(bytes));
}

// Without a device it is the one that the artefact was made for.
std::int64_t open_session(const std::string& path, std::optional<c10::Device> device,
                          std::int64_t threads) {
  SessionOptions options;
  options.device = device;
  options.threads = static_cast<int>(threads);
  return address_of(std::make_unique<Session>(path, options).release());
}

std::vector<at::Tensor> run_session(std::int64_t session, at::TensorList inputs) {
  return at_address<Session>(session).run(inputs.vec());
}

std::string session_runtime(std::int64_t session) {
  return at_address<Session>(session).runtime();
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("artefact_contract(str path) -> str", &artefact_contract);
  library.def("content_hash(str path, int bytes) -> str", &hash_of_content);
  library.def("open_session(str path, Device? device, int threads) -> int", &open_session);
  library.def("run_session(int session, Tensor[] inputs) -> Tensor[]", &run_session);
  library.def("session_runtime(int session) -> str", &session_runtime);
}

}  // namespace

extern "C" {

TORCHPORT_API void torchport_session_free(Session* session) noexcept {
  delete session;
}
}

}  // namespace torchport::bindings
