// Runs a program that torch.export.save wrote, without Python.
//
// torch has no such thing: its wheels declare torch::nativert::ModelRunnerHandle in their headers
// and do not contain it. A program is a list of operators of the dispatcher, so this calls them one
// after another, with the same kernels as eager mode, on any device that torch knows.
//
// The file may come from a stranger: it is data, nothing in it is run but operators that this
// process has.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <torchport/export.h>

namespace torchport {

class TORCHPORT_API Program {
 public:
  // Loads the file's first program, with its weights on `device`. Weights on the CPU are views of
  // the mapped file, as with load_tensors(). Throws std::runtime_error, with the path and the
  // reason, if the file cannot be read or is damaged, if it was written with another major version
  // of torch's schema, or if it needs what only Python has (the message names it and its line).
  explicit Program(const std::string& path, c10::Device device = c10::Device(c10::kCPU));
  ~Program();
  Program(Program&& other) noexcept;
  Program& operator=(Program&& other) noexcept;

  // Runs the program once in inference mode. `inputs` are the tensors among its arguments, and the
  // result has the tensors of its result, both in the order of torch's pytree; None and numbers are
  // left out. Throws std::invalid_argument for other inputs than the program was exported for
  // (number, dtypes, sizes), and std::runtime_error, with the line of the model, if an operator
  // fails. Calls on one Program may overlap unless it changes its own buffers.
  [[nodiscard]] std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) const;

  // The number of tensors that run() takes.
  [[nodiscard]] std::size_t inputs() const;

 private:
  class Loaded;
  std::unique_ptr<const Loaded> loaded_;
};

}  // namespace torchport
