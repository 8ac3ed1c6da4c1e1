// Logic, shifts, fields of bits, comparisons, selections, and the video instructions.
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cuda/ptx/emit.h"

namespace torchport::cuda::ptx {

namespace {

std::string logic(Reading& r, char op) {
  const std::string type = r.take_type();
  r.need(3, 3);
  if (type == "pred")
    return fmt::format("{} = {} {} {};", r.target(0), r.predicate(1), op, r.predicate(2));
  return call(
      "set_bits", {},
      {r.target(0), fmt::format("static_cast<{0}Raw<{1}>>({2}) {3} static_cast<{0}Raw<{1}>>({4})",
                                kPtx, bits_of(type), r.source(1, type), op, r.source(2, type))});
}
std::string logic_and(Reading& r) {
  return logic(r, '&');
}
std::string logic_or(Reading& r) {
  return logic(r, '|');
}
std::string logic_xor(Reading& r) {
  return logic(r, '^');
}
std::string logic_not(Reading& r) {
  const std::string type = r.take_type();
  r.need(2, 2);
  if (type == "pred") return fmt::format("{} = !{};", r.target(0), r.predicate(1));
  return call("set_bits", {},
              {r.target(0), fmt::format("static_cast<{0}Raw<{1}>>(~static_cast<{0}Raw<{1}>>({2}))",
                                        kPtx, bits_of(type), r.source(1, type))});
}
std::string cnot(Reading& r) {
  const std::string type = r.take_type();
  r.need(2, 2);
  return call("set_bits", {},
              {r.target(0), fmt::format("static_cast<{}Raw<{}>>({}) == 0 ? 1u : 0u", kPtx,
                                        bits_of(type), r.source(1, type))});
}

std::string typed(Reading& r, std::string_view name, std::size_t operands, std::string more = {}) {
  const std::string type = r.take_type();
  r.need(operands, operands);
  std::vector<std::string> arguments{r.target(0)};
  for (std::size_t i = 1; i < operands; ++i) arguments.push_back(r.source(i, type));
  arguments.push_back(std::move(more));
  return call(name, {tag(type)}, arguments);
}
std::string shl(Reading& r) {
  return typed(r, "shl", 3);
}
std::string shr(Reading& r) {
  return typed(r, "shr", 3);
}
std::string clz(Reading& r) {
  return typed(r, "clz", 2);
}
std::string popc(Reading& r) {
  return typed(r, "popc", 2);
}
std::string brev(Reading& r) {
  return typed(r, "brev", 2);
}
std::string bfe(Reading& r) {
  return typed(r, "bfe", 4);
}
std::string bfi(Reading& r) {
  return typed(r, "bfi", 5);
}
std::string bfind(Reading& r) {
  const bool amount = r.take("shiftamt");
  return typed(r, "bfind", 2, amount ? "true" : "false");
}
std::string szext(Reading& r) {
  const bool wrap = r.take_one({"clamp", "wrap"}) == "wrap";
  return typed(r, "szext", 3, wrap ? "true" : "false");
}
std::string bmsk(Reading& r) {
  const bool wrap = r.take_one({"clamp", "wrap"}) == "wrap";
  (void)r.take_type();
  r.need(3, 3);
  return call("bmsk", {}, {r.target(0), r.source(1), r.source(2), wrap ? "true" : "false"});
}
std::string lop3(Reading& r) {
  (void)r.take_type();
  r.need(5, 5);
  return call("lop3", {},
              {r.target(0), r.source(1), r.source(2), r.source(3),
               fmt::format("static_cast<unsigned>({})", r.source(4))});
}
std::string prmt(Reading& r) {
  (void)r.take_type();
  const std::string mode = r.take_one({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  r.need(4, 4);
  return call("prmt", {},
              {r.target(0), r.source(1), r.source(2), r.source(3),
               fmt::format("{}Permute::{}", kPtx, mode.empty() ? "kBytes" : mode)});
}
std::string shf(Reading& r) {
  const bool left = r.take_one({"l", "r"}) == "l";
  const bool wrap = r.take_one({"clamp", "wrap"}) == "wrap";
  (void)r.take_type();
  r.need(4, 4);
  return call("shf", {},
              {r.target(0), r.source(1), r.source(2), r.source(3), left ? "true" : "false",
               wrap ? "true" : "false"});
}
std::string dp4a(Reading& r) {
  const std::string a = r.take_type();
  const std::string b = r.take_type();
  r.need(4, 4);
  return call("dp4a", {tag(a), tag(b)}, {r.target(0), r.source(1), r.source(2), r.source(3)});
}
std::string dp2a(Reading& r) {
  const bool high = r.take_one({"lo", "hi"}) == "hi";
  const std::string a = r.take_type();
  const std::string b = r.take_type();
  r.need(4, 4);
  return call("dp2a", {tag(a), tag(b)},
              {r.target(0), r.source(1), r.source(2), r.source(3), high ? "true" : "false"});
}

// The comparison of a modifier; unsigned integers have names of their own.
std::string comparison(Reading& r) {
  std::string how = r.take_one({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ",
                                "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
  if (how == "lo") how = "lt";
  if (how == "ls") how = "le";
  if (how == "hi") how = "gt";
  if (how == "hs") how = "ge";
  if (how.empty()) r.refuse("has no comparison");
  return fmt::format("{}Compare::{}", kPtx, how);
}

// setp.CMP{.BOOL}.type p{|q}, a, b{, c}
std::string setp(Reading& r) {
  const std::string how = comparison(r);
  const std::string with = r.take_one({"and", "or", "xor"});
  const bool flush = r.take("ftz");
  const std::string type = r.take_type();
  r.need(with.empty() ? 3 : 4, with.empty() ? 3 : 4);
  if (!r.error().empty()) return {};
  if (type == "f16x2" || type == "bf16x2" || type == "pred") return r.refuse(), "";
  const std::string is = fmt::format("{0}compare<{1}>({2}, {3}, {4}, {5})", kPtx, tag(type), how,
                                     r.source(1, type), r.source(2, type), flush);
  const auto combined = [&](const std::string& value) {
    if (with.empty()) return value;
    return fmt::format("({}) {} {}", value,
                       with == "and"  ? "&"
                       : with == "or" ? "|"
                                      : "^",
                       r.predicate(3));
  };
  const Operand& target = r.item().operands[0];
  if (target.kind != OperandKind::kPair) return fmt::format("{} = {};", r.target(0), combined(is));
  return fmt::format(
      "{{ const bool torchport_is = {}; const bool torchport_yes = {}, torchport_no = {}; {} = "
      "torchport_yes; {} = torchport_no; }}",
      is, combined("torchport_is"), combined("!torchport_is"), r.target(target.parts[0]),
      r.target(target.parts[1]));
}

std::string set(Reading& r) {
  const std::string how = comparison(r);
  const std::string with = r.take_one({"and", "or", "xor"});
  const bool flush = r.take("ftz");
  const std::string to = r.take_type();
  const std::string type = r.take_type();
  r.need(with.empty() ? 3 : 4, with.empty() ? 3 : 4);
  if (!r.error().empty()) return {};
  std::string is = fmt::format("{0}compare<{1}>({2}, {3}, {4}, {5})", kPtx, tag(type), how,
                               r.source(1, type), r.source(2, type), flush);
  if (!with.empty())
    is = fmt::format("({}) {} {}", is,
                     with == "and"  ? "&"
                     : with == "or" ? "|"
                                    : "^",
                     r.predicate(3));
  return call("set_flag", {tag(to)}, {r.target(0), is});
}

std::string selp(Reading& r) {
  const std::string type = r.take_type();
  r.need(4, 4);
  return call("select", {tag(type)},
              {r.target(0), r.source(1, type), r.source(2, type), r.predicate(3)});
}
std::string slct(Reading& r) {
  const bool flush = r.take("ftz");
  const std::string type = r.take_type();
  const std::string by = r.take_type();
  r.need(4, 4);
  return call("select", {tag(type)},
              {r.target(0), r.source(1, type), r.source(2, type),
               fmt::format("{0}compare<{1}>({0}Compare::ge, {2}, 0u, {3})", kPtx, tag(by),
                           r.source(3, by), flush)});
}

// ---- Video ----
std::string video_name(std::string_view op) {
  if (op == "vadd") return "kAdd";
  if (op == "vsub") return "kSub";
  if (op == "vabsdiff") return "kAbsDiff";
  if (op == "vmin") return "kMin";
  if (op == "vmax") return "kMax";
  if (op == "vavrg") return "kAverage";
  if (op == "vshl") return "kShl";
  return "kShr";
}
std::string vscalar(Reading& r) {
  const std::string d = r.take_type();
  const std::string a = r.take_type();
  const std::string b = r.take_type();
  const bool clamp = r.take_one({"clamp", "wrap"}) == "clamp";
  const bool saturate = r.take("sat");
  const std::string second = r.take_one({"add", "min", "max"});
  r.need(second.empty() ? 3 : 4, second.empty() ? 3 : 4);
  if (b.empty()) r.refuse("needs three types");
  return call("vscalar", {tag(d), tag(a), tag(b)},
              {r.target(0), r.source(1), r.source(2), second.empty() ? "0u" : r.source(3),
               fmt::format("{}Video::{}", kPtx, video_name(r.item().words[0])),
               saturate ? "true" : "false", clamp ? "true" : "false",
               fmt::format("{}Second::{}", kPtx,
                           second == "add"   ? "kAdd"
                           : second == "min" ? "kMin"
                           : second == "max" ? "kMax"
                                             : "kNone")});
}
// vadd4.u32.u32.u32{.sat}{.add} and so on, on all elements.
std::string vparts(Reading& r) {
  const std::string& name = r.item().words[0];
  const unsigned bits = name.ends_with('4') ? 8 : 16;
  const bool compares = name.starts_with("vset");
  std::string how;
  const std::string d = r.take_type();
  const std::string a = r.take_type();
  const std::string b = r.take_type();
  if (compares) how = comparison(r);
  const bool saturate = r.take("sat");
  const bool sum = r.take("add");
  r.need(4, 4);
  const auto flag = [](bool is) { return std::string(is ? "true" : "false"); };
  if (compares) {
    return call("vset", {std::to_string(bits), flag(is_signed(a)), flag(is_signed(b))},
                {r.target(0), r.source(1), r.source(2), r.source(3), how, flag(sum)});
  }
  return call("vparts",
              {std::to_string(bits), flag(is_signed(d)), flag(is_signed(a)), flag(is_signed(b))},
              {r.target(0), r.source(1), r.source(2), r.source(3),
               fmt::format("{}Video::{}", kPtx, video_name(name.substr(0, name.size() - 1))),
               flag(saturate), flag(sum)});
}

}  // namespace

const std::vector<Family>& bits_family() {
  static const std::vector<Family> kFamily{
      {"and", logic_and},    {"or", logic_or},   {"xor", logic_xor},    {"not", logic_not},
      {"cnot", cnot},        {"shl", shl},       {"shr", shr},          {"clz", clz},
      {"popc", popc},        {"brev", brev},     {"bfe", bfe},          {"bfi", bfi},
      {"bfind", bfind},      {"szext", szext},   {"bmsk", bmsk},        {"lop3", lop3},
      {"prmt", prmt},        {"shf", shf},       {"dp4a", dp4a},        {"dp2a", dp2a},
      {"setp", setp},        {"set", set},       {"selp", selp},        {"slct", slct},
      {"vadd", vscalar},     {"vsub", vscalar},  {"vabsdiff", vscalar}, {"vmin", vscalar},
      {"vmax", vscalar},     {"vshl", vscalar},  {"vshr", vscalar},     {"vadd2", vparts},
      {"vadd4", vparts},     {"vsub2", vparts},  {"vsub4", vparts},     {"vabsdiff2", vparts},
      {"vabsdiff4", vparts}, {"vmin2", vparts},  {"vmin4", vparts},     {"vmax2", vparts},
      {"vmax4", vparts},     {"vavrg2", vparts}, {"vavrg4", vparts},    {"vset2", vparts},
      {"vset4", vparts},
  };
  return kFamily;
}

}  // namespace torchport::cuda::ptx
