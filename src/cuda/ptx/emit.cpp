#include "cuda/ptx/emit.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace torchport::cuda::ptx {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 24> kTypes{{
    {"u8", "u8"},     {"u16", "u16"},     {"u32", "u32"},       {"u64", "u64"},
    {"s8", "s8"},     {"s16", "s16"},     {"s32", "s32"},       {"s64", "s64"},
    {"b8", "u8"},     {"b16", "u16"},     {"b32", "u32"},       {"b64", "u64"},
    {"b128", "b128"}, {"f16", "f16"},     {"bf16", "bf16"},     {"f32", "f32"},
    {"f64", "f64"},   {"f16x2", "f16x2"}, {"bf16x2", "bf16x2"}, {"tf32", "u32"},
    {"pred", "pred"}, {"e4m3x2", "e4m3"}, {"e5m2x2", "e5m2"},   {"s16x2", "s16x2"},
}};

// Special registers and the functions that answer for them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 52> kSpecials{{
    {"laneid", "laneid"},
    {"warpid", "warpid"},
    {"nwarpid", "nwarpid"},
    {"lanemask_eq", "lanemask_eq"},
    {"lanemask_lt", "lanemask_lt"},
    {"lanemask_le", "lanemask_le"},
    {"lanemask_gt", "lanemask_gt"},
    {"lanemask_ge", "lanemask_ge"},
    {"tid.x", "tid_x"},
    {"tid.y", "tid_y"},
    {"tid.z", "tid_z"},
    {"ntid.x", "ntid_x"},
    {"ntid.y", "ntid_y"},
    {"ntid.z", "ntid_z"},
    {"ctaid.x", "ctaid_x"},
    {"ctaid.y", "ctaid_y"},
    {"ctaid.z", "ctaid_z"},
    {"nctaid.x", "nctaid_x"},
    {"nctaid.y", "nctaid_y"},
    {"nctaid.z", "nctaid_z"},
    {"smid", "smid"},
    {"nsmid", "nsmid"},
    {"gridid", "gridid"},
    {"clock", "clock"},
    {"clock_hi", "clock_hi"},
    {"clock64", "clock64"},
    {"globaltimer", "globaltimer"},
    {"globaltimer_lo", "globaltimer_lo"},
    {"globaltimer_hi", "globaltimer_hi"},
    {"dynamic_smem_size", "dynamic_smem_size"},
    {"total_smem_size", "total_smem_size"},
    {"is_explicit_cluster", "none"},
    {"cluster_ctarank", "none"},
    {"cluster_nctarank", "one"},
    {"cluster_ctaid.x", "none"},
    {"cluster_ctaid.y", "none"},
    {"cluster_ctaid.z", "none"},
    {"cluster_nctaid.x", "one"},
    {"cluster_nctaid.y", "one"},
    {"cluster_nctaid.z", "one"},
    {"clusterid.x", "ctaid_x"},
    {"clusterid.y", "ctaid_y"},
    {"clusterid.z", "ctaid_z"},
    {"nclusterid.x", "nctaid_x"},
    {"nclusterid.y", "nctaid_y"},
    {"nclusterid.z", "nctaid_z"},
    {"pm0", "none"},
    {"pm1", "none"},
    {"pm2", "none"},
    {"pm3", "none"},
    {"aggr_smem_size", "total_smem_size"},
    {"reserved_smem_offset_begin", "none"},
}};

}  // namespace

bool is_type(std::string_view word) {
  return std::any_of(kTypes.begin(), kTypes.end(),
                     [&](const auto& one) { return one.first == word; });
}
std::string tag(std::string_view type) {
  for (const auto& [word, name] : kTypes)
    if (word == type) return fmt::format("{}{}", kPtx, name);
  return fmt::format("{}u32", kPtx);
}
bool is_float(std::string_view type) {
  return type.find('f') != std::string_view::npos;
}
bool is_signed(std::string_view type) {
  return type.starts_with('s');
}
unsigned bits_of(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, unsigned>, 6> kEnds{
      {{"128", 128}, {"64", 64}, {"x2", 32}, {"32", 32}, {"16", 16}, {"8", 8}}};
  for (const auto& [digits, bits] : kEnds)
    if (type.ends_with(digits)) return bits;
  return 32;
}

bool Reading::take(std::string_view modifier) {
  const auto found = std::find(left_.begin(), left_.end(), modifier);
  if (found == left_.end()) return false;
  left_.erase(found);
  return true;
}

std::string Reading::take_one(std::initializer_list<std::string_view> modifiers) {
  for (const auto& word : left_)
    if (std::find(modifiers.begin(), modifiers.end(), word) != modifiers.end()) {
      std::string found = word;
      (void)take(found);
      return found;
    }
  return {};
}

void Reading::take_all(std::initializer_list<std::string_view> modifiers) {
  for (const std::string_view one : modifiers) (void)take(one);
}

void Reading::take_prefix(std::string_view prefix) {
  std::erase_if(left_, [&](const std::string& word) { return word.starts_with(prefix); });
}

std::string Reading::take_type() {
  const auto found = std::find_if(left_.begin(), left_.end(),
                                  [](const std::string& word) { return is_type(word); });
  if (found == left_.end()) return {};
  std::string type = *found;
  left_.erase(found);
  return type;
}

std::string Reading::take_rounding() {
  const std::string found = take_one({"rn", "rz", "rp", "rm", "rni", "rzi", "rpi", "rmi"});
  std::string_view name = "kNearest";
  if (found.starts_with("rz")) name = "kZero";
  if (found.starts_with("rp")) name = "kUp";
  if (found.starts_with("rm")) name = "kDown";
  return fmt::format("::torchport::Round::{}", name);
}

std::string Reading::take_after() {
  const bool flush = take("ftz");
  const bool saturate = take("sat");
  const bool relu = take("relu");
  const bool nan = take("NaN");
  const bool sign = take("xorsign");
  if (sign) (void)take("abs");
  (void)take("noftz");
  if (!flush && !saturate && !relu && !nan && !sign) return {};
  return fmt::format("{}After{{{}, {}, {}, {}, {}}}", kPtx, flush, saturate, relu, nan, sign);
}

std::string Reading::source(std::size_t i, std::string_view type) {
  if (i >= count()) {
    refuse("has too few operands");
    return "0u";
  }
  return source(item_.operands[i], type);
}

std::string Reading::source(const Operand& operand, std::string_view type) {
  switch (operand.kind) {
    case OperandKind::kRegister:
      return operand.negated ? fmt::format("!{}", operand.text) : operand.text;
    case OperandKind::kInteger:
      return operand.text;
    case OperandKind::kFloat: {
      const double value = std::strtod(operand.text.c_str(), nullptr);
      if (type == "f64") return fmt::format("0x{:x}ull", std::bit_cast<std::uint64_t>(value));
      return fmt::format("0x{:x}u", std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    }
    case OperandKind::kSpecial:
      for (const auto& [name, function] : kSpecials)
        if (name == operand.text) return fmt::format("{}{}()", kPtx, function);
      refuse(fmt::format("reads %{}, which virtual devices do not have", operand.text));
      return "0u";
    case OperandKind::kVector: {
      // Packed: the first part is the lowest.
      const auto parts = static_cast<unsigned>(operand.parts.size());
      const unsigned each = parts == 0 ? 0 : bits_of(type) / parts;
      std::string result;
      for (unsigned k = 0; k < parts; ++k) {
        if (k > 0) result += " | ";
        result += fmt::format(
            "static_cast<{0}Raw<{1}>>(static_cast<{0}Raw<{1}>>(static_cast<{0}Raw<{2}>>({3})) << "
            "{4})",
            kPtx, bits_of(type), each, source(operand.parts[k]), k * each);
      }
      return fmt::format("({})", result);
    }
    default:
      break;
  }
  refuse("has an operand that is no value");
  return "0u";
}

std::string Reading::target(std::size_t i) {
  if (i >= count()) {
    refuse("has too few operands");
    return "torchport_none";
  }
  return target(item_.operands[i]);
}

std::string Reading::target(const Operand& operand) {
  if (operand.kind == OperandKind::kRegister && !operand.negated) return operand.text;
  if (operand.kind == OperandKind::kSink) return "torchport_none";
  refuse("has a result that is no register");
  return "torchport_none";
}

std::string Reading::predicate(std::size_t i) {
  if (i >= count()) {
    refuse("has too few operands");
    return "false";
  }
  return predicate(item_.operands[i]);
}

std::string Reading::predicate(const Operand& operand) {
  if (operand.kind == OperandKind::kRegister || operand.kind == OperandKind::kInteger)
    return fmt::format("({}static_cast<bool>({}))", operand.negated ? "!" : "", operand.text);
  if (operand.kind == OperandKind::kSpecial)
    return fmt::format("({}static_cast<bool>({}))", operand.negated ? "!" : "", source(operand));
  refuse("has an operand that is no predicate");
  return "false";
}

std::string Reading::address(std::size_t i, bool shared) {
  if (i >= count() || item_.operands[i].kind != OperandKind::kAddress ||
      item_.operands[i].parts.size() != 1) {
    refuse("has no address in brackets where it needs one");
    return "nullptr";
  }
  const Operand& address = item_.operands[i];
  return fmt::format("{0}at<{0}Space::{1}>({2}, {3})", kPtx, shared ? "kShared" : "kGeneric",
                     source(address.parts[0], "b64"), address.text);
}

void Reading::need(std::size_t least, std::size_t most) {
  if (count() < least || count() > most) refuse(fmt::format("has {} operands", count()));
}

void Reading::refuse(std::string why) {
  if (!error_.empty()) return;
  error_ = why.empty() ? fmt::format("the PTX instruction `{}` is not available on virtual devices",
                                     item_.opcode)
                       : fmt::format("the PTX instruction `{}` {}", item_.opcode, why);
}

std::string site(const Reading& reading) {
  return fmt::format("::torchport::cuda::Site{{\"{}\", __builtin_FILE(), __builtin_LINE()}}",
                     reading.item().opcode);
}

std::string call(std::string_view function, const std::vector<std::string>& types,
                 const std::vector<std::string>& arguments) {
  std::string result = fmt::format("{}{}", kPtx, function);
  const auto join = [&](const std::vector<std::string>& words) {
    bool first = true;
    for (const std::string& word : words) {
      if (word.empty()) continue;
      if (!first) result += ", ";
      result += word;
      first = false;
    }
  };
  if (!types.empty()) {
    result += '<';
    join(types);
    result += '>';
  }
  result += '(';
  join(arguments);
  result += ");";
  return result;
}

}  // namespace torchport::cuda::ptx
