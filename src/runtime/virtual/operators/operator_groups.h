// Kernels of virtual devices that are not the CPU's, by group. A group is one file of this folder,
// which registers itself:
//
//   void put_softmax(torch::Library& aten) { aten.impl("_softmax", TORCH_FN(softmax)); }
//   const OperatorGroup kGroup(&put_softmax);
//
// A new group is a new file: no list names the groups.
//
// Order: the CPU's kernels are put under the device's keys first (entry/registration.cpp), and a
// group's over them, so a group that comes before is kept until then. Files of one library are
// initialised in an order that nobody promises, and the library is set up while that goes on: a
// group that comes after is put at once. Among groups there is no order: REQUIRED that no two put a
// kernel for the same operator and key.
//
// Rejected: a function that calls every group, which each new file had to edit; TORCH_LIBRARY_IMPL,
// which knows its dispatch key when it is compiled (here it depends on the kind of device), and
// would register in a process without virtual devices, too.
#pragma once

#include <initializer_list>
#include <vector>

#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"

namespace torchport::vdev {

class OperatorGroup {
 public:
  using Put = void (*)(torch::Library& aten);
  using Key = c10::DispatchKey Kind::*;

  // `put` is called once for each of `keys`, with a library for that key of the kind of device that
  // the process has. For objects of static storage duration alone.
  explicit OperatorGroup(Put put, std::initializer_list<Key> keys = {&Kind::dense});
  OperatorGroup(const OperatorGroup&) = delete;
  OperatorGroup& operator=(const OperatorGroup&) = delete;

 private:
  friend void put_operator_groups();
  void put_all() const;

  Put put_;
  std::vector<Key> keys_;
};

// Puts all groups, and those that come later as they come. Called once, after the CPU's kernels.
void put_operator_groups();

}  // namespace torchport::vdev
