#include "source/flow/facts.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "source/flow/collected.h"
#include "source/flow/flags.h"
#include "source/flow/module_imports.h"
#include "source/flow/traits.h"
#include "source/semantics/guards.h"
#include "source/semantics/other_kinds.h"
#include "source/semantics/visible_devices.h"

namespace torchport::flow {

namespace {

using semantics::Binding;
using semantics::BindingKind;
using semantics::SemanticModel;
using syntax::Field;
using syntax::Kind;
using syntax::Node;

// Decorators that leave a function to the callers of its name.
bool keeps_callers(const SemanticModel& model, Node decorator) {
  static constexpr std::array<std::string_view, 8> kNames{
      "staticmethod", "classmethod", "abstractmethod", "contextmanager",
      "no_grad",      "lru_cache",   "inference_mode", "wraps"};
  Node what = decorator.first_child();
  if (what.is(Kind::kCall)) what = syntax::callee(what);
  const std::string& name = model.qualified(what);
  const std::string_view text = name.empty() ? what.text() : std::string_view(name);
  return base::one_of(kNames, text.substr(text.rfind('.') + 1));
}

// Whether a name after the first dot may be an extension, `roi_align_cuda`; `move_to_cuda` is a
// function.
bool may_be_extension(std::string_view name) {
  return name.ends_with("_cuda") && !name.ends_with("to_cuda") && !name.starts_with("is_") &&
         !name.starts_with("use_") && !name.starts_with("has_");
}

// Whether a module is one of a kernel language, or an extension: `triton`, `flash_attn_2_cuda`.
bool is_of_kernels(std::string_view module) {
  static constexpr std::array<std::string_view, 5> kPackages{"triton", "cutlass", "pycuda",
                                                             "tilelang", "cuda"};
  const auto parts = base::split(module, '.');
  if (base::one_of(kPackages, parts.front()) || module.starts_with("numba.cuda")) return true;
  if (parts.front().starts_with("flash_attn") && parts.back() == "_C") return true;
  return parts.front().ends_with("_cuda") ||
         parts.front().find("_cuda_") != std::string_view::npos ||
         std::any_of(std::next(parts.begin()), parts.end(), may_be_extension);
}

// Whether a file loads keys into what it has wrapped itself: they need the prefix.
bool loads_into_wrapper(const SemanticModel& model) {
  const auto loads = model.calls_of("load_state_dict");
  return std::any_of(loads.begin(), loads.end(), [&](Node load) {
    const auto names = model.named(syntax::end_of_name(syntax::callee(load).child(Field::kObject)));
    return std::any_of(names.begin(), names.end(), [&](Node name) {
      const Node target = name.field() == Field::kAttributeName ? name.parent() : name;
      if (target.field() != Field::kLeft || !target.parent().is(Kind::kAssignment)) return false;
      const auto calls = model.nodes(Kind::kCall, target.parent().child(Field::kRight));
      return std::any_of(calls.begin(), calls.end(), [&](Node call) {
        return model.called(call).ends_with("DataParallel") &&
               model.called(call).starts_with("torch.nn.");
      });
    });
  });
}

// Whether a file depends on whether keys have DataParallel's prefix: it takes it from them, by name
// or by its seven characters, or needs it.
bool knows_prefix(const SemanticModel& model) {
  std::string text;
  for (const Node string : model.nodes(Kind::kString))
    if (syntax::string_value(string, text) && text == "module.") return true;
  for (const Node slice : model.nodes(Kind::kSlice))
    if (slice.text() == "7:") return !model.named("load_state_dict").empty();
  return loads_into_wrapper(model);
}

bool is_decorated(const SemanticModel& model, Node function) {
  const Node parent = function.parent();
  if (!parent.is(Kind::kDecorated)) return false;
  for (Node decorator = parent.first_child(); decorator.is(Kind::kDecorator);
       decorator = decorator.next_sibling())
    if (!keeps_callers(model, decorator)) return true;
  return false;
}

// Whether an expression hands a function on without calling it: `Process(target=f)`, `return f`.
bool is_handed_on(Node expression) {
  const Node parent = expression.parent();
  if (parent.is(Kind::kKeywordArgument) || parent.is(Kind::kAssignment))
    return expression.field() != Field::kName && expression.field() != Field::kLeft;
  return parent.is_any(Kind::kArgumentList, Kind::kReturn, Kind::kList, Kind::kTuple, Kind::kPair,
                       Kind::kConditional, Kind::kLambda, Kind::kDecorator);
}

class Collector {
 public:
  Collector(const SemanticModel& model, Time until)
      : model_(model), until_(until), sources_(model) {}

  std::optional<CollectedFacts> collect() {
    collect_imports();
    facts_.knows_prefix = knows_prefix(model_);
    facts_.sets_visible_devices = sets_visible_devices(model_);
    facts_.sets_after_imports = sets_after_imports(model_);
    facts_.cuda_or_cpu = semantics::cuda_or_cpu(model_);
    const bool done =
        each(Kind::kFunction, [&](Node node) { add_function(node); }) &&
        each(Kind::kClass, [&](Node node) { add_class(node); }) &&
        each(Kind::kReturn, [&](Node node) { add_result(node, node.first_child()); }) &&
        each(Kind::kYield, [&](Node node) { add_result(node, node.first_child()); }) &&
        each(Kind::kCall, [&](Node node) { add_call(node); }) &&
        each(Kind::kIdentifier,
             [&](Node node) {
               if (node.field() != Field::kAttributeName) add_reference(node);
             }) &&
        each(Kind::kAttribute, [&](Node node) { add_reference(node); });
    if (!done) return std::nullopt;
    facts_.cuda_flags = cuda_flags(model_);
    facts_.whole = file_traits_of(model_);
    return std::move(facts_);
  }

 private:
  // Returns false if the time is over.
  template <class Add>
  bool each(Kind kind, const Add& add) {
    constexpr std::size_t kNodesBetweenLooks = 256;
    std::size_t seen = 0;
    for (const Node node : model_.nodes(kind)) {
      if (++seen % kNodesBetweenLooks == 0 && base::ThreadClock::now() > until_) return false;
      add(node);
    }
    return true;
  }

  void collect_imports() {
    facts_.imports = module_imports(model_.tree());
    for (const auto& [name, qualified] : facts_.imports)
      facts_.kernels |= name != "*" && is_of_kernels(qualified);
  }

  void add_function(Node node) {
    CollectedFunction function;
    function.name = name_of(node);
    function.feeds = feeds_from_cpu(model_, node);
    function.traits = traits_of(model_, node);
    const Node parameters = node.child(Field::kParametersPart);
    for (Node parameter = parameters.first_child(); parameter;
         parameter = parameter.next_sibling()) {
      Node name = parameter;
      if (const Node named = parameter.child(Field::kName)) name = named;
      if (parameter.is(Kind::kTypedParameter)) name = parameter.first_child();
      function.parameters.emplace_back(name.text());
    }
    const auto index = static_cast<std::uint16_t>(facts_.functions.size());
    if (index == kModuleCode) return;
    index_[node.index()] = index;
    if (is_decorated(model_, node)) add(node, "=" + function.name, true);
    facts_.functions.push_back(std::move(function));
  }

  void add_class(Node node) {
    const semantics::ClassFacts* known = model_.class_facts(node);
    if (known == nullptr) return;
    facts_.classes.push_back({std::string(known->name), known->bases});
  }

  void add_result(Node statement, Node value) {
    const auto found = index_.find(syntax::function_of(statement).index());
    if (found == index_.end() || !value) return;
    CollectedFunction& function = facts_.functions[found->second];
    function.results.add(sources_.of(value));
    add_device(function, statement, value);
  }

  // A decorator, and a caller that awaits or iterates, may make something else of the results.
  static bool returns_its_values(Node statement) {
    const Node function = syntax::function_of(statement);
    return statement.is(Kind::kReturn) && !function.parent().is(Kind::kDecorated) &&
           !function.text().starts_with("async");
  }

  void add_device(CollectedFunction& function, Node statement, Node value) {
    using semantics::DeviceState;
    using semantics::Type;
    const semantics::Value result = model_.value(value);
    if (function.line == 0) {
      function.line = model_.tree().lines().at(statement.start()).line;
      function.type = result.type;
      function.device = result.device_state;
    }
    const bool is_known =
        returns_its_values(statement) && (result.is(Type::kTensor) || result.is(Type::kModule)) &&
        (result.device_state == DeviceState::kCpu || result.device_state == DeviceState::kCuda);
    if (is_known && result.type == function.type && result.device_state == function.device) return;
    function.type = Type::kUnknown;
    function.device = DeviceState::kUnknown;
  }

  // The function whose code runs a node; kModuleCode outside. A lambda's code counts as that of the
  // function around it.
  std::uint16_t caller_of(Node node) {
    for (Node function = syntax::function_of(node); function;
         function = syntax::function_of(function)) {
      if (const auto found = index_.find(function.index()); found != index_.end())
        return found->second;
    }
    return kModuleCode;
  }

  CollectedCall& add(Node at, Callee callee, bool unknown_arguments) {
    CollectedCall call;
    call.callee = std::move(callee);
    call.caller = caller_of(at);
    call.guarded = semantics::is_cuda_guarded(model_, at);
    call.unknown_arguments = unknown_arguments;
    return facts_.calls.emplace_back(std::move(call));
  }

  void add_call(Node node) {
    Callee callee = callee_of(model_, node);
    // A method that tensors have is one of a tensor.
    if (callee.empty() || (callee.front() == '.' && semantics::keeps_device(callee.substr(1))))
      return;
    CollectedCall& call = add(node, std::move(callee), syntax::has_splat(node));
    put_in_order(node, call);
    if (call.unknown_arguments) return;
    for (const syntax::Argument& argument : syntax::arguments(node)) {
      Sources sources = sources_.of(argument.value);
      if (argument.keyword.empty())
        call.positional.push_back(std::move(sources));
      else
        call.keywords.emplace_back(argument.keyword, std::move(sources));
    }
  }

  // Notes what has run before a call, and that the call itself runs before what follows in its
  // block.
  void put_in_order(Node node, CollectedCall& call) {
    const Node statement = syntax::statement_of(node);
    for (Node inner = statement; inner && !inner.is_any(Kind::kFunction, Kind::kClass);
         inner = inner.parent()) {
      const auto last = last_in_block_.find(inner.parent().index());
      if (last == last_in_block_.end()) continue;
      // `f(g())`: f is in the list first, and runs last.
      const bool same = last->second.second == statement.index();
      call.after = same ? facts_.calls[last->second.first - 1].after : last->second.first;
      break;
    }
    const Node parent = node.parent();
    if (!parent.is(Kind::kExpressionStatement) &&
        !(parent.is(Kind::kAssignment) && node.field() == Field::kRight))
      return;
    const Node block = statement.parent();
    call.surely = block.parent().is(Kind::kFunction);
    last_in_block_[block.index()] = {static_cast<std::uint32_t>(facts_.calls.size()),
                                     statement.index()};
  }

  void add_reference(Node node) {
    if (!is_handed_on(node)) return;
    if (node.is(Kind::kAttribute)) {
      // self.x that is data of the class
      const semantics::ClassFacts* known = model_.enclosing_class(node);
      if (known != nullptr && known->attributes.contains(node.child(Field::kAttributeName).text()))
        return;
    }
    Callee callee = referred_to(model_, node);
    if (!callee.empty()) add(node, std::move(callee), true);
  }

  const SemanticModel& model_;
  Time until_;
  SourceFinder sources_;
  CollectedFacts facts_;
  std::unordered_map<std::uint32_t, std::uint16_t> index_;  // by the function's node
  // By the block's node: the last call that is a statement of it, as in Call::after, and the
  // statement.
  std::unordered_map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> last_in_block_;
};

}  // namespace

bool sets_visible_devices(const SemanticModel& model) {
  if (semantics::forks(model)) return true;
  const std::string& source = model.tree().source();
  const auto has = [&](std::string_view word) { return source.find(word) != std::string::npos; };
  if (!has("environ") && !has("putenv") && !has("exec(")) return false;
  for (const Kind kind : {Kind::kAssignment, Kind::kAugmentedAssignment, Kind::kCall})
    for (const Node node : model.nodes(kind))
      if (semantics::may_set_visible_devices(model, node) &&
          (syntax::function_of(node) || semantics::in_main_block(node)))
        return true;
  return false;
}

bool sets_after_imports(const SemanticModel& model) {
  const Node setting = semantics::last_setting_on_import(model);
  if (!setting) return false;
  for (Node node = model.tree().root().first_child(); node && node.start() < setting.start();
       node = node.next_sibling())
    if (node.is_any(Kind::kImport, Kind::kImportFrom) && semantics::may_be_of_project(node))
      return true;
  return false;
}

std::optional<FileFacts> collect_facts(const SemanticModel& model, Time until) {
  const auto collected = Collector(model, until).collect();
  return collected ? unpack_facts(pack(*collected)) : std::nullopt;
}

std::string name_of(Node function) {
  std::string name(function.child(Field::kName).text());
  for (Node up = function.parent(); up; up = up.parent()) {
    if (up.is_any(Kind::kFunction, Kind::kClass))
      name.insert(0, std::string(up.child(Field::kName).text()) + ".");
  }
  return name;
}

FileFacts facts_of_imports(std::vector<std::pair<std::string, std::string>> imports) {
  CollectedFacts only;
  only.imports = std::move(imports);
  return unpack_facts(pack(only)).value();
}

bool feeds_from_cpu(const SemanticModel& model, Node function) {
  const std::string_view name = function.child(Field::kName).text();
  if (name.find("collate") != std::string_view::npos || name == "__getitem__" || name == "__iter__")
    return true;
  const Node holder = syntax::statement_of(function).parent().parent();
  const semantics::ClassFacts* facts =
      holder.is(Kind::kClass) ? model.class_facts(holder) : nullptr;
  if (facts == nullptr) return false;
  return std::any_of(facts->bases.begin(), facts->bases.end(), [](const std::string& base) {
    return base.ends_with("Dataset") || base.ends_with("Transform") || base.ends_with("Sampler") ||
           base.ends_with("DataLoader");
  });
}

}  // namespace torchport::flow
