// Refuses what index_add and index_copy refuse on CUDA when only deterministic algorithms are
// allowed: they go through index_put then, which takes no index for a tensor without dimensions
// (Indexing.cu, TensorAdvancedIndexing.cpp).
#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include "runtime/virtual/core/runtime.h"
#include "runtime/virtual/operators/choices.h"
#include "runtime/virtual/operators/operator_groups.h"

namespace torchport::vdev {

namespace {

Compute refuse_number(const c10::IValue* arguments) {
  if (at::globalContext().deterministicAlgorithms())
    TORCH_CHECK_INDEX(arguments[0].toTensor().dim() > 0,
                      "too many indices for tensor of dimension 0 (got 1)");
  return nullptr;
}

void put_index_rules(torch::Library& aten) {
  if (Runtime::get().kind_name() != "cuda") return;
  for (const char* name : {"index_add", "index_copy"}) {
    put_choice(aten, name, "", &refuse_number);
    put_choice(aten, name, "out", &refuse_number);
  }
  put_choice(aten, "index_add_", "", &refuse_number);
  put_choice(aten, "index_copy_", "", &refuse_number);
}

const OperatorGroup kIndexRules(&put_index_rules);

}  // namespace

}  // namespace torchport::vdev
