// Gives each string that names an accelerator a role. Only placements tie the program to a device.
// About a fifth of all "cuda" literals are something else, and a search for the text would report
// them all.
#pragma once

#include "source/semantics/semantic_model.h"

namespace torchport::semantics {

enum class LiteralRole : std::uint8_t {
  kNone,        // does not name CUDA at all
  kPlacement,   // decides where a tensor or module goes
  kDefault,     // the default of a parameter, option or field that decides it
  kComparison,  // == "cuda", in ("cuda", "cpu"), .startswith("cuda")
  kGuarded,     // a placement in a branch that runs only with CUDA
  kDispatch,    // names a kernel, a dispatch key, a choice among devices, a key
  kMode,        // the device type of autocast or a gradient scaler
  kMessage,     // text for people
  kOther,       // unknown
};

struct Literal {
  LiteralRole role = LiteralRole::kNone;
  Node node;             // the string
  bool indexed = false;  // "cuda:1", f"cuda:{i}"
  bool formatted =
      false;   // the index is an expression: f"cuda:{i}", "cuda:%d" % i, torch.device("cuda", i)
  Node whole;  // the expression whose value is the string: `"cuda:%d" % i`, or the literal
  Node device_call;  // the torch.device(...) around it, if any

  // The expression whose value is the device: the torch.device call, or the string.
  [[nodiscard]] Node site() const { return device_call ? device_call : whole; }
};

[[nodiscard]] std::string_view role_name(LiteralRole role);

// The role of a string node. kNone for strings that do not name a CUDA device.
[[nodiscard]] Literal classify_literal(const SemanticModel& model, Node string);

}  // namespace torchport::semantics
