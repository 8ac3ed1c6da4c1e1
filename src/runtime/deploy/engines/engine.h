// What runs an artefact for a Session, and how a format gets one.
//
// An engine is a file of this folder: an Engine, and a registration that says which format of a
// contract it runs. No list names the engines. A session checks inputs and outputs against the
// contract before and after the engine is called, so that engines hold no checks of their own; each
// doing its own was rejected, since two of them would come to differ.
#pragma once

#include <memory>
#include <string>
#include <string_view>
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
  // The name and the version of what computes: "ONNX Runtime 1.31.1, CPU".
  [[nodiscard]] virtual std::string runtime() const = 0;
};

namespace deploy {

// A format whose artefacts run without Python.
struct EngineFormat {
  std::string_view name;  // Contract::format
  // Loads the artefact. Throws as Session's constructor does.
  std::unique_ptr<Engine> (*open)(const std::string& path, const Contract& contract,
                                  c10::Device device, const SessionOptions& options);
  // Why the format cannot run on this device, and what to do; empty where it can. Null: it can on
  // any.
  std::string (*refuses)(c10::Device device) = nullptr;
};

// REQUIRED: static storage duration, in a file that is linked as an object.
struct EngineRegistration {
  explicit EngineRegistration(EngineFormat format);
};

// Null where no engine runs the format. Thread-safe once the library is loaded.
[[nodiscard]] const EngineFormat* find_engine(std::string_view format);
// "aoti, onnx or torchscript": the formats that have an engine, in order of their names.
[[nodiscard]] std::string engine_formats();

}  // namespace deploy

}  // namespace torchport
