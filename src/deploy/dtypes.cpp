#include <array>
#include <utility>

#include <torchport/dtype.h>

namespace torchport {

namespace {

constexpr std::array<std::pair<c10::ScalarType, std::string_view>, 16> kNames{{
    {c10::ScalarType::Float, "float32"},
    {c10::ScalarType::Double, "float64"},
    {c10::ScalarType::Half, "float16"},
    {c10::ScalarType::BFloat16, "bfloat16"},
    {c10::ScalarType::Long, "int64"},
    {c10::ScalarType::Int, "int32"},
    {c10::ScalarType::Short, "int16"},
    {c10::ScalarType::Char, "int8"},
    {c10::ScalarType::Byte, "uint8"},
    {c10::ScalarType::UInt16, "uint16"},
    {c10::ScalarType::UInt32, "uint32"},
    {c10::ScalarType::UInt64, "uint64"},
    {c10::ScalarType::Bool, "bool"},
    {c10::ScalarType::ComplexFloat, "complex64"},
    {c10::ScalarType::ComplexDouble, "complex128"},
    {c10::ScalarType::Float8_e4m3fn, "float8_e4m3fn"},
}};

}  // namespace

std::string dtype_name(c10::ScalarType dtype) {
  for (const auto& [type, name] : kNames) {
    if (type == dtype) return std::string(name);
  }
  return c10::toString(dtype);
}

std::optional<c10::ScalarType> dtype_named(std::string_view name) {
  for (const auto& [type, known] : kNames) {
    if (known == name) return type;
  }
  return std::nullopt;
}

}  // namespace torchport
