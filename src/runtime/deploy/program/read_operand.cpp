#include "runtime/deploy/program/read_operand.h"

#include <array>
#include <limits>
#include <unordered_map>
#include <utility>

#include <c10/core/Device.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>
#include <c10/util/complex.h>

namespace torchport::deploy {

namespace {

using nlohmann::json;

Operand constant(c10::IValue value) {
  Operand operand;
  operand.constant = std::move(value);
  return operand;
}

Operand value_at(std::size_t slot) {
  Operand operand;
  operand.kind = Operand::Kind::kValue;
  operand.slot = slot;
  return operand;
}

std::int64_t whole_number(const json& value) {
  if (!value.is_number_integer()) throw std::runtime_error(value.dump() + " is no whole number");
  return value.get<std::int64_t>();
}

// The number of c10's enumeration for the number of the schema's.
template <std::size_t kCount, typename To>
std::int64_t numbered(const std::array<To, kCount>& all, const json& number, std::int64_t first) {
  const std::int64_t index = whole_number(number);
  if (index < first || index - first >= static_cast<std::int64_t>(kCount))
    throw std::runtime_error("a number of an enumeration that this torch does not have: " +
                             number.dump());
  return static_cast<std::int64_t>(all.at(static_cast<std::size_t>(index - first)));
}

std::int64_t scalar_type(const json& number) {
  using enum c10::ScalarType;
  static constexpr std::array kLow{Byte,          Char,  Short,   Int,         Long,
                                   Half,          Float, Double,  ComplexHalf, ComplexFloat,
                                   ComplexDouble, Bool,  BFloat16};
  static constexpr std::array kHigh{UInt16,          Float8_e4m3fn,  Float8_e5m2, Float8_e4m3fnuz,
                                    Float8_e5m2fnuz, Float8_e8m0fnu, UInt32,      UInt64};
  constexpr std::int64_t kFirstHigh = 28;
  return whole_number(number) < kFirstHigh ? numbered(kLow, number, 1)
                                           : numbered(kHigh, number, kFirstHigh);
}

std::int64_t layout(const json& number) {
  static constexpr std::array kAll{c10::kSparse,    c10::kSparseCsr, c10::kSparseCsc,
                                   c10::kSparseBsr, c10::kSparseBsc, c10::kMkldnn,
                                   c10::kStrided};
  return numbered(kAll, number, 1);
}

std::int64_t memory_format(const json& number) {
  static constexpr std::array kAll{c10::MemoryFormat::Contiguous, c10::MemoryFormat::ChannelsLast,
                                   c10::MemoryFormat::ChannelsLast3d, c10::MemoryFormat::Preserve};
  return numbered(kAll, number, 1);
}

c10::Device device(const json& value) {
  const auto index = value.find("index");
  const bool has_index = index != value.end() && !index->is_null();
  const c10::Device kind(value.at("type").get<std::string>());
  return has_index ? c10::Device(kind.type(), static_cast<c10::DeviceIndex>(whole_number(*index)))
                   : kind;
}

// JSON has no number for infinity and NaN; the schema has words for them.
double real(const json& value) {
  if (!value.is_string()) return value.get<double>();
  const auto& word = value.get_ref<const std::string&>();
  if (word == "Infinity") return std::numeric_limits<double>::infinity();
  if (word == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
  throw std::runtime_error("\"" + word + "\" is no number");
}

template <typename Read>
Operand list(const json& values, const Read& read) {
  Operand operand;
  operand.kind = Operand::Kind::kList;
  for (const json& value : values.get_ref<const json::array_t&>())
    operand.items.push_back(read(value));
  return operand;
}

using Read = Operand (*)(const json& value, const OperandReader& reader);

Operand read_tensor(const json& value, const OperandReader& reader) {
  return value_at(reader.slot_of(value.at("name").get<std::string>()));
}

Operand read_optional(const json& value, const OperandReader& reader) {
  const auto [kind, of] = member_of(value);
  if (kind == "as_none") return {};
  if (kind == "as_tensor") return read_tensor(of, reader);
  throw std::runtime_error("an optional tensor of the kind " + kind);
}

template <Read kOne>
Operand read_list(const json& value, const OperandReader& reader) {
  return list(value, [&](const json& item) { return kOne(item, reader); });
}

Operand read_int(const json& value, const OperandReader& /*reader*/) {
  return constant(whole_number(value));
}
Operand read_float(const json& value, const OperandReader& /*reader*/) {
  return constant(real(value));
}
Operand read_bool(const json& value, const OperandReader& /*reader*/) {
  return constant(value.get<bool>());
}
Operand read_string(const json& value, const OperandReader& /*reader*/) {
  return constant(value.get<std::string>());
}

// A number that is known or computed: {"as_name": "mul"} or {"as_int": 3}.
Operand read_symbol(const json& value, const OperandReader& reader) {
  const auto [kind, of] = member_of(value);
  if (kind == "as_name") return value_at(reader.slot_of(of.get<std::string>()));
  if (kind == "as_int") return read_int(of, reader);
  if (kind == "as_float") return read_float(of, reader);
  if (kind == "as_bool") return read_bool(of, reader);
  throw std::runtime_error("a number of the kind " + kind);
}

Operand read_graph_of(const json& value, const OperandReader& reader) {
  Operand operand;
  operand.kind = Operand::Kind::kGraph;
  operand.graph = reader.graph_of(value.at("graph"));
  return operand;
}

const std::unordered_map<std::string_view, Read>& readers() {
  static const std::unordered_map<std::string_view, Read> kAll{
      {"as_none", [](const json&, const OperandReader&) { return Operand(); }},
      {"as_tensor", &read_tensor},
      {"as_tensors", &read_list<&read_tensor>},
      {"as_nested_tensors", &read_list<&read_list<&read_tensor>>},
      {"as_optional_tensor", &read_optional},
      {"as_optional_tensors", &read_list<&read_optional>},
      {"as_int", &read_int},
      {"as_ints", &read_list<&read_int>},
      {"as_int_lists", &read_list<&read_list<&read_int>>},
      {"as_float", &read_float},
      {"as_floats", &read_list<&read_float>},
      {"as_float_lists", &read_list<&read_list<&read_float>>},
      {"as_bool", &read_bool},
      {"as_bools", &read_list<&read_bool>},
      {"as_string", &read_string},
      {"as_strings", &read_list<&read_string>},
      {"as_sym_int", &read_symbol},
      {"as_sym_ints", &read_list<&read_symbol>},
      {"as_sym_float", &read_symbol},
      {"as_sym_floats", &read_list<&read_symbol>},
      {"as_sym_bool", &read_symbol},
      {"as_sym_bools", &read_list<&read_symbol>},
      {"as_scalar_type",
       [](const json& value, const OperandReader&) { return constant(scalar_type(value)); }},
      {"as_memory_format",
       [](const json& value, const OperandReader&) { return constant(memory_format(value)); }},
      {"as_layout",
       [](const json& value, const OperandReader&) { return constant(layout(value)); }},
      {"as_device",
       [](const json& value, const OperandReader&) { return constant(device(value)); }},
      {"as_complex",
       [](const json& value, const OperandReader&) {
         return constant(c10::complex<double>(real(value.at("real")), real(value.at("imag"))));
       }},
      {"as_graph", &read_graph_of},
  };
  return kAll;
}

}  // namespace

c10::ScalarType read_scalar_type(const json& number) {
  return static_cast<c10::ScalarType>(scalar_type(number));
}

std::pair<std::string, const json&> member_of(const json& tagged) {
  if (!tagged.is_object() || tagged.size() != 1)
    throw std::runtime_error("an argument without a kind");
  const auto member = tagged.begin();
  return {member.key(), member.value()};
}

Operand read_operand(const json& argument, const OperandReader& reader) {
  const auto [kind, value] = member_of(argument);
  const auto found = readers().find(kind);
  if (found == readers().end())
    throw std::runtime_error("an argument of the kind " + kind + ", which only Python has");
  return found->second(value, reader);
}

}  // namespace torchport::deploy
