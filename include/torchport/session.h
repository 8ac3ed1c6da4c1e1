// Running what `torchport export` wrote, without Python.
//
// An artefact carries a contract: what it takes and gives, and what it needs of the host. A Session
// holds both sides to it: the host before anything is loaded, every call before anything is run.
// Without that, a library compiled for other instructions ends in SIGILL, a wrong shape in an
// answer that is none, and a missing GPU in a service that is thirty times slower and says nothing.
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

// One dimension of an input or output: a number, or a name where it varies. A name of no axis is a
// formula of such ("2*batch").
struct Dimension {
  std::int64_t size = -1;  // -1: varies
  std::string axis;        // empty for a number
};

struct TensorSpec {
  std::string name;
  c10::ScalarType dtype = c10::ScalarType::Float;
  std::vector<Dimension> shape;
};

struct AxisBounds {
  std::int64_t minimum = 1;
  std::optional<std::int64_t> maximum;  // none: without bound
};

// What a host must have. Empty: nothing is asked.
struct HostNeeds {
  std::string device;                     // "cpu", "cuda", "any"
  std::string system;                     // "linux"
  std::string machine;                    // "x86_64"
  std::vector<std::string> instructions;  // as cpuinfo names them: "avx512_f"
  std::string torch;                      // this version or a later one: "2.13"
  std::string cuda;                       // that its kernels were compiled with
  std::string capability;                 // of the GPU that they were compiled for
};

struct Contract {
  std::string format;  // "onnx", "aoti", "torchscript", "pt2"
  std::string model;   // the class of the model
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::map<std::string, AxisBounds> axes;
  HostNeeds host;
  std::string json;  // the whole of it, as it was written
};

// The contract in an artefact, of which nothing else is loaded. Throws std::runtime_error for a
// file that cannot be read, is damaged, has no contract, or one of a later version. Thread safe.
[[nodiscard]] TORCHPORT_API Contract read_contract(const std::string& path);

// What this host lacks to run it on `device`, one reason each; empty where it lacks nothing.
[[nodiscard]] TORCHPORT_API std::vector<std::string> unmet_needs(const Contract& contract,
                                                                 c10::Device device);

struct SessionOptions {
  // None: the device that the artefact is for; a CPU for what runs on any. Of another kind than the
  // artefact's it is refused: nothing falls back to the CPU by itself.
  std::optional<c10::Device> device;
  // Refuse NaN and Inf, in inputs and in outputs. Costs a pass over each.
  bool check_finite = false;
  // Threads of ONNX Runtime; 0: its own choice. Those of torch are at::set_num_threads().
  int threads = 0;
  // libonnxruntime.so; empty: TORCHPORT_ONNXRUNTIME, then the onnxruntime package of the Python
  // environment that torch is in.
  std::string onnx_runtime;
};

// How an artefact computes: one implementation a format.
class Engine;

// An artefact ready to run. Calls of run() on one Session must not overlap; several Sessions are
// independent of each other.
class TORCHPORT_API Session {
 public:
  // Throws std::runtime_error where the artefact cannot be read or the host lacks something (all of
  // it is named), and c10::Error for what torch itself refuses.
  explicit Session(const std::string& path, const SessionOptions& options = {});
  ~Session();
  Session(Session&& other) noexcept;
  Session& operator=(Session&& other) noexcept;

  // Inputs in the contract's order, on device(); outputs in its order, on the same device. Throws
  // std::invalid_argument where an input is not what the contract says, with what was expected and
  // what was given, and std::runtime_error for an output that is not.
  [[nodiscard]] std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs);

  [[nodiscard]] const Contract& contract() const { return contract_; }
  [[nodiscard]] c10::Device device() const { return device_; }
  // What computes, with its version: "AOTInductor 2.13.0".
  [[nodiscard]] std::string runtime() const;

 private:
  Contract contract_;
  SessionOptions options_;
  c10::Device device_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace torchport
