// What a program gets that asks for values which are not there, and the account of such questions.
//
// The rules: a number that is read is 0; all() is true and min() is 1, since programs ask them what
// goes well; a result whose size depends on values is as large as it can be (each element of a mask
// is chosen, each element is unique), so that a plan never has less memory than the real program;
// tensors small enough to have data that are computed from what is not there are 0, and count as
// made up wherever they go.
#pragma once

#include <cstddef>

#include <ATen/core/ivalue.h>
#include <ATen/core/operator_name.h>
#include <ATen/core/stack.h>

namespace torchport::vdev {

struct ValueRule {
  bool reads = false;  // the host, or the result's size, depends on values
  // Takes the call's arguments from `first` on and leaves the results; false if it is not its call.
  bool (*instead)(torch::jit::Stack* stack, std::size_t first) = nullptr;
  // The device's own kernel makes the results, and does not compute where values lack: the meta
  // kernel does not know what a device keeps for the backward pass.
  bool by_kernel = false;
  // Whether the device's kernel does nothing for such a call but call other operators; null if that
  // never is so.
  bool (*calls_others)(const c10::IValue* arguments) = nullptr;
  bool is_size = false;      // the result's size depends on values
  bool one_results = false;  // results that are small enough to have data are 1
};

// The rule of an operator; null if it has none. Thread safe.
[[nodiscard]] const ValueRule* value_rule_of(const c10::OperatorName& name);

// Counts that values which are not there were asked for, with the line of the program. Thread safe.
void note_read(const c10::OperatorName& name);
// Counts a call that was computed although values are missing, because there is no meta kernel.
void note_computed_on_zeros(const c10::OperatorName& name);

// Counts a call of CUDA's runtime that read values which are not there.
void note_read_by_call(const char* name);
// Counts a kernel of the program that was not run because it was given memory without values.
void note_not_run(const char* kernel);

// Large tensors of the host that are filled with random numbers stay zeros, so that weights which
// go to a device take no memory of the host.
void cover_host_fills();

}  // namespace torchport::vdev
