// Whether code is optional: a program that cannot run it goes on without it.
// Imports and compilations that fail without CUDA are no ties then.
#pragma once

#include <initializer_list>
#include <string_view>

#include "source/semantics/semantic_model.h"

namespace torchport::rules {

// Inside the body of a `try` whose handler takes one of these exceptions (a
// bare `except`, Exception and BaseException take all) and goes on. With
// `raising_too`, also when the handler raises: a clear error of their own.
[[nodiscard]] bool is_caught(const semantics::SemanticModel& model, syntax::Node node,
                             std::initializer_list<std::string_view> exceptions,
                             bool raising_too = false);
// The same for ImportError, which is what a missing package raises.
[[nodiscard]] bool is_optional_import(const semantics::SemanticModel& model, syntax::Node import);

// The closest `if`, `elif`, `else` or conditional expression that decides
// whether the node runs; `if __name__ == "__main__"` does not count.
[[nodiscard]] syntax::Node deciding_branch(syntax::Node node);

// Whether the node runs only when the user asked for it in the environment:
// `if os.getenv("APP_JIT") == "1":`, through names too.
[[nodiscard]] bool is_asked_for(const semantics::SemanticModel& model, syntax::Node node);

// Whether an expression reads the environment, through names too.
[[nodiscard]] bool reads_environment(const semantics::SemanticModel& model,
                                     syntax::Node expression);

// Whether the file, or one of the two folders it is in, has the word in its name.
[[nodiscard]] bool path_speaks_of(std::string_view path, std::string_view word);

}  // namespace torchport::rules
