// Questions about inference code: is this a call of a model, does this code
// train, are gradients recorded here.
#pragma once

#include <string_view>
#include <vector>

#include "source/semantics/semantic_model.h"

namespace torchport::rules {

// Whether code below the node uses gradients: backward(), zero_grad(), autograd.grad,
// requires_grad, x.grad.
[[nodiscard]] bool uses_gradients(const semantics::SemanticModel& model, syntax::Node range);
// Whether it trains: uses gradients, makes an optimizer, or says model.train().
[[nodiscard]] bool trains(const semantics::SemanticModel& model, syntax::Node range);

// Whether autograd is switched off at the node: by `with torch.no_grad()`, a
// decorator, inference_mode, or because every caller in the file did.
[[nodiscard]] bool gradients_off(const semantics::SemanticModel& model, syntax::Node node);

// Whether the call runs a network: its callee is known to be a module, or is a
// name or attribute of self that people give to networks.
[[nodiscard]] bool is_model_call(const semantics::SemanticModel& model, syntax::Node call);

// Calls of networks that belong to a function (or to the module, outside of
// functions), in order.
[[nodiscard]] std::vector<syntax::Node> model_calls(const semantics::SemanticModel& model,
                                                    syntax::Node scope);

// Whether some `x.eval()` or `x.train(False)` stands below the node.
[[nodiscard]] bool calls_eval(const semantics::SemanticModel& model, syntax::Node range);

// predict, infer, evaluate, validate, test_step and the like.
[[nodiscard]] bool is_inference_name(std::string_view function);

}  // namespace torchport::rules
