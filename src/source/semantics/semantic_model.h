// Says what a file's expressions are: the dotted names of imported things, and a light inference of
// types and device states (a tensor? a module? on which device?). It answers "unknown" instead of
// guessing; each rule decides how many unknowns it accepts.
//
// A SemanticModel belongs to one thread, because it caches its answers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <typeindex>
#include <unordered_map>
#include <vector>

#include "source/semantics/node_index.h"
#include "source/semantics/node_map.h"
#include "source/semantics/recent_values.h"
#include "source/semantics/scopes.h"
#include "source/syntax/tree.h"

namespace torchport::semantics {

enum class Type : std::uint8_t {
  kUnknown,
  kTensor,
  kModule,  // an nn.Module instance
  kOptimizer,
  kDevice,  // a torch.device
  kString,
  kNumber,
  kBool,
  kNone,
  kDataLoader,
  kNumpy,      // a NumPy array or scalar
  kStateDict,  // a state dict or another checkpoint container
  kContainer,  // list, tuple, dict
  kForeign,    // an object of another library than torch
};

// Where a value lives.
enum class DeviceState : std::uint8_t {
  kUnknown,
  kCpu,      // created without a device, or moved to the CPU
  kCuda,     // hard-coded CUDA
  kFollows,  // wherever an expression says: see Value::device
};

struct Value {
  Type type = Type::kUnknown;
  DeviceState device_state = DeviceState::kUnknown;
  std::string text;  // kString: the literal; kModule/kForeign: the dotted class name
  Node device;       // kFollows: the expression that names the device
  Node origin;       // the expression that created it

  [[nodiscard]] bool is(Type wanted) const { return type == wanted; }
};

// Facts about a class of the file.
struct ClassFacts {
  Node node;
  std::string_view name;
  std::vector<std::string> bases;  // dotted where resolvable
  bool is_module = false;          // derives from nn.Module, directly or not
  bool has_forward = false;
  std::unordered_map<std::string_view, Node> methods;
  // self.NAME = value, over all methods, in source order.
  struct Attribute {
    Node target;  // the whole `self.NAME`
    Node value;
    Node function;
  };
  std::unordered_map<std::string_view, std::vector<Attribute>> attributes;
};

class SemanticModel {
 public:
  explicit SemanticModel(std::shared_ptr<const Tree> tree);

  [[nodiscard]] const Tree& tree() const { return *tree_; }
  [[nodiscard]] const Scopes& scopes() const { return scopes_; }

  // The dotted name that an expression stands for through imports and single assignments:
  // `th.cuda.synchronize` -> "torch.cuda.synchronize". Empty if it is not the name of an imported
  // thing.
  [[nodiscard]] const std::string& qualified(Node expression) const;
  // qualified(callee(call)).
  [[nodiscard]] const std::string& called(Node call) const;
  // Whether a call is a method call `x.name(...)` whose object is not an imported name.
  [[nodiscard]] bool is_method_call(Node call, std::string_view name) const;

  [[nodiscard]] Value value(Node expression) const;
  // The string that an expression is known to be: a literal, or a name that is bound once to one.
  [[nodiscard]] std::optional<std::string> constant_string(Node expression) const;

  [[nodiscard]] const ClassFacts* class_facts(Node class_node) const;
  // The facts of the class around a node; null if there is none.
  [[nodiscard]] const ClassFacts* enclosing_class(Node node) const;
  // The facts of the file's class of this name; null if there is none.
  [[nodiscard]] const ClassFacts* class_named(std::string_view name) const;
  // The function definition, in the module or an enclosing scope, that a name refers to.
  [[nodiscard]] Node function_named(std::string_view name, Node at) const;
  // The name of `self` in the method around a node; "" outside of methods.
  [[nodiscard]] std::string_view self_name(Node node) const;

  // The statements of a block after which it continues only if a condition held: `assert c`, and
  // `if c:` without `else` whose body always leaves.
  [[nodiscard]] const std::vector<Node>& early_exits(Node block) const;

  // The nodes of a kind, and the identifiers with a name, in the whole file or at or below a node,
  // in source order. They come from an index, without a walk.
  [[nodiscard]] Nodes nodes(Kind kind) const { return index_.of_kind(kind); }
  [[nodiscard]] Nodes nodes(Kind kind, Node range) const {
    return index_.of_kind(kind).within(range);
  }
  [[nodiscard]] Nodes named(std::string_view text) const { return index_.named(text); }
  [[nodiscard]] Nodes named(std::string_view text, Node range) const {
    return index_.named(text).within(range);
  }
  // The calls whose callee ends in this name (`f(...)`, `x.f(...)`), in order.
  [[nodiscard]] std::vector<Node> calls_of(std::string_view name, Node range = {}) const;

  // Facts about the whole file: a T that is constructed from this model at the first question, and
  // kept. Rules use it to share an analysis without the model knowing of it.
  template <class T>
  [[nodiscard]] const T& facts() const {
    auto& kept = facts_[std::type_index(typeid(T))];
    if (!kept) kept = std::make_shared<const T>(*this);
    return *static_cast<const T*>(kept.get());
  }

  // While one of these lives, code that runs only with CUDA counts as code that always runs.
  class GuardsIgnored {
   public:
    explicit GuardsIgnored(const SemanticModel& model) : model_(model) {
      model_.ignores_guards_ = true;
    }
    ~GuardsIgnored() { model_.ignores_guards_ = false; }
    GuardsIgnored(const GuardsIgnored&) = delete;
    GuardsIgnored& operator=(const GuardsIgnored&) = delete;

   private:
    const SemanticModel& model_;
  };
  [[nodiscard]] bool ignores_guards() const { return ignores_guards_; }

  // Whether the file imports torch or anything of it.
  [[nodiscard]] bool imports_torch() const { return imports_torch_; }
  [[nodiscard]] bool imports(std::string_view module) const;

 private:
  void collect_classes();
  [[nodiscard]] std::string resolve(Node expression, int depth) const;
  [[nodiscard]] Value infer(Node expression, int depth) const;
  [[nodiscard]] Value infer_anew(Node expression, int depth) const;
  [[nodiscard]] Value infer_name(Node identifier, int depth) const;
  [[nodiscard]] Value infer_attribute(Node attribute, int depth) const;
  [[nodiscard]] Value infer_call(Node call, int depth) const;
  [[nodiscard]] Value infer_method(Node call, const Value& object, std::string_view method,
                                   int depth) const;
  [[nodiscard]] Value infer_binding(const Binding& binding, int depth) const;
  void set_device_state(Value& value, Node device, int depth) const;

  std::shared_ptr<const Tree> tree_;
  Scopes scopes_;
  std::vector<ClassFacts> classes_;
  std::unordered_map<std::uint32_t, std::size_t> class_by_node_;
  std::unordered_map<std::string_view, std::size_t> class_by_name_;  // the first of a name
  bool imports_torch_ = false;
  mutable bool ignores_guards_ = false;
  std::vector<std::string> imported_;
  mutable NodeMap<std::string> qualified_;
  // Answers of infer(): see infer.cpp.
  struct WholeValue {
    Value value;
    int height = 0;  // how deep below its node the inference went
  };
  mutable NodeMap<WholeValue> whole_values_;
  mutable RecentValues<Value> cut_values_;  // by node and depth
  mutable int deepest_ = 0;                 // the depth that the current question has reached
  mutable std::unordered_map<std::uint32_t, std::vector<Node>> early_exits_;
  NodeIndex index_;
  mutable std::unordered_map<std::type_index, std::shared_ptr<const void>> facts_;
};

// --- Vocabulary of torch ---------------------------------------------------

// Whether this is a torch function that creates a tensor and takes `device=`.
[[nodiscard]] bool is_factory(std::string_view qualified);
// Whether this method of a tensor returns a tensor on the same device.
[[nodiscard]] bool keeps_device(std::string_view method);
// Whether a class with this base class is an nn.Module.
[[nodiscard]] bool is_module_base(std::string_view qualified);
// Whether a string names a device: "cuda", "cuda:0", "mps", "xpu:1", "cpu", ...
[[nodiscard]] bool is_device_string(std::string_view text);
// Whether a string is "cuda" or "cuda:N".
[[nodiscard]] bool is_cuda_string(std::string_view text);

}  // namespace torchport::semantics
