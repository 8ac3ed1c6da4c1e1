// Writes what the placement rules insert instead of a hard-coded device, and finds the place where
// such an expression belongs.
#pragma once

#include <string>

#include "source/rules/rule.h"
#include "source/semantics/literals.h"

namespace torchport::rules {

// The text to insert, and what it needs.
struct DeviceText {
  std::string text;
  edit::Needs needs;
  bool certain = true;  // provably the same with CUDA
};

// The first node above an expression that does more than select a value: passes over parentheses,
// `a if c else b` and `a or b`.
[[nodiscard]] Node holder_of(Node expression);

// The place where an expression is evaluated: the function for its defaults and decorators,
// otherwise the node itself.
[[nodiscard]] Node evaluated_at(Node node);

// Puts a conditional expression into parentheses if `place` needs them.
[[nodiscard]] std::string fitted(Node place, std::string conditional);

// The expression `"cuda" if torch.cuda.is_available() else ...`, as a string or as a torch.device.
[[nodiscard]] DeviceText inline_device(const PythonContext& context, bool as_string);

// The expression `text if torch.cuda.is_available() else ...`, which keeps an index that the
// program asked for.
[[nodiscard]] DeviceText guarded_device(const PythonContext& context, std::string_view text,
                                        bool as_string);

// The device in scope at a node that makes or moves a tensor; in place of one of the whole module
// the device of a tensor at hand.
[[nodiscard]] edit::DeviceRef device_near(const PythonContext& context, Node node);

// The device of an input of the function, if what is placed by the local name that is chosen here
// meets it: `device = torch.device("cuda")`, then `torch.arange(x.size(0), device=device)`. No text
// if there is none, or if the name is used for more than placing.
[[nodiscard]] DeviceText device_of_met_input(const SemanticModel& model, Node chosen);

// The device as a string, for code that compares or stores it: `DEVICE.type`,
// or a string variable of the module that is defined above.
[[nodiscard]] DeviceText string_device(const PythonContext& context, Node node);

// The device in scope at the node; a torch.device if `as_device`.
[[nodiscard]] DeviceText scope_device(const PythonContext& context, Node node, bool as_device);

// The device in scope at the node, as a string.
[[nodiscard]] DeviceText scope_string(const PythonContext& context, Node node);

// The list `choices=[...]` of the option of which the expression is the default.
[[nodiscard]] Node option_choices(Node expression);

// The choice among devices that an option allows by `choices=[...]`, as a string; no text if there
// is none for a machine without CUDA.
[[nodiscard]] DeviceText allowed_device(const PythonContext& context, Node choices);

// Whether the name of the function around a node has a word, in lower case: "cuda_device".
[[nodiscard]] bool function_says(Node node, std::string_view word);
// Whether a function or class around a node has a word in its name.
[[nodiscard]] bool is_inside_of(Node node, std::string_view word);
// Whether the file, or the function around a node, is about tools that run with CUDA only, by what
// it imports whatever happens or by the file's name: TensorRT, Megatron, the profilers of NVIDIA.
[[nodiscard]] bool is_about_cuda_tools(const PythonContext& context, Node node);
// Whether the function around a node works with what only CUDA has: kernels of numba and cupy,
// TensorRT, CUDA graphs.
[[nodiscard]] bool drives_kernels(const SemanticModel& model, Node node);
// Whether a node is in a `try`, or below `suppress(...)`, that finds out whether a GPU works: an
// error ends nothing, and what it or its absence means is kept (`gpu = True`, `return False`).
[[nodiscard]] bool is_probed(Node node);
// Whether a class around a node is for CUDA by its name: CUDAPrefetcher, DeviceGPU.
[[nodiscard]] bool is_in_cuda_class(Node node);
// Whether code is for CUDA by its own name: a method `cuda` or `capture_cuda_graph`, a class such
// as CUDAPrefetcher, a file cuda.py or one about TensorRT.
[[nodiscard]] bool is_cuda_territory(const PythonContext& context, Node node);

}  // namespace torchport::rules
