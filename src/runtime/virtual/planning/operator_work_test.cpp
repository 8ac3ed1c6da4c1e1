#include "runtime/virtual/planning/operator_work.h"

#include <vector>

#include <ATen/ops/empty.h>
#include <doctest/doctest.h>

namespace torchport::vdev {

namespace {

using c10::IValue;

at::Tensor meta(at::IntArrayRef sizes, at::ScalarType type = at::kFloat) {
  return at::empty(sizes, at::TensorOptions(at::kMeta).dtype(type));
}

double operations(const char* name, const char* overload, const std::vector<IValue>& arguments,
                  const std::vector<IValue>& results = {}) {
  const ArithmeticOf rule = arithmetic_of(c10::OperatorName(name, overload));
  REQUIRE((rule != nullptr));
  return rule(arguments.data(), results.data()).operations;
}

}  // namespace

TEST_CASE("a product of matrices multiplies and adds m n k times") {
  const at::Tensor left = meta({3, 5});
  const at::Tensor right = meta({5, 7});
  CHECK(operations("aten::mm", "", {left, right}) == 2 * 3 * 5 * 7);
  CHECK(operations("aten::addmm", "", {meta({7}), left, right}) == 2 * 3 * 5 * 7);
  CHECK(operations("aten::mv", "", {left, meta({5})}) == 2 * 3 * 5);
  CHECK(operations("aten::bmm", "out", {meta({4, 3, 5}), meta({4, 5, 7})}) == 2 * 4 * 3 * 5 * 7);
  CHECK(operations("aten::mm", "", {meta({0, 5}), right}) == 0);
}

TEST_CASE("a convolution multiplies each point of its result with the weights of a channel") {
  const IValue input = meta({2, 8, 10, 10});
  const IValue weight = meta({16, 4, 3, 3});  // two groups
  const IValue result = meta({2, 16, 8, 8});
  const IValue none;
  const double expected = 2.0 * 2 * 16 * 8 * 8 * 4 * 3 * 3;
  const std::vector<IValue> arguments = {input, weight, none, none, none, none, false, none, 2};
  CHECK(operations("aten::_convolution", "", arguments, {result}) == expected);
  const std::vector<IValue> transposed = {result, weight, none, none, none, none, true, none, 2};
  CHECK(operations("aten::_convolution", "", transposed, {input}) == expected);
  for (const bool both : {false, true}) {
    const c10::List<bool> mask({true, both, true});
    CHECK(operations("aten::convolution_backward", "",
                     {result, input, weight, none, none, none, none, false, none, 2, mask}) ==
          (both ? 2 : 1) * expected);
  }
}

TEST_CASE("attention is two products, and half of them if it is causal") {
  const IValue query = meta({2, 4, 16, 8}, at::kHalf);
  const IValue key = meta({2, 4, 32, 8}, at::kHalf);
  const double whole = 2.0 * 2 * 4 * 16 * 32 * (8 + 8);
  const char* name = "aten::_scaled_dot_product_flash_attention";
  CHECK(operations(name, "", {query, key, key, 0.0, false}) == whole);
  CHECK(operations(name, "", {query, key, key, 0.0, true}) == whole / 2);
  const std::vector<IValue> arguments = {query, key, key, 0.0, false};
  const Arithmetic work = arithmetic_of(c10::OperatorName(name, ""))(arguments.data(), nullptr);
  CHECK((work.type == at::kHalf));  // doctest cannot print a ScalarType
}

TEST_CASE("other operators have no arithmetic that counts") {
  for (const char* name : {"aten::add", "aten::relu", "aten::sum"})
    CHECK((arithmetic_of(c10::OperatorName(name, "Tensor")) == nullptr));
}

}  // namespace torchport::vdev
