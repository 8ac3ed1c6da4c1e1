// TP207: a model that was moved gets a tensor that stayed on the CPU, or the other way round, or
// what the model returns meets one.
#include "source/rules/rule.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "source/rules/edits.h"
#include "source/rules/mismatch/common/batch_values.h"
#include "source/rules/mismatch/common/forward_inputs.h"
#include "source/rules/mismatch/input_left_behind/left_parts.h"
#include "source/rules/mismatch/input_left_behind/loop_fix.h"
#include "source/rules/module_place.h"
#include "source/rules/statements.h"
#include "source/rules/tensors.h"
#include "source/semantics/guards.h"

namespace torchport::rules::input_left_behind {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP207",
    .name = "input-left-behind",
    .family = "mismatch",
    .severity = Severity::kError,
    .summary = "a model and the tensor that it gets are on different devices",
    .on_accelerators = true,
};

// Whether the expression is a tensor of some size that a factory made on the CPU.
bool is_made_on_cpu(const SemanticModel& model, Node argument) {
  const Value value = model.value(argument);
  if (!value.is(Type::kTensor) || value.device_state != DeviceState::kCpu) return false;
  const Node made = value.origin;
  if (!made.is(Kind::kCall) || semantics::knowledge_at(model, made)) return false;
  const std::string& name = model.called(made);
  if (name == "torch.tensor" || name == "torch.as_tensor")
    return syntax::positional(made, 0).is_any(Kind::kList, Kind::kListComprehension);
  return semantics::is_factory(name) && !syntax::has_splat(made);
}

constexpr std::size_t kNamed = static_cast<std::size_t>(-1);  // an argument with a keyword

// Whether a name may hold strings, which some models take, or numbers.
bool may_be_text(std::string_view name) {
  const std::string lower = base::lower(name);
  for (const std::string_view word :
       {"text", "sent", "str", "prompt", "caption", "name", "path", "word", "len", "num", "idx"})
    if (lower.find(word) != std::string::npos) return true;
  return false;
}

// Whether every use of the module's names leaves it where it was made.
bool stays_in_place(const SemanticModel& model, const ValueHistory& trace) {
  return std::all_of(trace.steps.begin(), trace.steps.end(), [&](Node step) {
    if (!step.is_any(Kind::kIdentifier, Kind::kAttribute)) return true;
    std::vector<Node> reads;
    if (step.is(Kind::kIdentifier)) {
      const auto bindings = model.scopes().reaching(step.text(), step);
      if (bindings.size() != 1 || bindings.front()->kind != semantics::BindingKind::kAssign)
        return false;
      reads = reads_of(model, bindings.front()->target);
    } else {
      const semantics::ClassFacts* facts = model.enclosing_class(step);
      if (facts == nullptr || facts->is_module || !facts->bases.empty()) return false;
      reads = reads_of_attribute(model, *facts, step.child(Field::kAttributeName).text());
    }
    return std::all_of(reads.begin(), reads.end(), leaves_in_place);
  });
}

// Whether a whole model comes out of a file onto a device: torch.load(path,
// map_location="cuda").eval(). Its class is not in the file; a model that moves its own inputs is
// rare.
bool is_loaded_elsewhere(const SemanticModel& model, Node origin) {
  while (origin.is(Kind::kCall) && object_of(origin) && model.called(origin).empty() &&
         (method_name(origin) == "eval" || method_name(origin) == "train"))
    origin = syntax::unwrap(object_of(origin));
  if (!origin.is(Kind::kCall)) return false;
  const std::string& name = model.called(origin);
  if (name != "torch.load" && name != "torch.jit.load") return false;
  const Node place = syntax::argument(origin, 1, "map_location");
  if (!place || place.is_any(Kind::kNone, Kind::kLambda, Kind::kDictionary)) return false;
  const Value value = model.value(place);
  return value.device_state != DeviceState::kCpu &&
         !(value.is(Type::kString) && value.text == "cpu");
}

// Whether a move of the model comes before the call, or in another function.
bool is_moved_before(const SemanticModel& model, const ValueHistory& trace, Node call) {
  const auto moves = module_moves(model, trace);
  return std::any_of(moves.begin(), moves.end(), [&](Node move) {
    return move.start() < call.start() || syntax::function_of(move) != syntax::function_of(call);
  });
}

// The device to move to: the one that the model went to, if it can be written here.
edit::DeviceRef target_device(const PythonContext& context, const ValueHistory& trace, Node call) {
  edit::DeviceRef here = context.devices.at(call);
  for (const Node move : module_moves(context.model, trace)) {
    if (is_cuda_move(context.model, move)) continue;
    const Node device = syntax::argument(move, 0, "device");
    if (device.text() == here.text) continue;
    if (syntax::function_of(move) != syntax::function_of(call) || !is_primary(device)) return {};
    return {std::string(device.text())};
  }
  return here;
}

// The device to which another part of a batch was moved, if it can be written at the top of the
// loop, and the move is no choice of the program's.
edit::DeviceRef device_of_part(const SemanticModel& model, Node loop, Node move) {
  const Node device = syntax::argument(move, 0, "device");
  if (method_name(move) != "to" || !device || !is_primary(device) || device.is(Kind::kCall) ||
      syntax::statement_of(move).parent() != loop.child(Field::kBody))
    return {};
  for (const semantics::Binding* binding : model.scopes().reaching(device.text(), device))
    if (loop.holds(binding->target)) return {};
  return {std::string(device.text())};
}

Fix argument_fix(Node argument, const edit::DeviceRef& device) {
  Fix fix;
  fix.title = "make it on the device of the model";
  if (device.text.empty() || !is_primary(argument)) return fix;
  fix.title = fmt::format("move it: .to({})", device.text);
  fix.applicability = Applicability::kUnsafe;
  fix.needs.module_device = device.module_device;
  fix.edits = {insert_after(argument, fmt::format(".to({})", device.text))};
  return fix;
}

class Inputs {
 public:
  Inputs(const PythonContext& context, Reporter& reporter)
      : context_(context), model_(context.model), reporter_(reporter), values_(context.model) {}

  // Parts of a batch that stay behind while others are moved.
  void check_parts() {
    find_left_parts(model_, values_, [&](const LeftPart& left) {
      const Node name = left.part.name;
      if (semantics::knowledge_at(model_, left.argument) || has_device_manager(model_) ||
          !reported_.insert({left.part.loop.index(), name.text()}).second)
        return;
      Fix fix = loop_fix(left.part.loop, name_to_move(model_, left.part.loop, name),
                         device_of_part(model_, left.part.loop, left.move));
      reporter_
          .report(left.argument,
                  fmt::format("`{}` stays where the loader made it, on the CPU, and meets what a "
                              "model returns for another part of the batch, which was moved: this "
                              "raises \"Expected all tensors to be on the same device\".",
                              name.text()))
          .fix.push_back(std::move(fix));
    });
  }

  void check(Node call) {
    const Node callee = syntax::callee(call);
    if (!callee.is_any(Kind::kIdentifier, Kind::kAttribute) || !model_.qualified(callee).empty())
      return;
    if (!values_.may_be_model(callee)) return;
    const bool module = may_be_module(callee);
    const std::vector<syntax::Argument> arguments = syntax::arguments(call);
    std::optional<ModelHistory> history;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const Node argument = arguments[i].value;
      const BatchValue part = values_.of(argument);
      const bool left = part.is(BatchPlace::kLeft);
      const bool made = !left && module && is_made_on_cpu(model_, argument);
      const bool moved = !left && !made && may_stay(callee) && is_moved_value(model_, argument);
      if (!left && !made && !moved) continue;
      if (!history) history = history_of(call, module);
      if (history->refuted) return;
      if (left && is_left(call, part, *history, arguments[i].keyword.empty() ? i : kNamed))
        report_part(call, argument, part, *history);
      else if (made && history->moved)
        report_made(call, argument, *history);
      else if (moved && history->stays)
        report_model(call, argument);
    }
  }

 private:
  // What the file says about the model of a call.
  struct ModelHistory {
    ValueHistory trace;
    bool moved = false;    // it surely was moved, and leaves its inputs where they are
    bool gone = false;     // it was moved, whatever it is
    bool stays = false;    // it was made here, and nothing moves it
    bool refuted = false;  // nothing can be said about this call
  };

  [[nodiscard]] bool may_be_module(Node callee) const {
    const Value value = model_.value(callee);
    return value.is(Type::kModule) || (value.is(Type::kUnknown) && callee.is(Kind::kIdentifier) &&
                                       !model_.function_named(callee.text(), callee) &&
                                       model_.class_named(callee.text()) == nullptr);
  }

  // Whether the callee may be a module that was made on the CPU and never moved, at little cost.
  [[nodiscard]] bool may_stay(Node callee) const {
    const Value value = model_.value(callee);
    return value.is(Type::kModule) && value.device_state == DeviceState::kCpu &&
           !(value.text.starts_with("torch.nn.") && value.text.ends_with("Loss"));
  }

  [[nodiscard]] ModelHistory history_of(Node call, bool module) const {
    ModelHistory history{trace_value(model_, syntax::callee(call))};
    const ValueHistory& trace = history.trace;
    const Place place = module_place(model_, trace);
    history.moved = module && place == Place::kElsewhere && keeps_inputs(model_, trace) &&
                    is_moved_before(model_, trace, call);
    const bool loaded = module && !trace.open && !trace.origins.empty() &&
                        std::all_of(trace.origins.begin(), trace.origins.end(), [&](Node origin) {
                          return is_loaded_elsewhere(model_, origin);
                        });
    history.moved = history.moved || (loaded && calls_on(model_, trace, "cpu").empty());
    history.gone = surely_moved(call);
    history.stays = place == Place::kCpu && has_state(model_, trace) &&
                    keeps_inputs(model_, trace) && stays_in_place(model_, trace);
    // DataParallel moves its inputs, and who calls this function may have wrapped the model.
    history.refuted = (!history.moved && names_a_wrapper()) ||
                      semantics::knowledge_at(model_, call) || has_device_manager(model_);
    return history;
  }

  [[nodiscard]] bool names_a_wrapper() const {
    static constexpr std::array<std::string_view, 5> kWrappers{
        "DataParallel", "DistributedDataParallel", "DDP", "FullyShardedDataParallel", "FSDP"};
    return std::any_of(kWrappers.begin(), kWrappers.end(),
                       [&](std::string_view name) { return !model_.named(name).empty(); });
  }

  // Whether the function or the class moves what has the callee's name: `net.to(device)`.
  [[nodiscard]] bool surely_moved(Node call) const {
    Node callee = syntax::callee(call);
    if (callee.is(Kind::kAttribute) && callee.child(Field::kAttributeName).text() == "forward")
      callee = callee.child(Field::kObject);
    const Node home = callee.is(Kind::kAttribute) ? syntax::class_of(call)
                                                  : model_.scopes().owner(callee.text(), callee);
    const std::vector<Node> moves = moves_in(model_, home ? home : model_.tree().root());
    return std::any_of(moves.begin(), moves.end(), [&](Node move) {
      const Node parent = move.parent();
      const bool kept =
          parent.is(Kind::kAssignment) && parent.child(Field::kLeft).text() == callee.text();
      return (kept || object_of(move).text() == callee.text()) && is_moved_value(model_, move);
    });
  }

  // Whether a part that is left on the CPU goes into a model that wants it elsewhere.
  [[nodiscard]] bool is_left(Node call, const BatchValue& part, const ModelHistory& history,
                             std::size_t position) {
    if (history.stays) return false;
    const Node given = position == kNamed ? Node{} : fed_moved_elsewhere(model_, call, position);
    const bool gone = history.moved || (history.gone && !may_be_text(part.name.text()));
    if (!given) return gone && is_on_cpu(part);
    // Elsewhere, the program moves what comes from a loader into the same model.
    return is_on_cpu(part) || (gone && values_.of(given).is(BatchPlace::kMoved));
  }

  // Whether a part of a batch is on the CPU: the loader says so, or another part that is moved.
  [[nodiscard]] bool is_on_cpu(const BatchValue& part) {
    return yields_cpu_batches(model_, part.loop.child(Field::kRight)) || sibling_moved(part);
  }

  [[nodiscard]] bool sibling_moved(const BatchValue& part) {
    const std::vector<Node> moves = moves_in(model_, part.loop);
    return std::any_of(moves.begin(), moves.end(), [&](Node move) {
      const BatchValue other = values_.of(move);
      return other.is(BatchPlace::kMoved) && other.loop == part.loop &&
             other.name.text() != part.name.text();
    });
  }

  void report_part(Node call, Node argument, const BatchValue& part, const ModelHistory& history) {
    const Node name = part.name;
    if (!reported_.insert({part.loop.index(), name.text()}).second) return;
    const std::string why = history.moved || history.gone
                                ? "the model was moved"
                                : fmt::format("elsewhere the program moves what it gives to `{}`",
                                              syntax::callee(call).text());
    reporter_
        .report(argument, fmt::format("`{}` comes from a loader, which makes its batches on the "
                                      "CPU, and {}: the call raises \"Expected all tensors to be "
                                      "on the same device\".",
                                      name.text(), why))
        .fix.push_back(loop_fix(part.loop, names_to_move(model_, part.loop, name),
                                target_device(context_, history.trace, call)));
  }

  void report_model(Node call, Node argument) {
    Fix fix;
    fix.title = "move the model to the device of its input";
    reporter_
        .report(
            syntax::callee(call),
            fmt::format("`{}` was moved to a device, and nothing moves the model, which was made "
                        "on the CPU: the call raises \"Expected all tensors to be on the same "
                        "device\".",
                        argument.text()))
        .fix.push_back(std::move(fix));
  }

  void report_made(Node call, Node argument, const ModelHistory& history) {
    reporter_
        .report(argument,
                "This tensor is made on the CPU, and the model was moved: the call raises "
                "\"Expected all tensors to be on the same device\".")
        .fix.push_back(argument_fix(argument, target_device(context_, history.trace, call)));
  }

  const PythonContext& context_;
  const SemanticModel& model_;
  Reporter& reporter_;
  BatchValues values_;
  std::set<std::pair<std::uint32_t, std::string_view>> reported_;  // loop and name
};

void check(const PythonContext& context, Node, Reporter& reporter) {
  const SemanticModel& model = context.model;
  if (context.is_test() || !model.imports_torch() ||
      (!moves_things(model) && model.named("map_location").empty()))
    return;
  Inputs inputs(context, reporter);
  for (const Node call : model.nodes(Kind::kCall)) inputs.check(call);
  inputs.check_parts();
}

const Registration kRegistered{
    {.info = kInfo, .kinds = {Kind::kModule}, .python = &check, .file_kinds = {}, .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::input_left_behind
