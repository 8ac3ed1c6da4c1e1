#include "runtime/deploy/program/body.h"

#include <unordered_set>
#include <utility>

#include <c10/util/Exception.h>

namespace torchport::deploy {

namespace {

std::unique_ptr<const Step> step_of(const Node& node, c10::Device device) {
  if (auto step = operator_step(node, device)) return step;
  if (auto step = graph_step(node, device)) return step;
  if (auto step = number_step(node)) return step;
  throw std::runtime_error("it has no kernel without Python");
}

std::string words(std::string_view why) {
  // torch's messages end with a list of files of C++.
  return std::string(why.substr(0, why.find("\nException raised from")));
}

}  // namespace

NodeError::NodeError(const Node& node, std::string_view why)
    : std::runtime_error((node.place.empty() ? "" : node.place + ": ") + node.target + ": " +
                         words(why)) {}

Body::Body(const Graph& graph, c10::Device device) : graph_(graph) {
  for (const Node& node : graph.nodes) {
    try {
      lines_.push_back({step_of(node, device), &node, {}});
    } catch (const NodeError&) {
      throw;
    } catch (const std::exception& error) {
      throw NodeError(node, error.what());
    }
  }
  find_dead();
}

void Body::find_dead() {
  std::unordered_set<std::size_t> live;
  const auto add = [&](std::size_t slot) { live.insert(slot); };
  for (const Operand& output : graph_.outputs) visit_slots(output, add);
  for (auto line = lines_.rbegin(); line != lines_.rend(); ++line) {
    const auto read = [&](std::size_t slot) {
      if (live.insert(slot).second) line->dead.push_back(slot);
    };
    for (const auto& [name, operand] : line->node->inputs) visit_slots(operand, read);
    for (const Given& given : line->node->outputs) {
      for (const std::size_t slot : given.slots) {
        if (live.erase(slot) == 0) line->dead.push_back(slot);  // nothing reads it
      }
    }
  }
}

void Body::keep(const Node& node, std::vector<c10::IValue> results, Values& values) {
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const Given& given = node.outputs[i];
    if (given.kind == Given::Kind::kNothing) continue;
    TORCH_CHECK(i < results.size(), "it gave ", results.size(), " results, not ",
                node.outputs.size());
    if (given.kind == Given::Kind::kValue) {
      values[given.slots.front()] = std::move(results[i]);
      continue;
    }
    const auto items = results[i].toListRef();
    TORCH_CHECK(items.size() == given.slots.size(), "it gave a list of ", items.size(), ", not of ",
                given.slots.size());
    for (std::size_t item = 0; item < items.size(); ++item) values[given.slots[item]] = items[item];
  }
}

std::vector<c10::IValue> Body::run(std::vector<c10::IValue> inputs) const {
  Values values(graph_.slots);
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i)
    values[graph_.inputs[i]] = std::move(inputs.at(i));
  for (const Line& line : lines_) {
    try {
      keep(*line.node, line.step->run(values), values);
    } catch (const NodeError&) {
      throw;
    } catch (const c10::Error& error) {
      throw NodeError(*line.node, error.what_without_backtrace());
    } catch (const std::exception& error) {
      throw NodeError(*line.node, error.what());
    }
    for (const std::size_t slot : line.dead) values[slot] = c10::IValue();
  }
  std::vector<c10::IValue> outputs;
  for (const Operand& output : graph_.outputs) outputs.push_back(untyped(output, values));
  return outputs;
}

}  // namespace torchport::deploy
