// Reads and runs the graphs of torch.export programs, good and damaged.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <torchport/program.h>

#include "runtime/deploy/program/body.h"
#include "runtime/deploy/program/check_inputs.h"
#include "runtime/deploy/program/graph.h"

namespace torchport::deploy {

namespace {

using c10::IValue;

std::string tensor_argument(const std::string& name) {
  return fmt::format(R"({{"as_tensor": {{"name": "{}"}}}})", name);
}

std::string named_input(const std::string& name, const std::string& argument) {
  return fmt::format(R"({{"name": "{}", "arg": {}, "kind": 1}})", name, argument);
}

std::string node_text(const std::string& target, const std::string& inputs,
                      const std::string& outputs) {
  return fmt::format(
      R"({{"target": "{}", "inputs": [{}], "outputs": [{}], "metadata": {{"stack_trace":
      "File \"other.py\", line 2, in main\nFile \"net.py\", line 7, in forward\n    x = y"}}}})",
      target, inputs, outputs);
}

std::string graph_text(const std::string& inputs, const std::string& nodes,
                       const std::string& outputs) {
  return fmt::format(R"({{"inputs": [{}], "nodes": [{}], "outputs": [{}]}})", inputs, nodes,
                     outputs);
}

// A program of one input x, with these nodes and this output.
std::string program_text(const std::string& nodes, const std::string& output, int schema = 8) {
  return fmt::format(
      R"({{"schema_version": {{"major": {}, "minor": 20}}, "graph_module": {{"graph": {},
      "signature": {{"input_specs": [{{"user_input": {{"arg": {}}}}}],
      "output_specs": [{{"user_output": {{"arg": {}}}}}]}}}}}})",
      schema, graph_text(tensor_argument("x"), nodes, output), tensor_argument("x"), output);
}

std::string call_text(const std::string& target, const std::string& second,
                      const std::string& output = "y") {
  return node_text(target, named_input("self", tensor_argument("x")) + "," + second,
                   tensor_argument(output));
}

std::vector<IValue> run_program(const std::string& text, const IValue& x) {
  const ProgramGraph program = read_graph(text);
  return Body(program.graph, c10::Device(c10::kCPU)).run({x});
}

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(run_program(text, at::ones({2, 3})));
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

// The value of a function of numbers for two of them.
IValue number_of(const std::string& target, const std::string& first, const std::string& second) {
  const std::string given = R"({"as_sym_int": {"as_name": "n"}})";
  const std::string node =
      node_text(target, named_input("", first) + "," + named_input("", second), given);
  return run_program(program_text(node, given), at::ones({1})).front();
}

std::string whole(std::int64_t value) {
  return fmt::format(R"({{"as_int": {}}})", value);
}

}  // namespace

TEST_CASE("a number becomes what the argument of an operator wants") {
  const auto sum = run_program(
      program_text(call_text("torch.ops.aten.add.Tensor", named_input("other", whole(2))),
                   tensor_argument("y")),
      at::ones({2, 3}, at::kHalf));
  // A tensor would have made the result float32: it is a number, as in Python.
  CHECK((sum.front().toTensor().scalar_type() == at::kHalf));
  CHECK(sum.front().toTensor().sum().item<double>() == 18);

  const auto pooled = run_program(program_text(call_text("torch.ops.aten.avg_pool2d.default",
                                                         named_input("kernel_size", whole(2))),
                                               tensor_argument("y")),
                                  at::ones({1, 1, 4, 4}));
  const std::vector<std::int64_t> halves{1, 1, 2, 2};
  CHECK(pooled.front().toTensor().sizes().vec() == halves);
}

TEST_CASE("sizes are computed as Python computes them") {
  CHECK(number_of("_operator.floordiv", whole(-7), whole(2)).toInt() == -4);
  CHECK(number_of("_operator.mod", whole(-7), whole(2)).toInt() == 1);
  CHECK(number_of("_operator.mod", whole(7), whole(-2)).toInt() == -1);
  CHECK(number_of("_operator.pow", whole(-2), whole(3)).toInt() == -8);
  CHECK(number_of("_operator.pow", whole(-1), whole(1000000007)).toInt() == -1);
  CHECK(number_of("_operator.pow", whole(2), whole(-1)).toDouble() == doctest::Approx(0.5));
  CHECK(number_of("_operator.truediv", whole(1), whole(2)).toDouble() == doctest::Approx(0.5));
  CHECK(number_of("_operator.ge", whole(3), whole(3)).toBool());
  CHECK(number_of("torch.sym_max", whole(3), whole(4)).toInt() == 4);
  CHECK(number_of("torch.sym_min", whole(3), R"({"as_float": 2.5})").toDouble() ==
        doctest::Approx(2.5));
  for (const char* operation : {"add", "mul", "lshift", "floordiv"}) {
    CAPTURE(operation);
    const bool divides = std::string(operation) == "floordiv";
    const std::int64_t first = divides ? INT64_MIN : INT64_MAX;
    const std::int64_t second = divides ? -1 : 2;
    CHECK_THROWS_WITH(number_of(std::string("_operator.") + operation, whole(first), whole(second)),
                      doctest::Contains("beyond 64 bits"));
  }
  CHECK_THROWS_WITH(number_of("_operator.mod", whole(1), whole(0)), doctest::Contains("by zero"));
}

TEST_CASE("a branch runs one of its graphs, and a loop runs its graph until the condition fails") {
  const auto branch = [&](const std::string& target, int number) {
    const std::string node = node_text(
        target,
        named_input("self", tensor_argument("x")) + "," + named_input("other", whole(number)),
        tensor_argument("z"));
    return fmt::format(R"({{"as_graph": {{"name": "g", "graph": {}}}}})",
                       graph_text(tensor_argument("x"), node, tensor_argument("z")));
  };
  const std::string operands = R"({"as_tensors": [{"name": "x"}]})";
  const std::string sum =
      node_text("torch.ops.aten.sum.default", named_input("self", tensor_argument("x")),
                tensor_argument("s"));
  const std::string condition = node_text(
      "torch.ops.higher_order.cond",
      named_input("", tensor_argument("s")) + "," +
          named_input("", branch("torch.ops.aten.add.Tensor", 10)) + "," +
          named_input("", branch("torch.ops.aten.mul.Tensor", 5)) + "," + named_input("", operands),
      tensor_argument("y"));
  const std::string text = program_text(sum + "," + condition, tensor_argument("y"));
  CHECK(run_program(text, at::ones({1})).front().toTensor().item<double>() == 11);
  CHECK(run_program(text, at::zeros({1})).front().toTensor().item<double>() == 0);

  const std::string loop =
      node_text("torch.ops.higher_order.while_loop",
                named_input("", branch("torch.ops.aten.lt.Scalar", 100)) + "," +
                    named_input("", branch("torch.ops.aten.mul.Tensor", 3)) + "," +
                    named_input("", operands) + "," + named_input("", R"({"as_tensors": []})"),
                tensor_argument("y"));
  CHECK(run_program(program_text(loop, tensor_argument("y")), at::ones({1}))
            .front()
            .toTensor()
            .item<double>() == 243);
}

TEST_CASE("what cannot run says which node it is, and its line") {
  const std::string y = tensor_argument("y");
  CHECK(error_of(
            program_text(call_text("torch.ops.mine.op.default", named_input("b", whole(1))), y)) ==
        "net.py:7: torch.ops.mine.op.default: this process has no operator mine::op: it is defined "
        "in Python, or in a library that is not loaded");
  CHECK(
      error_of(program_text(call_text("torch.ops.aten.add.Tensor", named_input("b", whole(1))), y))
          .find("no argument b") != std::string::npos);
  CHECK(error_of(program_text(call_text("torch.ops.aten.add.Tensor",
                                        named_input("other", tensor_argument("x")) + "," +
                                            named_input("alpha", tensor_argument("q"))),
                              y))
            .find("the value q is not defined") != std::string::npos);
  CHECK(error_of(program_text(call_text("torch.ops.aten.view.default",
                                        named_input("size", R"({"as_ints": [5]})")),
                              y))
            .find("net.py:7: torch.ops.aten.view.default: shape '[5]' is invalid") !=
        std::string::npos);
  CHECK(error_of(program_text("", tensor_argument("x"), 9)).find("version 9") != std::string::npos);
  CHECK(error_of("{}").find("damaged") != std::string::npos);
  CHECK(error_of("").find("damaged") != std::string::npos);
}

TEST_CASE("NaN is equal to nothing, and the signs of zeros and remainders are Python's") {
  const std::string nan = R"({"as_float": "NaN"})";
  const std::string one = R"({"as_float": 1.0})";
  for (const char* operation : {"eq", "lt", "le", "gt", "ge"}) {
    CAPTURE(operation);
    CHECK_FALSE(number_of(std::string("_operator.") + operation, nan, one).toBool());
  }
  CHECK(number_of("_operator.ne", nan, nan).toBool());
  CHECK(std::signbit(
      number_of("_operator.mul", R"({"as_float": -1.0})", R"({"as_float": 0.0})").toDouble()));
  CHECK(number_of("_operator.mod", R"({"as_float": -7.5})", R"({"as_float": 2.0})").toDouble() ==
        doctest::Approx(0.5));
  CHECK(
      number_of("_operator.floordiv", R"({"as_float": -7.5})", R"({"as_float": 2.0})").toDouble() ==
      doctest::Approx(-4));
  CHECK_THROWS_WITH(number_of("_operator.pow", R"({"as_float": -1.0})", R"({"as_float": 0.5})"),
                    doctest::Contains("not whole"));
  CHECK_THROWS_WITH(number_of("_operator.pow", R"({"as_float": 0.0})", whole(-1)),
                    doctest::Contains("zero to a negative power"));
}

TEST_CASE("a program cannot write files, and values inside of values do not go on for ever") {
  const std::string y = tensor_argument("y");
  CHECK(error_of(
            program_text(node_text("torch.ops.aten.from_file.default",
                                   named_input("filename", R"({"as_string": "/tmp/written"})"), y),
                         y))
            .find("reaches files or other processes") != std::string::npos);
  for (const char* kind : {"as_optional_tensor", "as_sym_int", "as_sym_bool", "as_sym_float"}) {
    CAPTURE(kind);
    std::string deep;
    for (int i = 0; i < 200000; ++i) deep += fmt::format(R"({{"{}":)", kind);
    deep += R"({"as_none": true})" + std::string(200000, '}');
    const std::string as_input = program_text(
        call_text("torch.ops.aten.add.Tensor", named_input("other", deep)), tensor_argument("y"));
    CHECK_FALSE(error_of(as_input).empty());
    const std::string as_output =
        node_text("torch.ops.aten.relu.default", named_input("self", tensor_argument("x")), deep);
    static_cast<void>(error_of(program_text(as_output, tensor_argument("x"))));
  }
}

TEST_CASE("inputs of other dtypes and sizes than those of the export are refused") {
  ProgramGraph program;
  ProgramInput weight;
  weight.weight = "w";
  ProgramInput first;
  first.is_tensor = first.is_known = true;
  first.dtype = at::kFloat;
  first.sizes = {{std::nullopt, "s0"}, {4, ""}};
  ProgramInput second = first;
  second.sizes = {{std::nullopt, "s0"}, {std::nullopt, ""}};
  program.inputs = {weight, first, second};
  program.ranges["s0"] = {2, 8};
  check_inputs(program, {at::ones({1, 4}), at::ones({1, 9})});
  check_inputs(program, {at::ones({8, 4}), at::ones({8, 2})});
  const auto refused = [&](const std::vector<at::Tensor>& given, const char* words) {
    CHECK_THROWS_WITH_AS(check_inputs(program, given), doctest::Contains(words),
                         std::invalid_argument);
  };
  refused({at::ones({2, 4})}, "1 inputs were given, 2 expected");
  refused({at::ones({2, 4}, at::kDouble), at::ones({2, 4})},
          "input 0: expected Float [s0, 4], got Double [2, 4]");
  refused({at::ones({2, 5}), at::ones({2, 4})}, "input 0");
  refused({at::ones({2, 4}), at::ones({3, 4})}, "input 1");
  refused({at::ones({9, 4}), at::ones({9, 4})}, "input 0");
  refused({at::ones({4}), at::ones({4, 4})}, "input 0");
}

TEST_CASE("any change of the text gives a result or an error") {
  const std::string text = program_text(
      call_text("torch.ops.aten.add.Tensor", named_input("other", whole(2))), tensor_argument("y"));
  std::mt19937 random(7);  // the same changes in each run
  for (int i = 0; i < 3000; ++i) {
    std::string changed = text;
    for (int change = 0; change < 1 + i % 3; ++change) {
      const std::size_t at = random() % changed.size();
      if (i % 2 == 0)
        changed[at] = static_cast<char>(random() % 128);
      else
        changed.erase(at, random() % 20);
    }
    static_cast<void>(error_of(changed));
  }
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += R"({"as_graph":{"graph":)";
  CHECK_FALSE(error_of(deep).empty());
}

TEST_CASE("a file without a program is refused in words") {
  CHECK_THROWS_WITH(Program("/nowhere/net.pt2"), doctest::Contains("/nowhere/net.pt2"));
}

}  // namespace torchport::deploy
