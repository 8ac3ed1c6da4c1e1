// Checks whether the tensors of a call are on one device, as a real build of torch does: in the
// wrappers that torchgen generates, in TensorIterator, and in a few operators' own code. The CPU's
// kernels do the work on virtual devices and cannot see the difference, so without this check a
// program that fails on a GPU would pass here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <c10/core/DispatchKey.h>

namespace torchport::vdev {

// The check of one operator. It is constant after its construction, so that any thread may use it.
class DeviceCheck {
 public:
  // `key` is that of the kernel whose arguments are checked.
  DeviceCheck(const c10::FunctionSchema& schema, c10::DispatchKey key);

  // Takes the arguments in the order of the schema. Raises c10::Error with the message of the real
  // build if they are on different devices.
  void operator()(const c10::IValue* arguments) const {
    if (rule_ != Rule::kNone) check(arguments);
  }

 private:
  enum class Rule : std::uint8_t {
    kNone,
    kWrapper,      // all are on the device of the first
    kOutputs,      // `out=` is on the device of the first other tensor
    kIterator,     // all are on one device, except at most one CPU tensor without dimensions
    kWhere,        // the same, with any number of such CPU tensors
    kIndex,        // indices are on the CPU or on the device of the indexed tensor
    kIndexPut,     // kIndex, and the values are on that device
    kConvolution,  // tensor types, which name the device, are equal
    kMaskedFill,   // the mask is on the device of the filled tensor
  };
  struct Argument {
    std::size_t index;
    std::string name;
    bool written;
  };

  void check(const c10::IValue* arguments) const;
  void wrapper(const c10::IValue* arguments) const;
  void outputs(const c10::IValue* arguments) const;
  void iterator(const c10::IValue* arguments, int scalars) const;
  void choose_rule(const c10::FunctionSchema& schema, c10::DispatchKey key);

  Rule rule_ = Rule::kNone;
  std::string method_;               // the name of the generated wrapper
  std::vector<Argument> arguments_;  // the tensor arguments to check, in this order
};

}  // namespace torchport::vdev
