#include "runtime/observer/operator_semantics.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>

#include <ATen/core/enum_tag.h>

#include "runtime/observer/fork_lock.h"
#include "runtime/observer/tensors_in.h"

namespace torchport::observer {

namespace {

using c10::IValue;

const SemanticsRow* row_named(std::string_view name) {
  const auto rows = semantics_rows();
  const auto* found = std::lower_bound(
      rows.begin(), rows.end(), name,
      [](const SemanticsRow& row, std::string_view wanted) { return row.name < wanted; });
  return found != rows.end() && found->name == name ? found : nullptr;
}

SemanticsRow row_of(const c10::OperatorName& op) {
  constexpr std::string_view kAten = "aten::";
  std::string_view name = op.name;
  if (!name.starts_with(kAten)) return {};
  name.remove_prefix(kAten.size());
  const std::string full = std::string(name) + "." + op.overload_name;
  if (const SemanticsRow* row = row_named(full)) return *row;
  if (const SemanticsRow* row = row_named(name)) return *row;
  if (name.size() > 1 && name.ends_with('_')) name.remove_suffix(1);
  const SemanticsRow* row = row_named(name);
  return row == nullptr ? SemanticsRow{} : *row;
}

int index_of(const c10::FunctionSchema& schema, const char* argument) {
  return schema.argumentIndexWithName(argument).value_or(-1);
}

const char* argument_that_decides(Deterministic deterministic) {
  switch (deterministic) {
    case Deterministic::kAlways:
    case Deterministic::kNever:
      break;
    case Deterministic::kForIntegers:
      return "dtype";
    case Deterministic::kWithoutReduction:
      return "reduction";
    case Deterministic::kWithoutWeights:
      return "weights";
    case Deterministic::kUnlessModeIsMax:
      return "mode";
    case Deterministic::kUnlessProduct:
      return "reduce";
  }
  return "";
}

bool is_number(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::ComplexType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::SymIntType:
    case c10::TypeKind::SymFloatType:
    case c10::TypeKind::SymBoolType:
      return true;
    default:
      return false;
  }
}

bool is_write(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

}  // namespace

OperatorSemantics::OperatorSemantics(const c10::OperatorHandle& op)
    : name(c10::toString(op.operator_name())), row(row_of(op.operator_name())) {
  const c10::FunctionSchema& schema = op.schema();
  arguments = static_cast<std::uint16_t>(schema.arguments().size());
  results = static_cast<std::uint16_t>(schema.returns().size());
  for (std::uint16_t i = 0; i < arguments; ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    const std::string type = argument.type()->str();
    if (type.find("Generator") != std::string::npos) generator = i;
    if (type.find("Tensor") == std::string::npos && type != "Any") continue;
    tensor_inputs.push_back(i);
    if (is_write(argument)) written.push_back(i);
  }
  for (const c10::Argument& result : schema.returns()) {
    returns_tensors |= result.type()->str().find("Tensor") != std::string::npos;
    returns_views |= result.alias_info() != nullptr && !result.alias_info()->isWrite();
  }
  returns_number = results == 1 && is_number(*schema.returns()[0].type());
  non_blocking = index_of(schema, "non_blocking");
  decides_determinism = index_of(schema, argument_that_decides(row.deterministic));
  if (row.waits == Waits::kUnlessSized)
    size_of_result = std::max(index_of(schema, "output_size"), index_of(schema, "num_classes"));
  copies_into_first = row.waits == Waits::kCopy;
  draws = op.hasTag(at::Tag::nondeterministic_seeded);
  own = schema.name().starts_with("torchport::") || schema.name().starts_with("profiler::");
  // An operator that returns a number and takes a tensor reads the tensor, unless the table says
  // that it only asks.
  if (row.waits == Waits::kNever && returns_number && !tensor_inputs.empty() && !own &&
      !has(kAsksOnly))
    row.waits = Waits::kAlways;
}

bool OperatorSemantics::reads_values(const IValue* arguments_of_call) const {
  switch (row.waits) {
    case Waits::kNever:
    case Waits::kCopy:
      return false;
    case Waits::kAlways:
      return true;
    case Waits::kByMask: {
      bool masked = false;
      each_tensor(arguments_of_call[1], [&](const at::Tensor& index) { masked |= is_mask(index); });
      return masked;
    }
    case Waits::kUnlessSized: {
      if (size_of_result < 0) return true;
      const IValue& size = arguments_of_call[size_of_result];
      return !size.isInt() || size.toInt() < 0;
    }
    case Waits::kUnlessEmpty:
      return arguments_of_call[0].toTensor().numel() > 0;
    case Waits::kIfDense:
      return arguments_of_call[0].toTensor().layout() == at::kStrided;
    case Waits::kByRange:  // histc(self, bins, min, max)
      return arguments_of_call[0].toTensor().numel() > 0 && arguments_of_call[2].isScalar() &&
             arguments_of_call[3].isScalar() &&
             arguments_of_call[2].toScalar().equal(arguments_of_call[3].toScalar().toDouble());
    case Waits::kUnlessUnsafe:  // segment_reduce(data, reduce, *, lengths, indices, offsets, axis,
                                // unsafe, initial)
      return arguments_of_call[2].isTensor() && !arguments_of_call[6].toBool();
  }
  return false;
}

bool OperatorSemantics::waits_in_libraries(const IValue* arguments_of_call) const {
  if (!has(kNotCaptured) && !has(kMagmaUnlessSquare)) return false;
  const at::Tensor& matrices = arguments_of_call[0].toTensor();
  if (matrices.numel() == 0) return false;
  if (has(kNotCaptured)) return true;
  // lu_factor in cuda/linalg/BatchLinearAlgebra.cpp
  const std::int64_t rows = matrices.size(-2);
  const std::int64_t batch = matrices.numel() / (rows * matrices.size(-1));
  const bool fits = batch == 1 || rows <= 16 || (rows <= 128 && batch <= 16);
  return rows != matrices.size(-1) || !fits;
}

bool OperatorSemantics::is_blocking(const IValue* arguments_of_call) const {
  if (non_blocking < 0) return true;
  const IValue& told = arguments_of_call[non_blocking];
  return !told.isBool() || !told.toBool();
}

namespace {

// Whether the semantics stored for an entry's address still belong to the operator at that address.
bool is_of(const OperatorSemantics& known, const c10::OperatorHandle& op) {
  const c10::OperatorName& name = op.operator_name();
  const std::size_t length = name.name.size();
  return known.arguments == op.schema().arguments().size() &&
         known.results == op.schema().returns().size() && known.name.starts_with(name.name) &&
         (known.name.size() == length || known.name[length] == '.') &&
         known.name.ends_with(name.overload_name);
}

}  // namespace

const OperatorSemantics& semantics_of(const c10::OperatorHandle& op) {
  // The key is the address of the name in the dispatcher's entry. The dispatcher does not move an
  // entry while its operator is registered, but may reuse it afterwards.
  using Key = const c10::OperatorName*;
  thread_local std::unordered_map<Key, const OperatorSemantics*> known_here;
  const Key key = &op.operator_name();
  const auto here = known_here.find(key);
  if (here != known_here.end() && is_of(*here->second, op)) return *here->second;
  static auto* known = new std::unordered_map<Key, const OperatorSemantics*>();
  const std::lock_guard<std::mutex> lock(fork_lock());
  const OperatorSemantics*& found = (*known)[key];
  // Never destroyed: another thread may still use the replaced one.
  if (found == nullptr || !is_of(*found, op)) found = new OperatorSemantics(op);
  known_here[key] = found;
  return *found;
}

}  // namespace torchport::observer
