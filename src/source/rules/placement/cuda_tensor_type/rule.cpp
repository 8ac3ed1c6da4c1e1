// TP104: torch.cuda.FloatTensor and similar types.
#include "source/rules/rule.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "source/rules/edits.h"
#include "source/rules/placement/common/cuda_api.h"
#include "source/rules/placement/common/device_text.h"
#include "source/semantics/guards.h"

namespace torchport::rules::cuda_tensor_type {

namespace {

constexpr RuleInfo kInfo{
    .code = "TP104",
    .name = "cuda-tensor-type",
    .family = "placement",
    .severity = Severity::kError,
    .summary = "a tensor type of torch.cuda makes tensors on CUDA and nowhere else",
    .void_with_cuda = true,
};

struct TensorType {
  std::string_view name;
  std::string_view dtype;
};

constexpr auto kTypes = std::to_array<TensorType>({{"torch.cuda.FloatTensor", "float32"},
                                                   {"torch.cuda.DoubleTensor", "float64"},
                                                   {"torch.cuda.HalfTensor", "float16"},
                                                   {"torch.cuda.BFloat16Tensor", "bfloat16"},
                                                   {"torch.cuda.ByteTensor", "uint8"},
                                                   {"torch.cuda.CharTensor", "int8"},
                                                   {"torch.cuda.ShortTensor", "int16"},
                                                   {"torch.cuda.IntTensor", "int32"},
                                                   {"torch.cuda.LongTensor", "int64"},
                                                   {"torch.cuda.BoolTensor", "bool"}});

const TensorType* type_named(std::string_view name) {
  const auto* found = std::find_if(kTypes.begin(), kTypes.end(),
                                   [&](const auto& type) { return type.name == name; });
  return found == kTypes.end() ? nullptr : &*found;
}

void set(Fix& fix, const DeviceText& device, std::string title, std::vector<Edit> edits,
         bool safe) {
  fix.applicability = safe && device.certain ? Applicability::kSafe : Applicability::kUnsafe;
  fix.title = std::move(title);
  fix.edits = std::move(edits);
  fix.needs = device.needs;
}

// What a single argument is: data, a shape, or unknown.
enum class Given : std::uint8_t { kData, kShape, kUnknown };

Given given(const SemanticModel& model, Node call) {
  const auto args = syntax::arguments(call);
  if (args.size() != 1) return Given::kShape;
  const Node value = args.front().value;
  if (value.is_any(Kind::kList, Kind::kTuple, Kind::kListComprehension)) return Given::kData;
  const Value known = model.value(value);
  if (known.is(Type::kNumpy)) return Given::kData;
  if (known.is(Type::kNumber) && !value.is(Kind::kCall)) return Given::kShape;
  const std::string_view method = value.is(Kind::kCall) ? method_name(value) : std::string_view{};
  if (method == "size" || method == "len") return Given::kShape;
  if (value.is(Kind::kAttribute) && value.child(Field::kAttributeName).text() == "shape") {
    return Given::kShape;
  }
  // It is filled directly, so its old content does not matter.
  const std::string_view next =
      call.parent().is(Kind::kAttribute) ? call.parent().child(Field::kAttributeName).text() : "";
  for (const std::string_view fill : {"fill_", "zero_", "normal_", "uniform_", "random_"}) {
    if (next == fill) return Given::kShape;
  }
  return Given::kUnknown;
}

Fix fix_constructor(const PythonContext& context, Node call, const TensorType& type) {
  Fix fix;
  fix.title = "make it with torch.tensor or torch.empty and `device=`";
  for (const syntax::Argument& arg : syntax::arguments(call)) {
    if (!arg.keyword.empty()) return fix;
  }
  const Given kind = given(context.model, call);
  if (kind == Given::kUnknown) return fix;
  const std::string& torch = context.devices.torch_name();
  DeviceText device = scope_device(context, call, false);
  device.needs.imports.emplace_back("import torch");
  const std::string made = fmt::format("{}.{}", torch, kind == Given::kData ? "tensor" : "empty");
  // The type is the same whatever torch.set_default_dtype() says.
  const std::string said = fmt::format("dtype={}.{}, device={}", torch, type.dtype, device.text);
  const bool empty = syntax::arguments(call).empty();
  std::vector<Edit> edits = {replace(syntax::callee(call), made),
                             add_argument(call, empty ? fmt::format("0, {}", said) : said)};
  set(fix, device, fmt::format("replace it with `{}({}, {})`", made, empty ? "0" : "...", said),
      std::move(edits), true);
  return fix;
}

Fix fix_cast(const PythonContext& context, Node call, const TensorType& type) {
  Fix fix;
  const std::string& torch = context.devices.torch_name();
  fix.title = fmt::format("move and convert: `.to(device, {}.{})`", torch, type.dtype);
  if (syntax::arguments(call).size() != 1) return fix;
  DeviceText device = scope_device(context, call, false);
  device.needs.imports.emplace_back("import torch");
  const std::string text = fmt::format(".to({}, {}.{})", device.text, torch, type.dtype);
  set(fix, device, fmt::format("replace it with `{}`", text), {{method_span(call), text}}, true);
  return fix;
}

Fix fix_default(const PythonContext& context, Node call, const TensorType& type) {
  Fix fix;
  const std::string& torch = context.devices.torch_name();
  const edit::Settings& settings = context.settings;
  const bool modern = settings.min_torch_stated && settings.min_torch >= edit::TorchVersion{2, 0};
  const Node statement = statement_of_call(call);
  if (modern && type.dtype == "float32") {
    DeviceText device = scope_device(context, call, false);
    const std::string text = fmt::format("{}.set_default_device({})", torch, device.text);
    set(fix, device, fmt::format("replace it with `{}`", text), {replace(call, text)}, false);
  } else if (statement) {
    DeviceText guard;
    guard.needs.imports.emplace_back("import torch");
    const std::string test = fmt::format("{}.cuda.is_available()", torch);
    set(fix, guard, fmt::format("run it only `if {}:`", test), guard_statements({statement}, test),
        true);
  } else {
    fix.title = "guard it with `if torch.cuda.is_available():`";
  }
  return fix;
}

// The call that the type (an attribute, a name or a string) is an argument of.
Node call_around(Node type) {
  const Node list = type.parent();
  return list.is(Kind::kArgumentList) && list.parent().is(Kind::kCall) ? list.parent() : Node{};
}

constexpr std::string_view kRaises =
    "On a machine without CUDA this raises \"type torch.cuda.{} not available\"; other "
    "accelerators are never used.";

void check_use(const PythonContext& context, Node use, const TensorType& type, Reporter& reporter) {
  if (is_prepared(context, use)) return;
  const SemanticModel& model = context.model;
  const std::string message = fmt::format(fmt::runtime(kRaises), type.name.substr(11));
  const Node parent = use.parent();
  if (use.field() == Field::kFunctionPart) {
    reporter.report(use, message).fix.push_back(fix_constructor(context, parent, type));
    return;
  }
  const Node call = call_around(use);
  if (model.called(call) == "torch.set_default_tensor_type") {
    reporter.report(use, message).fix.push_back(fix_default(context, call, type));
  } else if (call && object_of(call) && method_name(call) == "type") {
    reporter.report(use, message).fix.push_back(fix_cast(context, call, type));
  } else if (use.is(Kind::kString)) {
    return;
  } else if (syntax::callee(call).text() == "isinstance") {
    reporter.report(use,
                    "This is False for every tensor that is not on CUDA; test its dtype instead.");
  } else if (holder_of(use).is(Kind::kAssignment) &&
             holder_of(use).child(Field::kRight).holds(use)) {
    reporter.report(use,
                    "Calling this type raises on a machine without CUDA; other accelerators "
                    "are never used.");
  }
}

void check(const PythonContext& context, Node node, Reporter& reporter) {
  if (node.is(Kind::kString)) {
    std::string text;
    if (!syntax::string_value(node, text)) return;
    const TensorType* type = type_named(text);
    if (type != nullptr) check_use(context, node, *type, reporter);
    return;
  }
  if (node.is(Kind::kIdentifier)) {
    // `from torch.cuda import FloatTensor`. Names that were assigned are reported at the
    // assignment.
    if (!node.text().ends_with("Tensor") || node.field() == Field::kAttributeName) return;
    if (node.parent().is_any(Kind::kDottedName, Kind::kAliasedImport)) return;
    const auto bindings = context.model.scopes().reaching(node.text(), node);
    if (bindings.size() != 1 || bindings.front()->kind != semantics::BindingKind::kImport) return;
  }
  const TensorType* type = type_named(context.model.qualified(node));
  if (type != nullptr) check_use(context, node, *type, reporter);
}

const Registration kRegistered{{.info = kInfo,
                                .kinds = {Kind::kAttribute, Kind::kIdentifier, Kind::kString},
                                .python = &check,
                                .file_kinds = {},
                                .text = nullptr}};

}  // namespace

}  // namespace torchport::rules::cuda_tensor_type
