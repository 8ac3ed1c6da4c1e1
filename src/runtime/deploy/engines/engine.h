// What a format's runtime has to do for a Session, and no more: what is asked of inputs and outputs
// has been checked before it is called.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <torchport/dtype.h>
#include <torchport/session.h>

namespace torchport {

class Engine {
 public:
  virtual ~Engine() = default;
  // Contiguous inputs on the session's device. Throws std::runtime_error or c10::Error.
  [[nodiscard]] virtual std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) = 0;
  [[nodiscard]] virtual std::string runtime() const = 0;
};

namespace deploy {

// One function a format; each loads the artefact. Throw as Session's constructor does.
[[nodiscard]] std::unique_ptr<Engine> open_compiled(const std::string& path, c10::Device device);
[[nodiscard]] std::unique_ptr<Engine> open_script(const std::string& path, c10::Device device);
[[nodiscard]] std::unique_ptr<Engine> open_onnx(const std::string& path, const Contract& contract,
                                                const SessionOptions& options);

}  // namespace deploy

}  // namespace torchport
