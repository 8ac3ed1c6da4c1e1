// Writes the trace of a program's operators: one line of text per call, with checksums of its
// results.
//
// Two runs of the same program give the same trace if they compute the same values, so the first
// difference is the place where they diverge. Operators that only move or allocate leave no line,
// because a port changes where tensors are made and how they get there.
//
//   aten::linear<TAB>LINE<TAB>float32[2,3]:CHECKSUM:MEAN:MEAN_ABS ...
//
// The first result on a kind of device has a line before it, "#device<TAB>KIND". After a step of an
// optimizer "torchport::step" has the parameters, and as its last value how much the step changed
// them, "Update[NUMBER OF ELEMENTS]": the result of a program's last step goes into no operator.
#pragma once

#include <cstdio>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>
#include <c10/util/ArrayRef.h>

#include "runtime/observer/observer.h"

namespace torchport::vdev {

class TraceWriter final : public observer::Listener {
 public:
  // The writer that TORCHPORT_TRACE=FILE asks for. Null if it is not set, or if another process
  // writes this file already: the trace is that of the program's first process.
  static std::shared_ptr<TraceWriter> of_environment();

  explicit TraceWriter(std::FILE* file) : file_(file) {}

  // Reads the values on the device that they are on.
  void observe(observer::Call& call) override;
  // A forked child (a worker of a DataLoader) writes nothing, not even what its parent has
  // buffered.
  void after_fork_in_child() noexcept override;
  void flush();
  // A step of an optimizer begins or ends, with the same parameters. Steps of one thread may be
  // nested.
  void begin_step(const std::vector<at::Tensor>& parameters);
  void end_step(const std::vector<at::Tensor>& parameters);

 private:
  void add(const observer::Call& call, c10::ArrayRef<c10::IValue> values);
  void write(const std::set<c10::DeviceType>& kinds, const std::string& line);

  std::FILE* file_;
  std::mutex mutex_;
  std::set<c10::DeviceType> seen_;  // kinds of devices that have had a result
};

}  // namespace torchport::vdev
