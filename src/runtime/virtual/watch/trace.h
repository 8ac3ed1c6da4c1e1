// The trace of a program's operators: one line of text for each call, with what came out of it.
//
// Two runs of the same program give the same trace wherever they compute the same, so that a
// difference is the first place where they part. Operators that only move or make room leave no
// line: where a tensor is made and how it gets there is what a port changes.
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
  // The one that TORCHPORT_TRACE=FILE asks for; null when it does not, or when another process
  // writes this file already: the trace is that of the program's first process.
  static std::shared_ptr<TraceWriter> of_environment();

  explicit TraceWriter(std::FILE* file) : file_(file) {}

  // The values are read where they are, on whatever device.
  void observe(observer::Call& call) override;
  // A forked child (a worker of a DataLoader) is another process: it writes nothing, not even what
  // its parent had not written yet.
  void after_fork_in_child() noexcept override;
  void flush();

 private:
  void add(const observer::Call& call, c10::ArrayRef<c10::IValue> values);

  std::FILE* file_;
  std::mutex mutex_;
};

}  // namespace torchport::vdev
