// The graph of a torch.export program, as it stands in the file.
//
// The file has names for values; a graph has numbers ("slots"), because a run looks values up all
// the time. The source of the structure is torch/_export/serde/schema.py, major version 8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>

namespace torchport::deploy {

struct Graph;

// What a node takes: a constant, a value of the graph, a list of operands, or a graph of its own (a
// branch, the body of a loop).
struct Operand {
  enum class Kind : std::uint8_t { kConstant, kValue, kList, kGraph };

  Kind kind = Kind::kConstant;
  c10::IValue constant;  // None by default
  std::size_t slot = 0;
  std::vector<Operand> items;
  std::shared_ptr<const Graph> graph;
};

// What a node gives: nothing that is kept, one value, or a list whose items are values.
struct Given {
  enum class Kind : std::uint8_t { kNothing, kValue, kList };

  Kind kind = Kind::kNothing;
  std::vector<std::size_t> slots;
};

struct Node {
  std::string target;  // "torch.ops.aten.add.Tensor", "_operator.mul"
  std::string place;   // the model's line, "net.py:8"; empty if the file does not say it
  std::vector<std::pair<std::string, Operand>> inputs;  // by the schema's names, which may be empty
  std::vector<Given> outputs;
};

struct Graph {
  std::size_t slots = 0;
  std::vector<std::size_t> inputs;
  std::vector<Node> nodes;
  std::vector<Operand> outputs;
};

// One dimension of an input: a size, or the name of a size that varies; neither for a formula.
struct InputSize {
  std::optional<std::int64_t> fixed;
  std::string symbol;
};

// The bounds of a size that varies.
struct SizeRange {
  std::optional<std::int64_t> least;
  std::optional<std::int64_t> most;
};

// One input of the whole program, in the order of Graph::inputs.
struct ProgramInput {
  std::string weight;      // the name of its tensor in the file
  bool is_tensor = false;  // whether a caller gives it; else it is a weight, or a constant that the
                           // graph has in its nodes
  // Of a tensor, if the graph describes it:
  bool is_known = false;
  bool requires_grad = false;
  c10::ScalarType dtype = c10::ScalarType::Undefined;
  std::vector<InputSize> sizes;
};

struct ProgramGraph {
  Graph graph;
  std::vector<ProgramInput> inputs;
  std::map<std::string, SizeRange> ranges;  // by symbol
  std::vector<bool> is_result;  // of each output, whether it is one of the model's results
};

// Reads the JSON of a program. Throws std::runtime_error if it is damaged, of another major version
// of the schema, or has what only Python can make (an object, a custom class).
[[nodiscard]] ProgramGraph read_graph(std::string_view text);

}  // namespace torchport::deploy
