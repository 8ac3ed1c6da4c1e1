// TP102: a literal that decides where a tensor or module goes.
#include "source/rules/rule.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "source/flow/sources.h"
#include "source/rules/edits.h"
#include "source/rules/placement/common/build_test.h"
#include "source/rules/placement/common/cuda_api.h"
#include "source/rules/placement/common/device_index.h"
#include "source/rules/placement/common/device_text.h"
#include "source/rules/placement/common/literal_use.h"
#include "source/rules/placement/common/string_use.h"
#include "source/rules/tensors.h"
#include "source/semantics/guards.h"

namespace torchport::rules::device_literal {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP102",
    .name = "device-literal",
    .family = "placement",
    .severity = Severity::kError,
    .summary = "a literal such as \"cuda\" says where tensors and modules go",
    .void_with_cuda = true,
};

Node call_of_argument(Node argument) {
  Node list = argument.parent();
  if (list.is(Kind::kKeywordArgument)) list = list.parent();
  return list.is(Kind::kArgumentList) && list.parent().is(Kind::kCall) ? list.parent() : Node{};
}

std::string_view keyword_of(Node argument) {
  const Node parent = argument.parent();
  return parent.is(Kind::kKeywordArgument) ? parent.child(Field::kName).text() : std::string_view{};
}

// Whether the call takes a torch.device as well as a string: torch's own functions and moves do.
bool takes_devices(const SemanticModel& model, Node call) {
  static constexpr std::array<std::string_view, 8> kMethods{"to",         "to_empty", "new_zeros",
                                                            "new_ones",   "new_full", "new_empty",
                                                            "new_tensor", "rand_like"};
  const std::string& name = model.called(call);
  if (!name.empty() && !object_of(call)) return name.starts_with("torch.");
  if (name.starts_with("torch.") || name.starts_with("functools.")) return true;
  return std::find(kMethods.begin(), kMethods.end(), method_name(call)) != kMethods.end();
}

// Whether the index most likely means just "the GPU": "cuda:0", torch.device("cuda", 0).
bool is_first_device(const semantics::Literal& literal) {
  if (!literal.indexed || literal.formatted) return false;
  std::string text;
  if (!syntax::string_value(literal.whole, text)) return false;
  if (text == "cuda:0") return true;
  return text == "cuda" && syntax::argument(literal.device_call, 1, "index").text() == "0";
}

void fill(Fix& fix, Node place, const DeviceText& device, bool safe) {
  const std::string text =
      device.text.find(" if ") == std::string::npos ? device.text : fitted(place, device.text);
  fix.applicability = safe ? Applicability::kSafe : Applicability::kUnsafe;
  fix.title = fmt::format("replace `{}` with `{}`", place.text(), text);
  fix.edits = {replace(place, text)};
  fix.needs = device.needs;
}

// Whether the device is chosen here (`device = "cuda"`, `return "cuda"`), so that the fix belongs
// here.
bool chooses_device(Node holder, Node site) {
  if (holder.is_any(Kind::kAssignment, Kind::kReturn, Kind::kNamedExpression)) return true;
  return holder.is_any(Kind::kList, Kind::kTuple, Kind::kExpressionList,
                       Kind::kListComprehension) ||
         (holder.is(Kind::kLambda) && !site.is(Kind::kCall));
}

Fix make_fix(const PythonContext& context, const semantics::Literal& literal) {
  Fix fix;
  const Node site = literal.site();
  const bool as_string = !literal.device_call;
  const Node holder = holder_of(site);
  const bool several = literal.indexed && !is_first_device(literal);
  // torch.device("cpu" if args.cpu else "cuda"): one branch of the choice.
  const bool branch =
      holder.is(Kind::kArgumentList) && context.model.called(holder.parent()) == "torch.device";
  const bool choice = branch || chooses_device(holder, site);
  const bool stored = holder.is(Kind::kPair) || keyword_of(site) == "device_type";
  if (several || (literal.indexed && (choice || stored))) {
    fill(fix, site, guarded_device(context, site.text(), as_string), true);
  } else if (choice) {
    const DeviceText met = device_of_met_input(context.model, site);
    fill(fix, site, met.text.empty() ? inline_device(context, as_string) : met,
         met.text.empty() || met.certain);
  } else if (as_string && must_stay_string(context.model, call_of_argument(site), site)) {
    const DeviceText device = scope_string(context, site);
    fill(fix, site, device, device.certain && !literal.indexed);
  } else if (stored && as_string) {
    fill(fix, site, string_device(context, site), true);
  } else {
    const Node call = call_of_argument(site);
    const DeviceText device = scope_device(context, site, !as_string);
    // Of a device that the program looks at, a variable may have another index.
    const bool known =
        (call && takes_devices(context.model, call)) || (!as_string && device.needs.module_device);
    fill(fix, site, device, device.certain && known && !literal.indexed);
  }
  // For f"cuda:{i}" in a loop over CUDA's devices the loop has to change, not the string.
  if (several && in_device_loop(context.model, site)) fix.applicability = Applicability::kDisplay;
  // A file that does not import torch may run without torch.
  if (!context.model.imports_torch()) fix.applicability = Applicability::kDisplay;
  return fix;
}

std::string message_for(const SemanticModel& model, const semantics::Literal& literal) {
  const Node site = literal.site();
  const Node call = call_of_argument(site);
  const std::string& name = model.called(call);
  if (keyword_of(site) == "map_location" || name == "torch.load" || name == "torch.jit.load") {
    return "On a machine without CUDA this load raises \"Attempting to deserialize object on a "
           "CUDA device\".";
  }
  const Node holder = holder_of(site);
  if (chooses_device(holder, site) || holder.is(Kind::kPair)) {
    return "Whatever is placed with this device raises \"Torch not compiled with CUDA enabled\" "
           "on a machine without CUDA; other accelerators are never used.";
  }
  return "On a machine without CUDA this raises \"Torch not compiled with CUDA enabled\"; other "
         "accelerators are never used.";
}

// Whether the node is in a loop such as `for i in unused_gpus:`.
bool over_found_gpus(Node node) {
  for (Node up = node.parent(); up && !up.is(Kind::kFunction); up = up.parent()) {
    if (up.is(Kind::kFor) &&
        base::lower(up.child(Field::kRight).text()).find("gpus") != std::string::npos)
      return true;
  }
  return false;
}

// Whether what is chosen here is replaced below where there is no CUDA: `device = "cuda"`, then `if
// not torch.cuda.is_available(): device = "cpu"`, or a return.
bool is_replaced(const SemanticModel& model, Node site) {
  constexpr int kMostLater = 32;  // of each; only generated code has more
  const Node assignment = holder_of(site);
  const Node target = assignment.child(Field::kLeft);
  if (!assignment.is(Kind::kAssignment) || !target.is(Kind::kIdentifier)) return false;
  // if device.type != "cuda": raise ...
  int seen = 0;
  for (Node later = syntax::statement_of(assignment).next_sibling(); later && seen < kMostLater;
       later = later.next_sibling(), ++seen) {
    if (!later.is(Kind::kIf) || !semantics::always_leaves(model, later.child(Field::kConsequence)))
      continue;
    const Node condition = later.child(Field::kCondition);
    if (!model.named(target.text(), condition).empty() &&
        semantics::implied_by(model, condition, false).present)
      return true;
  }
  const Node scope = model.scopes().scope_node(target);
  const auto& bindings = model.scopes().in_scope(scope, target.text());
  auto binding = std::upper_bound(
      bindings.begin(), bindings.end(), site.end(),
      [](std::uint32_t end, const auto* other) { return end < other->target.start(); });
  for (seen = 0; binding != bindings.end() && seen < kMostLater; ++binding, ++seen)
    if ((*binding)->value && semantics::knowledge_at(model, (*binding)->value).absent) return true;
  if (!scope.is(Kind::kFunction)) return false;
  seen = 0;
  for (const Node later : model.nodes(Kind::kReturn, scope)) {
    if (later.start() < site.end()) continue;
    if (++seen > kMostLater) break;
    if (semantics::knowledge_at(model, later).absent) return true;
  }
  return false;
}

// Whether the literal is what a function gives that is named for CUDA: convert_device_to_cuda().
bool is_given_by_name(Node site) {
  return holder_of(site).is(Kind::kReturn) && function_says(site, "cuda");
}

// Whether a generator goes to what draws the order of data, which torch does on the CPU on every
// machine.
bool draws_order(const SemanticModel& model, Node generator, int depth = 0) {
  generator = chain_top(generator);  // torch.Generator("cuda").manual_seed(0)
  const Node parent = generator.parent();
  const Node call = call_of_argument(generator);
  if (call) {
    static constexpr std::array<std::string_view, 5> kDrawers{
        "torch.utils.data.DataLoader", "torch.utils.data.RandomSampler",
        "torch.utils.data.random_split", "torch.utils.data.WeightedRandomSampler",
        "torch.utils.data.SubsetRandomSampler"};
    return keyword_of(generator) == "generator" && base::one_of(kDrawers, model.called(call));
  }
  if (depth > 0 || !parent.is(Kind::kAssignment) || generator.field() != Field::kRight)
    return false;
  const Node target = parent.child(Field::kLeft);
  if (!target.is(Kind::kIdentifier)) return false;
  const std::vector<Node> reads = reads_of(model, target);
  return std::any_of(reads.begin(), reads.end(),
                     [&](Node read) { return draws_order(model, read, depth + 1); });
}

// Reports the generator of a data loader that is not on the CPU, which raises on CUDA, too.
bool check_generator(const PythonContext& context, const semantics::Literal& literal,
                     Reporter& reporter) {
  const Node call = call_of_argument(literal.site());
  if (!call || context.model.called(call) != "torch.Generator" || !draws_order(context.model, call))
    return false;
  Finding& finding = reporter.report(
      literal.whole,
      "The order of data is drawn on the CPU, so that this generator raises \"Expected a 'cpu' "
      "device type for generator\" on every machine.");
  const Node arguments = call.child(Field::kArguments);
  Fix fix{Applicability::kSafe, "make it on the CPU", {}, {}};
  fix.edits = {{{arguments.start() + 1, arguments.end() - 1}, ""}};
  finding.fix.push_back(std::move(fix));
  return true;
}

void check_string(const PythonContext& context, Node string, Reporter& reporter) {
  const semantics::Literal literal = semantics::classify_literal(context.model, string);
  if (literal.role != semantics::LiteralRole::kPlacement) return;
  if (check_generator(context, literal, reporter)) return;
  if (is_cuda_territory(context, string) || is_replaced(context.model, literal.site()) ||
      is_given_by_name(literal.site()))
    return;
  // f"cuda:{i}" for each of the GPUs that were found.
  if (literal.indexed && !is_first_device(literal) && over_found_gpus(literal.site())) return;
  if (is_callers_index(context.model, literal) && !context.model.ignores_guards()) return;
  if (is_never_read(context, literal.site()) || is_beside_its_name(literal) ||
      is_only_looked_at(context, literal))
    return;
  if (const Node test = build_test_around(context.model, literal.site())) {
    reporter.report(literal.whole, message_of_build_test(test))
        .fix.push_back(fix_of_build_test(context, test));
    return;
  }
  Finding& finding = reporter.report(literal.whole, message_for(context.model, literal));
  // `pick_device("cuda")` may give the CPU.
  const Node taker = call_of_argument(literal.site());
  if (flow::Callee callee = flow::callee_of(context.model, taker); taker && !callee.empty())
    finding.unless.push_back({flow::Condition::Kind::kGivesCpu, {}, {std::move(callee)}});
  if (!is_move_to_compared(context.model, literal.site()))
    finding.fix.push_back(make_fix(context, literal));
}

// The fix of a bare index that is written as a number: 0 means just "the GPU".
Fix fix_of_literal_index(const PythonContext& context, Node call, Node integer) {
  const bool makes_device = context.model.called(call) == "torch.device";
  const Node site = makes_device ? call : integer;
  const bool choice = makes_device && chooses_device(holder_of(site), site);
  Fix fix;
  fill(fix, site,
       choice ? inline_device(context, false) : scope_device(context, site, makes_device), false);
  return fix;
}

// Checks `.to(0)`, device=rank and torch.device(local_rank): an index means CUDA. `.cuda(rank)` has
// a rule of its own.
void check_index(const PythonContext& context, Node call, Reporter& reporter) {
  const SemanticModel& model = context.model;
  const Node index = placing_argument(model, call);
  if (!index || method_name(call) == "cuda") return;
  const bool literal = index.is(Kind::kInteger);
  if (literal && model.called(call).empty()) {
    const Value object = model.value(object_of(call));
    if (!object.is(Type::kTensor) && !object.is(Type::kModule)) return;
  }
  if (!literal && !is_device_index(model, index)) return;
  if (semantics::is_cuda_guarded(model, call) || is_cuda_territory(context, call)) return;
  Finding& finding = reporter.report(
      index,
      "A bare index means a CUDA device: on a machine without an accelerator this raises, "
      "and older torch never uses another accelerator for it.");
  if (!literal)
    finding.fix.push_back(index_fix(context, index));
  else if (index.text() == "0")
    finding.fix.push_back(fix_of_literal_index(context, call, index));
}

void check(const PythonContext& context, Node node, Reporter& reporter) {
  if (node.is(Kind::kString)) check_string(context, node, reporter);
  if (node.is(Kind::kCall)) check_index(context, node, reporter);
}

const Registration kRegistered{{.info = kInfo,
                                .kinds = {Kind::kString, Kind::kCall},
                                .python = &check,
                                .file_kinds = {},
                                .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::device_literal
