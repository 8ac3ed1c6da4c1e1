// The trace of a program's operators: one line of text for each call, with what came out of it.
//
// Two runs of the same program give the same trace wherever they compute the same, so that a
// difference is the first place where they part. Operators that only move or make room leave no
// line: where a tensor is made and how it gets there is what a port changes.
//
//   aten::linear<TAB>LINE<TAB>float32[2,3]:CHECKSUM:MEAN:MEAN_ABS ...
#pragma once

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/util/ArrayRef.h>

namespace torchport::vdev {

class Trace {
 public:
  // The one that TORCHPORT_TRACE=FILE asks for; null when it does not, or when another process
  // writes this file already: the trace is that of the program's first process.
  static Trace* of_environment();

  // Whether calls of this operator leave a line.
  [[nodiscard]] static bool wants(const c10::OperatorHandle& op);
  // Thread-safe. The values are read where they are, on whatever device.
  void add(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> values, std::int64_t line);
  void flush();

 private:
  explicit Trace(std::FILE* file) : file_(file) {}

  std::FILE* file_;
  std::mutex mutex_;
};

}  // namespace torchport::vdev
