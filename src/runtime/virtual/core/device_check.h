// Whether the tensors of a call are on one device, as a real build checks it: in the wrappers that
// torchgen generates, in TensorIterator, and in a few operators' own code. The CPU's kernels, which
// do the work here, cannot see the difference.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

namespace torchport::vdev {

// The check of one operator; const after it is made, so that any thread may use it.
class DeviceCheck {
 public:
  explicit DeviceCheck(const c10::FunctionSchema& schema);

  // Takes the operator's arguments in the order of its schema. Raises c10::Error with the message
  // of the real build.
  void operator()(const c10::IValue* arguments) const {
    if (rule_ != Rule::kNone) check(arguments);
  }

 private:
  enum class Rule : std::uint8_t {
    kNone,
    kWrapper,      // all on the device of the first
    kIterator,     // all on one device; one CPU tensor of no dimensions may take part
    kWhere,        // the same, any number of such CPU tensors
    kIndex,        // indices on the CPU or the device of what is indexed
    kIndexPut,     // kIndex, and the values on that device
    kConvolution,  // types alike, which name the device
    kMaskedFill,   // the mask on the device of what is filled
  };
  struct Argument {
    std::size_t index;
    std::string name;
    bool written;
  };

  void check(const c10::IValue* arguments) const;
  void wrapper(const c10::IValue* arguments) const;
  void iterator(const c10::IValue* arguments, int scalars) const;
  void choose_rule(const c10::FunctionSchema& schema);

  Rule rule_ = Rule::kNone;
  std::string method_;               // of the generated wrapper
  std::vector<Argument> arguments_;  // those with tensors that are checked, in that order
};

}  // namespace torchport::vdev
