// Registers the kernels of virtual devices that are not the CPU's, by group. A group is one file of
// this folder, which registers itself:
//
//   void put_softmax(torch::Library& aten) { aten.impl("_softmax", TORCH_FN(softmax)); }
//   const OperatorGroup kSoftmax(&put_softmax);
//
// No list names the groups, so a new group is a new file.
//
// Order: the CPU's kernels are registered under the device's keys first (entry/registration.cpp),
// and a group's kernels over them. The order in which the files of one library are initialised is
// unspecified, and the library is set up in the middle of it. So a group that is constructed
// earlier waits, and a group that is constructed later is registered at once. There is no order
// among groups: REQUIRED that no two groups register a kernel for the same operator and key.
//
// Rejected alternatives: a function that calls every group, which each new file would have to edit;
// and TORCH_LIBRARY_IMPL, whose dispatch key is fixed at compile time (here it depends on the
// device kind) and which would register in a process without virtual devices, too.
#pragma once

#include <initializer_list>
#include <vector>

#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"

namespace torchport::vdev {

class OperatorGroup {
 public:
  using Put = void (*)(torch::Library& aten);
  using Key = c10::DispatchKey KindKeys::*;

  // `put` is called once for each of `keys`, with a library for that key of the process's device
  // kind. REQUIRED to have static storage duration.
  explicit OperatorGroup(Put put, std::initializer_list<Key> keys = {&KindKeys::dense});
  OperatorGroup(const OperatorGroup&) = delete;
  OperatorGroup& operator=(const OperatorGroup&) = delete;

 private:
  friend void put_operator_groups();
  void put_all() const;

  Put put_;
  std::vector<Key> keys_;
};

// Registers all groups, and from then on each later one when it is constructed. Call it once, after
// the CPU's kernels are registered.
void put_operator_groups();

}  // namespace torchport::vdev
