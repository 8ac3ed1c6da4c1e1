// Runs an artefact that `torchport export` wrote, without Python.
//
// An artefact carries a contract: its inputs and outputs, and what it needs of the host. A Session
// checks the host against the contract before it loads anything, and each call before it runs
// anything. Without these checks, a library that was compiled for other instructions ends in
// SIGILL, an input of a wrong shape gives a meaningless result, and a missing GPU makes a service
// thirty times slower without a message.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <torchport/export.h>

namespace torchport {

// One dimension of an input or output: a fixed size, or the name of an axis whose size varies. A
// name that is not an axis of the contract is a formula over axes ("2*batch").
struct Dimension {
  std::int64_t size = -1;  // in elements; -1 if it varies
  std::string axis;        // empty for a fixed size
};

struct TensorSpec {
  std::string name;
  c10::ScalarType dtype = c10::ScalarType::Float;
  std::vector<Dimension> shape;
};

struct AxisBounds {
  std::int64_t minimum = 1;
  std::optional<std::int64_t> maximum;  // none: unbounded
};

// What a host must have. An empty member asks for nothing.
struct HostNeeds {
  std::string device;                     // "cpu", "cuda", "any"
  std::string system;                     // "linux"
  std::string machine;                    // "x86_64"
  std::vector<std::string> instructions;  // as cpuinfo names them: "avx512_f"
  std::string torch;                      // this version or a later one: "2.13"
  std::string cuda;                       // the CUDA that its kernels were compiled with
  std::string capability;                 // the compute capability that they were compiled for
  std::string python;                     // why it needs Python, which a Session does not have
};

struct Contract {
  std::string format;  // "onnx", "aoti", "torchscript", "pt2"
  std::string model;   // the name of the model's class
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::map<std::string, AxisBounds> axes;
  // Whether each row of a batch is computed alone, so that a batch may be cut or filled up. True if
  // the contract does not say it.
  bool rows_independent = true;
  HostNeeds host;
  std::string json;  // the complete contract, as it was written
};

// Reads the contract of an artefact, and loads nothing else of it. Throws std::runtime_error if the
// file cannot be read, is damaged, has no contract, or has one of a later version. Thread safe.
[[nodiscard]] TORCHPORT_API Contract read_contract(const std::string& path);

// XXH3 (64 bits, as 16 hexadecimal digits) of the first `bytes` bytes of a file: what the list
// `content` of a contract has for each file of the artefact. A Session refuses files that differ
// from it. Throws std::runtime_error if the file cannot be read or is shorter. Thread safe.
[[nodiscard]] TORCHPORT_API std::string content_hash(const std::string& path, std::uint64_t bytes);

// What this host lacks to run the artefact on `device`, one sentence each; empty if it lacks
// nothing. Thread safe.
[[nodiscard]] TORCHPORT_API std::vector<std::string> unmet_needs(const Contract& contract,
                                                                 c10::Device device);

struct SessionOptions {
  // The device to run on. If none, the one that the artefact was made for, or the CPU if it runs on
  // any device. A device of another kind than the artefact's is refused: nothing falls back to the
  // CPU by itself.
  std::optional<c10::Device> device;
  // Whether NaN and infinity are refused, in inputs and in outputs. It costs a pass over each
  // tensor.
  bool check_finite = false;
  // The number of ONNX Runtime's threads; 0 lets it choose. torch's threads are set by
  // at::set_num_threads().
  int threads = 0;
  // The path of libonnxruntime.so. If empty, TORCHPORT_ONNXRUNTIME decides, then the onnxruntime
  // package of the Python environment that torch is in.
  std::string onnx_runtime;
};

// Runs an artefact; each format has its own implementation.
class Engine;

// An artefact that is loaded and ready to run. Calls of run() on one Session must not overlap;
// different Sessions are independent of each other. It owns all that it loaded.
class TORCHPORT_API Session {
 public:
  // Loads the artefact. Throws std::runtime_error if it cannot be read or if the host lacks
  // something (the message names everything that is missing), and c10::Error for what torch itself
  // refuses.
  explicit Session(const std::string& path, const SessionOptions& options = {});
  ~Session();
  Session(Session&& other) noexcept;
  Session& operator=(Session&& other) noexcept;

  // Runs the model once. Inputs are in the contract's order and on device(); outputs are in its
  // order, on the same device. Throws std::invalid_argument if an input differs from the contract,
  // with what was expected and what was given, and std::runtime_error if an output does.
  [[nodiscard]] std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs);

  [[nodiscard]] const Contract& contract() const { return contract_; }
  [[nodiscard]] c10::Device device() const { return device_; }
  // The engine and its version: "AOTInductor 2.13.0".
  [[nodiscard]] std::string runtime() const;

 private:
  Contract contract_;
  SessionOptions options_;
  c10::Device device_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace torchport
