#include "runtime/virtual/operators/operator_groups.h"

#include <memory>
#include <vector>

#include "runtime/virtual/core/silence.h"

namespace torchport::vdev {

namespace {

// The groups that wait for put_operator_groups(). It is a function, because it is used while the
// library's files are initialised.
std::vector<const OperatorGroup*>& waiting() {
  static std::vector<const OperatorGroup*> groups;
  return groups;
}

bool& are_put() {
  static bool done = false;
  return done;
}

}  // namespace

OperatorGroup::OperatorGroup(Put put, std::initializer_list<Key> keys) : put_(put), keys_(keys) {
  if (are_put()) {
    put_all();
  } else {
    waiting().push_back(this);
  }
}

void OperatorGroup::put_all() const {
  // Never destroyed: the kernels stay registered as long as the process lives.
  static auto& kept = *new std::vector<std::unique_ptr<torch::Library>>();
  const Silence silence;
  for (const Key key : keys_) {
    kept.push_back(std::make_unique<torch::Library>(
        torch::Library::IMPL, "aten", Runtime::get().kind().*key, __FILE__, __LINE__));
    put_(*kept.back());
  }
}

void put_operator_groups() {
  are_put() = true;
  for (const OperatorGroup* group : waiting()) group->put_all();
  waiting().clear();
}

}  // namespace torchport::vdev
