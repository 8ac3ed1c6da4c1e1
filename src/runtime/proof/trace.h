// Reads traces of operators, which src/runtime/virtual/watch/trace.h writes, and finds where two of
// them differ. It does not need torch, so that `torchport prove` is a part of the program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"

namespace torchport::proof {

// The name of what is no operator: the parameters after a step of an optimizer. Its last value is
// how much the step changed them.
inline constexpr std::string_view kStep = "torchport::step";

// One result of an operator: "Float[2,3]:CHECKSUM:MEAN:MEAN_ABS".
struct TracedValue {
  std::string_view shape;  // the type and the shape
  std::string_view checksum;
  double mean = 0;
  double mean_abs = 0;
};

struct TracedCall {
  std::string_view name;
  std::uint32_t line = 0;  // index into the trace's lines
  std::vector<TracedValue> values;
};

// A trace in memory. Its views point into its texts, so it is moved but never copied.
class Trace {
 public:
  Trace() = default;
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  Trace(Trace&&) = default;
  Trace& operator=(Trace&&) = default;
  ~Trace() = default;

  // Reads PATH and PATH.lines. Fails with kIo, and with kSyntax for a file that is not a trace.
  [[nodiscard]] static base::Result<Trace> read(const base::FileSystem& files,
                                                const std::string& path);

  [[nodiscard]] const std::vector<TracedCall>& calls() const { return calls_; }
  // How many of the calls are operators.
  [[nodiscard]] std::size_t operators() const;
  // Whether an operator had a result on this kind of device: "cuda", "cpu".
  [[nodiscard]] bool computed_on(std::string_view kind) const;
  // The largest tolerance_of() among the types of its values; that of float if there are none.
  [[nodiscard]] double coarsest_tolerance() const;
  // "train.py:12", or a few words on why there is no line.
  [[nodiscard]] std::string_view line_of(const TracedCall& call) const;

 private:
  std::vector<std::string> texts_;  // views stay valid: moving a vector does not move its strings
  std::vector<std::string_view> lines_;
  std::vector<std::string_view> devices_;
  std::vector<TracedCall> calls_;
};

// How two traces compare.
struct Comparison {
  std::size_t calls = 0;                 // the number of calls that were compared
  std::optional<std::size_t> differing;  // the first call that differs; none if they are the same
  double deviation = 0;  // the largest relative deviation of means, among equal shapes
  bool equal_bits = true;
};

// Compares bit by bit. If one trace is shorter, they differ at its end.
[[nodiscard]] Comparison compare(const Trace& a, const Trace& b);
// The deviation of the means of two results, relative to the size of their numbers; infinite if
// only one of them has a NaN or an infinity.
[[nodiscard]] double deviation_of(const TracedValue& a, const TracedValue& b);

// The relative tolerance of a type: the square root of its machine epsilon. Errors accumulate over
// a whole program, so the tolerance of a single operator would be too small. It is 0 for exact
// types, and for the update of a step, which is small beside its parameters, that of their
// difference.
[[nodiscard]] double tolerance_of(std::string_view shape);

}  // namespace torchport::proof
