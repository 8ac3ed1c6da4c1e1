// Writes the trace of a program's operators: one line of text per call, with checksums of its
// results.
//
// Two runs of the same program give the same trace if they compute the same values, so the first
// difference is the place where they diverge. Operators that only move or allocate leave no line,
// because a port changes where tensors are made and how they get there.
//
//   aten::linear<TAB>LINE<TAB>float32[2,3]:CHECKSUM:MEAN:MEAN_ABS ...
#pragma once

#include <cstdio>
#include <memory>
#include <mutex>

#include <ATen/core/ivalue.h>
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

 private:
  void add(const observer::Call& call, c10::ArrayRef<c10::IValue> values);

  std::FILE* file_;
  std::mutex mutex_;
};

}  // namespace torchport::vdev
