// Traces of operators, as src/runtime/virtual/watch/trace.h writes them, and where two of them
// part.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/result.h"

namespace torchport::proof {

// What one operator gave back: "Float[2,3]:CHECKSUM:MEAN:MEAN_ABS".
struct Value {
  std::string_view shape;  // with the type
  std::string_view checksum;
  double mean = 0;
  double mean_abs = 0;
};

struct Call {
  std::string_view name;
  std::uint32_t line = 0;  // into Trace::lines
  std::vector<Value> values;
};

// The views are into `text`: a trace stays where it is.
class Trace {
 public:
  Trace() = default;
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  Trace(Trace&&) = default;
  Trace& operator=(Trace&&) = default;
  ~Trace() = default;

  // Reads PATH and PATH.lines. Fails with kIo, and with kSyntax for what is no trace.
  [[nodiscard]] static base::Result<Trace> read(const base::FileSystem& files,
                                                const std::string& path);

  [[nodiscard]] const std::vector<Call>& calls() const { return calls_; }
  // The largest tolerance_of() among its values' types; that of float where there are none.
  [[nodiscard]] double coarsest_tolerance() const;
  // "train.py:12", or a word on why there is none.
  [[nodiscard]] std::string_view line_of(const Call& call) const;

 private:
  std::vector<std::string> texts_;  // kept by address: strings of a moved vector do not move
  std::vector<std::string_view> lines_;
  std::vector<Call> calls_;
};

// How two traces compare.
struct Comparison {
  std::size_t calls = 0;                 // that were compared
  std::optional<std::size_t> differing;  // the first place where they part; none: they do not
  double deviation = 0;                  // the largest relative one, of means, among equal shapes
  bool equal_bits = true;
};

// By bits. A trace that ends early parts at its end.
[[nodiscard]] Comparison compare(const Trace& a, const Trace& b);
// By shape and type, and by means within the tolerance of each type (see tolerance_of()).
[[nodiscard]] Comparison compare_within_tolerance(const Trace& a, const Trace& b);

// The relative tolerance of a type: the square root of its machine epsilon, which is what
// accumulates over a program, not over one operator. 0 for types that are exact.
[[nodiscard]] double tolerance_of(std::string_view shape);

}  // namespace torchport::proof
