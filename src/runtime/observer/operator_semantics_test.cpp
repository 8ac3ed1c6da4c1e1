// Checks the table against all operators of the dispatcher: it has to agree with their schemas and
// tags, and with itself.
#include "runtime/observer/operator_semantics.h"

#include <algorithm>
#include <set>
#include <string>

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <doctest/doctest.h>
#include <torch/library.h>

namespace torchport::observer {

namespace {

std::vector<c10::OperatorHandle> all_operators() {
  std::vector<c10::OperatorHandle> all;
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (const auto op = c10::Dispatcher::singleton().findSchema(name)) all.push_back(*op);
  }
  REQUIRE(all.size() > 2000);
  return all;
}

const OperatorSemantics& semantics_named(const char* name, const char* overload = "") {
  return semantics_of(c10::Dispatcher::singleton().findSchemaOrThrow(name, overload));
}

std::string argument_name(const c10::OperatorHandle& op, int index) {
  return index < 0 ? "" : op.schema().arguments().at(static_cast<std::size_t>(index)).name();
}

// "aten::masked_fill_.Scalar" -> "masked_fill_"
std::string base_of(const c10::OperatorHandle& op) {
  const std::string& name = op.operator_name().name;
  return name.substr(name.find("::") + 2);
}

bool is_aten(const c10::OperatorHandle& op) {
  return op.operator_name().name.starts_with("aten::");
}

}  // namespace

TEST_CASE("every row is of an operator that there is") {
  std::set<std::string> names;
  for (const auto& op : all_operators()) {
    if (!is_aten(op)) continue;
    std::string base = base_of(op);
    names.insert(base + "." + op.operator_name().overload_name);
    names.insert(base);
    if (base.ends_with('_')) names.insert(base.substr(0, base.size() - 1));
  }
  for (const SemanticsRow& row : semantics_rows()) {
    CAPTURE(row.name);
    CHECK(names.contains(std::string(row.name)));
  }
}

TEST_CASE("what the tags call dependent on data is waited for") {
  for (const auto& op : all_operators()) {
    if (!is_aten(op) ||
        (!op.hasTag(at::Tag::data_dependent_output) && !op.hasTag(at::Tag::dynamic_output_shape)))
      continue;
    const OperatorSemantics& semantics = semantics_of(op);
    CAPTURE(semantics.name);
    CHECK(semantics.row.waits != Waits::kNever);
    CHECK(semantics.row.waits != Waits::kCopy);
  }
}

TEST_CASE("what gives a number of a tensor reads it, or only asks about it") {
  for (const auto& op : all_operators()) {
    const OperatorSemantics& semantics = semantics_of(op);
    if (semantics.own || !semantics.returns_number || semantics.tensor_inputs.empty()) continue;
    CAPTURE(semantics.name);
    const bool reads =
        semantics.row.waits == Waits::kAlways || semantics.row.waits == Waits::kUnlessSame;
    CHECK(reads != semantics.has(kAsksOnly));
  }
}

TEST_CASE("what waits always is a read, whoever asks") {
  for (const auto& op : all_operators()) {
    const OperatorSemantics& semantics = semantics_of(op);
    if (semantics.row.waits != Waits::kAlways) continue;
    CAPTURE(semantics.name);
    const std::vector<c10::IValue> none(semantics.arguments);
    CHECK(semantics.reads_values(none.data()));
    CHECK_FALSE(semantics.tensor_inputs.empty());
    CHECK_FALSE(semantics.has(kAsksOnly));
    CHECK_FALSE(semantics.has(kMakes));
    CHECK_FALSE(semantics.has(kCarriesOn));
  }
}

TEST_CASE("traits agree with schemas") {
  for (const auto& op : all_operators()) {
    const OperatorSemantics& semantics = semantics_of(op);
    CAPTURE(semantics.name);
    if (semantics.has(kMakes)) CHECK(semantics.returns_tensors);
    if (semantics.has(kFills)) CHECK(semantics.returns_tensors);
    if (semantics.has(kAsksOnly)) CHECK_FALSE(semantics.returns_tensors);
    if (semantics.has(kCarriesOn)) CHECK_FALSE(semantics.tensor_inputs.empty());
    CHECK_FALSE((semantics.has(kCarriesOn) && semantics.has(kMakes)));
    if (semantics.has(kHostIndices) || semantics.row.waits == Waits::kByMask) {
      CHECK(argument_name(op, 1) == "indices");
      CHECK(op.schema().arguments()[1].type()->str().find("Tensor?[]") != std::string::npos);
    }
    if (semantics.row.waits == Waits::kCopy) CHECK(semantics.non_blocking == 2);
    if (semantics.generator >= 0)
      CHECK(op.schema()
                .arguments()[static_cast<std::size_t>(semantics.generator)]
                .type()
                ->str()
                .starts_with("Generator"));
    for (const std::uint16_t i : semantics.written)
      CHECK(std::ranges::find(semantics.tensor_inputs, i) != semantics.tensor_inputs.end());
  }
}

TEST_CASE("families of operators are in the table whole") {
  for (const auto& op : all_operators()) {
    if (!is_aten(op)) continue;
    const std::string base = base_of(op);
    const OperatorSemantics& semantics = semantics_of(op);
    CAPTURE(semantics.name);
    if (base.ends_with("_like") || base.starts_with("new_")) CHECK(semantics.has(kMakes));
    if (base.starts_with("empty") || base.starts_with("new_empty"))
      CHECK(semantics.has(kUninitialised));
    const bool asks = semantics.returns_number && !semantics.tensor_inputs.empty();
    if (base.starts_with("is_") && asks && base != "is_nonzero") CHECK(semantics.has(kAsksOnly));
    if (base.starts_with("unique") || base.starts_with("_unique"))
      CHECK(semantics.row.waits == Waits::kAlways);
  }
}

TEST_CASE("a refusal has a name, and the argument that it depends on") {
  for (const auto& op : all_operators()) {
    const OperatorSemantics& semantics = semantics_of(op);
    const Deterministic deterministic = semantics.row.deterministic;
    CAPTURE(semantics.name);
    CHECK(semantics.row.caller.empty() == (deterministic == Deterministic::kAlways));
    const std::string decides = argument_name(op, semantics.decides_determinism);
    if (deterministic == Deterministic::kWithoutReduction) CHECK(decides == "reduction");
    if (deterministic == Deterministic::kWithoutWeights) CHECK(decides == "weights");
    if (deterministic == Deterministic::kUnlessModeIsMax) CHECK(decides == "mode");
    if (deterministic == Deterministic::kUnlessProduct) CHECK(decides == "reduce");
    // Without a dtype the first argument decides.
    if (deterministic == Deterministic::kForIntegers) {
      CHECK((decides.empty() || decides == "dtype"));
      CHECK(op.schema().arguments()[0].type()->str() == "Tensor");
    }
  }
}

TEST_CASE("rows hold for overloads and operators in place, the most specific one first") {
  CHECK(semantics_named("aten::masked_fill_", "Scalar").has(kFills));
  CHECK(semantics_named("aten::where").row.waits == Waits::kAlways);
  CHECK(semantics_named("aten::where", "self").row.waits == Waits::kNever);
  CHECK(semantics_named("aten::where", "self").has(kFills));
  CHECK(semantics_named("aten::repeat_interleave", "self_int").row.waits == Waits::kNever);
  CHECK(semantics_named("aten::repeat_interleave", "Tensor").row.waits == Waits::kUnlessSized);
  CHECK(semantics_named("aten::median").row.caller.empty());
  CHECK(semantics_named("aten::nanmedian", "dim_values").row.caller ==
        "median CUDA with indices output");
  CHECK(semantics_named("aten::put_").row.caller == "put_");
  CHECK(semantics_named("aten::rand").draws);
  CHECK(semantics_named("aten::add", "Tensor").computes());
  CHECK_FALSE(semantics_named("aten::view").computes());
  CHECK_FALSE(semantics_named("aten::copy_").computes());
}

TEST_CASE("what is read depends on the arguments") {
  const OperatorSemantics& index = semantics_named("aten::index", "Tensor");
  const auto call = [&](const at::Tensor& by) {
    c10::List<std::optional<at::Tensor>> indices;
    indices.push_back(std::nullopt);
    indices.push_back(by);
    const std::vector<c10::IValue> arguments{at::ones({2, 2}), indices};
    return index.reads_values(arguments.data());
  };
  CHECK(call(at::ones({2}, at::kBool)));
  CHECK(call(at::ones({2}, at::kByte)));
  CHECK_FALSE(call(at::zeros({2}, at::kLong)));

  const OperatorSemantics& repeat = semantics_named("aten::repeat_interleave", "Tensor");
  std::vector<c10::IValue> arguments{at::ones({2}, at::kLong), c10::IValue()};
  CHECK(repeat.reads_values(arguments.data()));
  arguments[1] = 2;
  CHECK_FALSE(repeat.reads_values(arguments.data()));

  const OperatorSemantics& one_hot = semantics_named("aten::one_hot");
  arguments = {at::ones({2}, at::kLong), -1};
  CHECK(one_hot.reads_values(arguments.data()));
  arguments[1] = 5;
  CHECK_FALSE(one_hot.reads_values(arguments.data()));
}

TEST_CASE("an operator that is registered anew is looked at anew") {
  const auto define = [](const char* schema) {
    auto library = std::make_unique<torch::Library>(torch::Library::DEF, "observer_semantics_test",
                                                    std::nullopt, __FILE__, __LINE__);
    library->def(schema);
    return library;
  };
  auto library = define("changing(Tensor x) -> int");
  const char* const name = "observer_semantics_test::changing";
  const OperatorSemantics& first = semantics_named(name);
  CHECK(first.arguments == 1);
  CHECK(first.row.waits == Waits::kAlways);
  library.reset();
  library = define("changing(Tensor x, Tensor y) -> Tensor");
  CHECK(semantics_named(name).arguments == 2);
  CHECK(semantics_named(name).row.waits == Waits::kNever);
  CHECK(first.arguments == 1);  // the reference stays valid
}

}  // namespace torchport::observer
