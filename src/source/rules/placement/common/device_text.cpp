#include "source/rules/placement/common/device_text.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "source/rules/placement/common/device_index.h"
#include "source/rules/placement/common/near_tensor.h"
#include "source/rules/statements.h"
#include "source/rules/tensors.h"
#include "source/semantics/guards.h"

namespace torchport::rules {

namespace {

// The type of a DeviceRef's expression, as far as the file shows it.
Type type_of(const PythonContext& context, const edit::DeviceRef& ref, Node node) {
  if (ref.object) return Type::kDevice;
  const SemanticModel& model = context.model;
  const auto dot = ref.text.rfind('.');
  if (dot == std::string::npos) {
    const auto bindings = model.scopes().reaching(ref.text, node);
    if (bindings.empty()) return Type::kUnknown;
    const semantics::Binding& first = *bindings.front();
    if (first.kind == semantics::BindingKind::kAssign) return model.value(first.value).type;
    const std::string& hint = model.qualified(first.annotation.first_child());
    return hint == "torch.device" ? Type::kDevice : Type::kUnknown;
  }
  const semantics::ClassFacts* facts = model.enclosing_class(node);
  if (facts != nullptr && ref.text.substr(0, dot) == model.self_name(node)) {
    const auto found = facts->attributes.find(std::string_view(ref.text).substr(dot + 1));
    if (found != facts->attributes.end()) return model.value(found->second.front().value).type;
  }
  return Type::kUnknown;
}

}  // namespace

Node holder_of(Node expression) {
  Node holder = expression.parent();
  while (holder.is_any(Kind::kParenthesized, Kind::kConditional, Kind::kBooleanOperator)) {
    holder = holder.parent();
  }
  return holder;
}

Node evaluated_at(Node node) {
  for (Node up = node; up; up = up.parent()) {
    const Node parent = up.parent();
    if (up.is(Kind::kParameters)) return parent;
    if (up.is(Kind::kDecorator)) return parent;
    if (parent.is_any(Kind::kBlock, Kind::kModule)) break;
  }
  return node;
}

std::string fitted(Node place, std::string conditional) {
  const Node parent = place.parent();
  bool needs = parent.is_any(Kind::kBooleanOperator, Kind::kBinaryOperator, Kind::kComparison,
                             Kind::kAttribute, Kind::kNotOperator, Kind::kSubscript,
                             Kind::kListSplat, Kind::kWithItem);
  if (parent.is(Kind::kConditional)) {
    const auto parts = parent.children();
    needs = parts.size() != 3 || parts[2] != place;
  }
  return needs ? "(" + std::move(conditional) + ")" : conditional;
}

DeviceText inline_device(const PythonContext& context, bool as_string) {
  DeviceText result;
  result.text = context.devices.inline_expression(as_string);
  result.needs.imports = {"import torch"};
  return result;
}

DeviceText guarded_device(const PythonContext& context, std::string_view text, bool as_string) {
  const std::string& torch = context.devices.torch_name();
  std::string rest = context.devices.inline_expression(as_string);
  if (!context.devices.uses_accelerator()) {
    // The classic expression without its first branch.
    const std::string first = fmt::format("\"cuda\" if {}.cuda.is_available() else ", torch);
    std::string choice = context.devices.inline_expression(true);
    if (choice.starts_with(first)) choice.erase(0, first.size());
    rest = as_string ? choice : fmt::format("{}.device({})", torch, choice);
  }
  DeviceText result;
  result.text = fmt::format("{} if {}.cuda.is_available() else {}", text, torch, rest);
  result.needs.imports = {"import torch"};
  return result;
}

edit::DeviceRef device_near(const PythonContext& context, Node node) {
  edit::DeviceRef ref = context.devices.at(node);
  if (!ref.module_device && ref.text != context.devices.variable()) return ref;
  const NearTensor near = near_tensor(context.model, node);
  if (near.device.empty()) return ref;
  return {near.device, false, near.combined, true};
}

DeviceText device_of_met_input(const SemanticModel& model, Node chosen) {
  const Node assignment = plain_assignment(syntax::statement_of(chosen));
  const Node target = assignment.child(Field::kLeft);
  if (!syntax::function_of(chosen).is(Kind::kFunction) || !target.is(Kind::kIdentifier) ||
      syntax::unwrap(assignment.child(Field::kRight)) != chosen)
    return {};
  DeviceText met;
  for (const Node read : reads_of(model, target)) {
    const Node keyword = read.parent();
    const Node list = keyword.is(Kind::kKeywordArgument) ? keyword.parent() : keyword;
    if (placing_argument(model, list.parent()) != read) return {};
    const NearTensor near = near_tensor(model, read);
    if (near.device.empty() || !met.text.empty()) continue;
    const auto bindings =
        model.scopes().reaching(near.device.substr(0, near.device.find('.')), chosen);
    if (bindings.size() == 1 && bindings.front()->kind == semantics::BindingKind::kParameter)
      met = {near.device, {}, near.combined};
  }
  return met;
}

DeviceText string_device(const PythonContext& context, Node node) {
  const Node place = evaluated_at(node);
  const edit::DeviceRef ref = context.devices.at(place);
  if (ref.module_device) return {ref.text + ".type", {{}, true}, true};
  const auto bindings = context.model.scopes().module_level(ref.text);
  const bool above = bindings.size() == 1 && bindings.front()->target.end() < node.start();
  if (ref.certain && above) {
    const Type type = type_of(context, ref, place);
    if (type == Type::kDevice) return {ref.text + ".type", {}, true};
    if (type == Type::kString) return {ref.text, {}, true};
  }
  return inline_device(context, true);
}

DeviceText scope_device(const PythonContext& context, Node node, bool as_device) {
  const Node place = evaluated_at(node);
  const edit::DeviceRef ref =
      place == node ? device_near(context, node) : context.devices.at(place);
  DeviceText result{ref.text, {{}, ref.module_device}, ref.certain};
  if (as_device && type_of(context, ref, place) != Type::kDevice) {
    result.text = fmt::format("{}.device({})", context.devices.torch_name(), ref.text);
    result.needs.imports = {"import torch"};
  }
  return result;
}

DeviceText scope_string(const PythonContext& context, Node node) {
  const Node place = evaluated_at(node);
  const edit::DeviceRef ref = context.devices.at(place);
  DeviceText result{ref.text, {{}, ref.module_device}, ref.certain};
  if (type_of(context, ref, place) != Type::kDevice) return result;
  if (ref.object && !ref.module_device) return inline_device(context, true);
  result.text += ".type";
  return result;
}

Node option_choices(Node expression) {
  const Node keyword = holder_of(expression);
  const Node call = keyword.parent().parent();
  if (!keyword.is(Kind::kKeywordArgument) || !call.is(Kind::kCall)) return {};
  const Node choices = syntax::keyword(call, "choices");
  return choices.is_any(Kind::kList, Kind::kTuple, Kind::kSet) ? choices : Node{};
}

DeviceText allowed_device(const PythonContext& context, Node choices) {
  const auto allows = [&](std::string_view kind) {
    std::string value;
    for (Node choice = choices.first_child(); choice; choice = choice.next_sibling())
      if (syntax::string_value(choice, value) && value == kind) return true;
    return false;
  };
  const auto chain = context.devices.chain();
  if (std::all_of(chain.begin(), chain.end(), [&](const auto* kind) { return allows(kind->name); }))
    return inline_device(context, true);
  DeviceText result;
  if (!allows("cpu")) return result;
  for (const devices::DeviceKind* kind : chain)
    if (allows(kind->name))
      result.text += fmt::format("\"{}\" if {}.{} else ", kind->name, context.devices.torch_name(),
                                 kind->availability.expression);
  result.text += "\"cpu\"";
  result.needs.imports = {"import torch"};
  return result;
}

bool function_says(Node node, std::string_view word) {
  const Node function = syntax::function_of(node);
  return function.is(Kind::kFunction) &&
         base::lower(function.child(Field::kName).text()).find(word) != std::string::npos;
}

bool is_inside_of(Node node, std::string_view word) {
  for (Node up = node.parent(); up; up = up.parent()) {
    if (up.is_any(Kind::kFunction, Kind::kClass) &&
        base::lower(up.child(Field::kName).text()).find(word) != std::string::npos)
      return true;
  }
  return false;
}

// The places that import a tool of CUDA whatever happens: functions, or the module. An import in a
// branch or a `try` is one way among others; TensorRT's own branch is a place.
struct ToolImports {
  explicit ToolImports(const SemanticModel& model) {
    static constexpr std::array<std::string_view, 4> kTools{"megatron", "transformer_engine",
                                                            "sglang", "torch2trt"};
    for (const Kind kind : {Kind::kImport, Kind::kImportFrom}) {
      for (const Node import : model.nodes(kind)) {
        const Node module =
            import.is(Kind::kImportFrom) ? import.child(Field::kModuleName) : import.first_child();
        if (!base::one_of(kTools, module.text().substr(0, module.text().find_first_of(". "))))
          continue;
        Node block = import.parent();
        while (block.parent().is(Kind::kTry) && semantics::handlers_leave(model, block.parent()))
          block = block.parent().parent();
        if (block.is(Kind::kModule)) places.push_back(block);
        // `if trt_file is not None: from torch2trt import TRTModule`
        if (block.parent().is(Kind::kIf) && module.text().starts_with("torch2trt"))
          places.push_back(block);
        if (block.parent().is(Kind::kFunction)) places.push_back(block.parent());
      }
    }
  }
  std::vector<Node> places;
};

bool is_about_cuda_tools(const PythonContext& context, Node node) {
  if (context.model.imports("tensorrt")) return true;
  const auto& places = context.model.facts<ToolImports>().places;
  if (std::any_of(places.begin(), places.end(), [&](Node place) { return place.holds(node); }))
    return true;
  const std::string file = base::lower(context.path.substr(context.path.rfind('/') + 1));
  return file.starts_with("nsys") || file.starts_with("colossal") ||
         file.find("tensorrt") != std::string::npos || file == "trt.py" ||
         file.ends_with("_trt.py") || file.starts_with("trt_");
}

bool drives_kernels(const SemanticModel& model, Node node) {
  static constexpr std::array<std::string_view, 5> kLibraries{"cupy", "pynvrtc", "pycuda",
                                                              "tensorrt", "torch_tensorrt"};
  const Node function = syntax::function_of(node);
  if (!function.is(Kind::kFunction)) return false;
  for (std::uint32_t i = function.index(); i < function.subtree_end(); ++i) {
    const Node part = model.tree().at(i);
    if (part.is_any(Kind::kImport, Kind::kImportFrom)) {
      const Node module =
          part.is(Kind::kImportFrom) ? part.child(Field::kModuleName) : part.child(Field::kName);
      const std::string_view root = module.text().substr(0, module.text().find_first_of(". "));
      if (std::find(kLibraries.begin(), kLibraries.end(), root) != kLibraries.end()) return true;
    }
    if (!part.is(Kind::kCall)) continue;
    const std::string& name = model.called(part);
    if (name.starts_with("numba.cuda.") || name == "torch.cuda.graph" ||
        name == "torch.cuda.CUDAGraph" || name == "torch.cuda.make_graphed_callables")
      return true;
    // kernel[blocks, threads](...) of numba. Triton's kernels run on other devices, too.
    const Node callee = syntax::callee(part);
    if (callee.is(Kind::kSubscript) && !model.imports("triton") &&
        callee.child(Field::kValue).text().find("kernel") != std::string_view::npos)
      return true;
    if (name.find("tensorrt") != std::string::npos || callee.text().starts_with("torch_tensorrt."))
      return true;
  }
  return false;
}

// Whether a file or a class is about CUDA, or about what runs on nothing else.
bool names_cuda_only(std::string_view lower) {
  static constexpr std::array<std::string_view, 8> kWords{
      "cuda",    "nccl",     "megatron",          "colossal",
      "nvshmem", "tensorrt", "transformerengine", "transformer_engine"};
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    return lower.find(word) != std::string_view::npos;
  });
}

// Whether a block keeps the outcome of an attempt: `gpu = True`, `return False`.
bool keeps_outcome(Node block) {
  const auto is_constant = [](Node value) {
    value = syntax::unwrap(value);
    return value.is_any(Kind::kTrue, Kind::kFalse, Kind::kNone, Kind::kInteger, Kind::kString);
  };
  for (Node statement = block.first_child(); statement; statement = statement.next_sibling()) {
    if (statement.is(Kind::kReturn) && is_constant(statement.first_child())) return true;
    Node assignment = statement;
    if (statement.is(Kind::kExpressionStatement)) assignment = statement.first_child();
    if (assignment.is(Kind::kAssignment) && is_constant(assignment.child(Field::kRight)))
      return true;
  }
  return false;
}

// Whether the `with` around a node passes over errors and its block keeps that there was none.
bool is_suppressed_probe(Node node) {
  for (Node up = node; up.parent() && !up.is(Kind::kFunction); up = up.parent()) {
    const Node around = up.parent();
    if (around.is(Kind::kWith) && up.is(Kind::kBlock) && keeps_outcome(up) &&
        std::string_view(around.text()).substr(0, up.start() - around.start()).find("suppress(") !=
            std::string_view::npos)
      return true;
  }
  return false;
}

bool is_probed(Node node) {
  if (is_suppressed_probe(node)) return true;
  for (const Node body : tried_bodies(node)) {
    bool caught = false;
    bool kept = keeps_outcome(body);
    for (const Node part : body.parent().children()) {
      caught |= part.is(Kind::kExcept) && part.text().find("raise") == std::string_view::npos;
      for (const Node block : part.children())
        kept |= block.is(Kind::kBlock) && keeps_outcome(block);
    }
    if (caught && kept) return true;
  }
  return false;
}

bool is_in_cuda_class(Node node) {
  for (Node up = node.parent(); up; up = up.parent()) {
    if (!up.is(Kind::kClass)) continue;
    const std::string_view name = up.child(Field::kName).text();
    // DeviceGPU, GPUTimer
    if (names_cuda_only(base::lower(name)) || name.starts_with("GPU") || name.ends_with("GPU"))
      return true;
  }
  return false;
}

bool is_cuda_territory(const PythonContext& context, Node node) {
  if (is_about_cuda_tools(context, node) || context.model.imports("pycuda")) return true;
  if (drives_kernels(context.model, node) || is_probed(node)) return true;
  const std::string_view file = context.path.substr(context.path.rfind('/') + 1);
  if (names_cuda_only(base::lower(file)) || is_in_cuda_class(node)) return true;
  for (Node up = node.parent(); up; up = up.parent()) {
    if (!up.is(Kind::kFunction)) continue;
    const std::string name = base::lower(up.child(Field::kName).text());
    if (name == "cuda" || name.find("cuda_graph") != std::string::npos ||
        name.find("cudagraph") != std::string::npos)
      return true;
  }
  return false;
}

}  // namespace torchport::rules
