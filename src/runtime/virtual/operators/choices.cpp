#include "runtime/virtual/operators/choices.h"

#include <memory>
#include <string>

#include <ATen/core/dispatch/Dispatcher.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/core/typed_kernel.h"
#include "runtime/virtual/operators/type_rules.h"

namespace torchport::vdev {

void put_choice(torch::Library& aten, const char* name, const char* overload, Choice choice,
                c10::DispatchKey cpu) {
  const std::string full = std::string("aten::") + name;
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(full.c_str(), overload);
  const std::string dotted = *overload == '\0' ? name : std::string(name) + "." + overload;
  const TypeRules types = type_rules_of(op.operator_name(), cpu);
  if (cpu == c10::DispatchKey::CPU) {
    put(op, Runtime::get().kind().dense, kernel_over_cpu(op, cpu, types, choice));
  } else {
    aten.impl(dotted.c_str(), torch::CppFunction::makeFromBoxedFunctor(
                                  std::make_unique<AliasKernel>(op, cpu, types, choice)));
  }
}

}  // namespace torchport::vdev
