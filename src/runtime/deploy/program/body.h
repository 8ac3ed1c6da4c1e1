// A graph that is ready to run: each node is a step, and each value is dropped after its last use.
//
// What can fail before a run fails when the body is made: an operator that this process does not
// have, an argument that its schema does not have.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <c10/core/Device.h>

#include "runtime/deploy/program/graph.h"
#include "runtime/deploy/program/typed.h"

namespace torchport::deploy {

// The failure of one node, with its line. It passes the bodies around it unchanged.
class NodeError : public std::runtime_error {
 public:
  NodeError(const Node& node, std::string_view why);
};

// One node. Immutable, so that several threads may run it.
class Step {
 public:
  virtual ~Step() = default;
  // Gives the node's results, in the order of Node::outputs. Throws what the operator throws.
  [[nodiscard]] virtual std::vector<c10::IValue> run(const Values& values) const = 0;
};

class Body {
 public:
  // Makes the steps, for values on `device`. Throws NodeError for a node that cannot run.
  Body(const Graph& graph, c10::Device device);

  // Runs all steps. Throws NodeError.
  [[nodiscard]] std::vector<c10::IValue> run(std::vector<c10::IValue> inputs) const;

 private:
  struct Line {
    std::unique_ptr<const Step> step;
    const Node* node;
    std::vector<std::size_t> dead;  // slots that nothing reads after the step
  };

  void find_dead();
  static void keep(const Node& node, std::vector<c10::IValue> results, Values& values);

  const Graph& graph_;  // outlives the body
  std::vector<Line> lines_;
};

// The steps of the three kinds of nodes. Null if the target is of another kind. They throw
// std::runtime_error if the node cannot run.
[[nodiscard]] std::unique_ptr<const Step> operator_step(const Node& node, c10::Device device);
[[nodiscard]] std::unique_ptr<const Step> number_step(const Node& node);
[[nodiscard]] std::unique_ptr<const Step> graph_step(const Node& node, c10::Device device);

}  // namespace torchport::deploy
