// Defines what runs an artefact for a Session, and how a format gets its engine.
//
// An engine is a file of this folder: an Engine, and a registration that names the format of a
// contract that it runs. No list names the engines. A session checks inputs and outputs against the
// contract before and after it calls the engine, so engines have no checks of their own. Checks in
// each engine were rejected, because they would come to differ.
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
  // Runs the model once. Inputs are contiguous, on the session's device, in the contract's order;
  // outputs are in its order too. Throws std::runtime_error or c10::Error. Calls never overlap.
  [[nodiscard]] virtual std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) = 0;
  // The engine's name and version: "ONNX Runtime 1.31.1, CPU".
  [[nodiscard]] virtual std::string runtime() const = 0;
};

namespace deploy {

// Describes a format whose artefacts run without Python.
struct EngineFormat {
  std::string_view name;  // Contract::format
  // Loads the artefact. Throws as Session's constructor does.
  std::unique_ptr<Engine> (*open)(const std::string& path, const Contract& contract,
                                  c10::Device device, const SessionOptions& options);
  // Why the format cannot run on this device, and what to do instead; empty if it can. Null if it
  // can run on any device.
  std::string (*refuses)(c10::Device device) = nullptr;
};

// Adds a format. REQUIRED to have static storage duration, in an object library.
struct EngineRegistration {
  explicit EngineRegistration(EngineFormat format);
};

// The engine of a format; null if there is none. Thread safe once the library is loaded.
[[nodiscard]] const EngineFormat* find_engine(std::string_view format);
// The formats that have an engine, sorted by name: "aoti, onnx or torchscript".
[[nodiscard]] std::string engine_formats();

}  // namespace deploy

}  // namespace torchport
