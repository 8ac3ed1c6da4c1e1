// Runs the higher-order operators that torch.export leaves in a program: branches, loops, and
// regions with a setting.
#include <optional>
#include <stdexcept>
#include <utility>

#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>

#include "runtime/deploy/program/body.h"

namespace torchport::deploy {

namespace {

using c10::IValue;

// A graph of a node, and the operands around it.
class GraphStep : public Step {
 public:
  GraphStep(const Node& node, c10::Device device) : node_(node), device_(device) {}

 protected:
  [[nodiscard]] const Operand& operand(std::size_t index) const {
    if (index >= node_.inputs.size()) throw std::runtime_error("an argument is missing");
    return node_.inputs[index].second;
  }

  [[nodiscard]] Body body(std::size_t index) const {
    const Operand& of = operand(index);
    if (of.kind != Operand::Kind::kGraph) throw std::runtime_error("a graph is missing");
    return {*of.graph, device_};
  }

  [[nodiscard]] IValue value(std::size_t index, const Values& values) const {
    return untyped(operand(index), values);
  }

  // The values of the operands from `first` on; lists are taken apart.
  [[nodiscard]] std::vector<IValue> from(std::size_t first, const Values& values) const {
    std::vector<IValue> all;
    for (std::size_t i = first; i < node_.inputs.size(); ++i) add(operand(i), values, all);
    return all;
  }

  static void add(const Operand& of, const Values& values, std::vector<IValue>& all) {
    if (of.kind != Operand::Kind::kList) return all.push_back(untyped(of, values));
    for (const Operand& item : of.items) add(item, values, all);
  }

  static bool is_true(const IValue& value) {
    return value.isTensor() ? value.toTensor().item<bool>() : value.toBool();
  }

 private:
  const Node& node_;
  c10::Device device_;
};

// cond(predicate, graph, graph, operands)
class Branch final : public GraphStep {
 public:
  Branch(const Node& node, c10::Device device)
      : GraphStep(node, device), if_true_(body(1)), if_false_(body(2)) {}

  [[nodiscard]] std::vector<IValue> run(const Values& values) const override {
    return (is_true(value(0, values)) ? if_true_ : if_false_).run(from(3, values));
  }

 private:
  Body if_true_;
  Body if_false_;
};

// while_loop(graph of the condition, graph of the body, carried values, further inputs)
class Loop final : public GraphStep {
 public:
  Loop(const Node& node, c10::Device device)
      : GraphStep(node, device), condition_(body(0)), body_(body(1)) {}

  [[nodiscard]] std::vector<IValue> run(const Values& values) const override {
    std::vector<IValue> carried;
    add(operand(2), values, carried);
    const std::vector<IValue> further = from(3, values);
    while (true) {
      std::vector<IValue> inputs = carried;
      inputs.insert(inputs.end(), further.begin(), further.end());
      const auto goes_on = condition_.run(inputs);
      if (goes_on.empty() || !is_true(goes_on.front())) return carried;
      carried = body_.run(std::move(inputs));
    }
  }

 private:
  Body condition_;
  Body body_;
};

// wrap_with_set_grad_enabled(enabled, graph, operands...): a program runs without gradients.
class Region final : public GraphStep {
 public:
  Region(const Node& node, c10::Device device) : GraphStep(node, device), body_(body(1)) {}

  [[nodiscard]] std::vector<IValue> run(const Values& values) const override {
    return body_.run(from(2, values));
  }

 private:
  Body body_;
};

// Sets autocast as torch.autocast does, until the end of a block.
class AutocastGuard {
 public:
  AutocastGuard(at::DeviceType kind, bool enabled, at::ScalarType dtype, bool cached)
      : kind_(kind),
        enabled_(at::autocast::is_autocast_enabled(kind)),
        dtype_(at::autocast::get_autocast_dtype(kind)),
        cached_(at::autocast::is_autocast_cache_enabled()) {
    set(enabled, dtype, cached);
    at::autocast::increment_nesting();
  }
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;
  AutocastGuard(AutocastGuard&&) = delete;
  AutocastGuard& operator=(AutocastGuard&&) = delete;
  ~AutocastGuard() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    set(enabled_, dtype_, cached_);
  }

 private:
  void set(bool enabled, at::ScalarType dtype, bool cached) const {
    at::autocast::set_autocast_enabled(kind_, enabled);
    at::autocast::set_autocast_dtype(kind_, dtype);
    at::autocast::set_autocast_cache_enabled(cached);
  }

  at::DeviceType kind_;
  bool enabled_;
  at::ScalarType dtype_;
  bool cached_;
};

// wrap_with_autocast(device type, dtype, enabled, cache enabled, graph, operands...)
class Autocast final : public GraphStep {
 public:
  Autocast(const Node& node, c10::Device device) : GraphStep(node, device), body_(body(4)) {}

  [[nodiscard]] std::vector<IValue> run(const Values& values) const override {
    const at::DeviceType kind = c10::Device(value(0, values).toStringRef()).type();
    const IValue dtype = value(1, values);
    const IValue cached = value(3, values);
    const AutocastGuard guard(
        kind, value(2, values).toBool(),
        dtype.isInt() ? dtype.toScalarType() : at::autocast::get_autocast_dtype(kind),
        cached.isBool() ? cached.toBool() : at::autocast::is_autocast_cache_enabled());
    return body_.run(from(5, values));
  }

 private:
  Body body_;
};

}  // namespace

std::unique_ptr<const Step> graph_step(const Node& node, c10::Device device) {
  constexpr std::string_view kHigherOrder = "torch.ops.higher_order.";
  if (!node.target.starts_with(kHigherOrder)) return nullptr;
  const std::string_view name = std::string_view(node.target).substr(kHigherOrder.size());
  if (name == "cond") return std::make_unique<Branch>(node, device);
  if (name == "while_loop") return std::make_unique<Loop>(node, device);
  if (name == "wrap_with_set_grad_enabled") return std::make_unique<Region>(node, device);
  if (name == "wrap_with_autocast") return std::make_unique<Autocast>(node, device);
  return nullptr;
}

}  // namespace torchport::deploy
