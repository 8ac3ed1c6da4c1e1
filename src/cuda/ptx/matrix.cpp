// ldmatrix, stmatrix, movmatrix, mma.sync.
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cuda/ptx/emit.h"

namespace torchport::cuda::ptx {

namespace {

// ldmatrix.sync.aligned.m8n8.x4{.trans}.shared.b16 {r0, r1, r2, r3}, [p]
std::string moved(Reading& r, bool load) {
  (void)r.take("sync");
  (void)r.take("aligned");
  if (!r.take("m8n8")) return r.refuse(), "";
  (void)r.take_one({"x1", "x2", "x4"});
  const bool transposed = r.take("trans");
  r.take_all({"shared", "shared::cta", "b16"});
  r.need(2, 2);
  if (!r.error().empty()) return {};
  const Operand& words = r.item().operands[load ? 0 : 1];
  const std::vector<Operand> parts =
      words.kind == OperandKind::kVector ? words.parts : std::vector<Operand>{words};
  const std::string row = r.address(load ? 1 : 0, true);
  std::string result = fmt::format("{{ unsigned torchport_words[{}] = {{", parts.size());
  if (!load) {
    for (const Operand& part : parts)
      result += fmt::format("static_cast<unsigned>({}), ", r.source(part));
    return result + "}; " +
           call("stmatrix", {}, {row, "torchport_words", transposed ? "true" : "false", site(r)}) +
           " }";
  }
  result += "}; " +
            call("ldmatrix", {}, {"torchport_words", row, transposed ? "true" : "false", site(r)});
  for (std::size_t k = 0; k < parts.size(); ++k)
    result +=
        " " + call("set_bits", {}, {r.target(parts[k]), fmt::format("torchport_words[{}]", k)});
  return result + " }";
}
std::string ldmatrix(Reading& r) {
  return moved(r, true);
}
std::string stmatrix(Reading& r) {
  return moved(r, false);
}

std::string movmatrix(Reading& r) {
  r.take_all({"sync", "aligned", "m8n8", "trans", "b16"});
  r.need(2, 2);
  return call("movmatrix", {}, {r.target(0), r.source(1), site(r)});
}

// mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 d, a, b, c
std::string mma(Reading& r) {
  if (!r.take("sync") || !r.take("aligned")) return r.refuse(), "";
  const std::string shape =
      r.take_one({"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32", "m8n8k4", "m8n8k16"});
  const bool usual = r.take("row") && r.take("col");
  const bool saturates = r.take("satfinite");
  std::string types[4];
  for (std::string& type : types) {
    type = r.take_one({"f16", "bf16", "tf32", "f32", "f64", "s8", "u8", "s32", "e4m3", "e5m2"});
    if (type.empty()) return r.refuse(), "";
  }
  r.need(4, 4);
  if (!usual || shape.empty() || !r.error().empty()) return r.refuse(), "";
  const auto element = [](const std::string& type) {
    return fmt::format("{}{}", kPtx,
                       type == "tf32" ? "tf32"
                       : type == "s8" || type == "u8" || type == "e4m3" || type == "e5m2" ||
                               type == "f16" || type == "bf16" || type == "f64"
                           ? type
                           : "f32");
  };
  const bool whole = types[0] == "s32";
  if (types[0] != types[3] || (types[0] == "f64") != (types[1] == "f64")) return r.refuse(), "";
  const auto at = shape.find('n'), k = shape.find('k');
  const std::string m = shape.substr(1, at - 1), n = shape.substr(at + 1, k - at - 1),
                    depth = shape.substr(k + 1);
  const char* const width = types[0] == "f64" ? "unsigned long long" : "unsigned";
  std::string result = "{ ";
  const char* const names[] = {"torchport_d", "torchport_a", "torchport_b", "torchport_c"};
  for (std::size_t i = 0; i < 4; ++i) {
    const Operand& one = r.item().operands[i];
    const std::vector<Operand> parts =
        one.kind == OperandKind::kVector ? one.parts : std::vector<Operand>{one};
    result += fmt::format("{} {}[{}] = {{", width, names[i], parts.size());
    if (i > 0)
      for (const Operand& part : parts)
        result += fmt::format("static_cast<{}>({}), ", width,
                              r.source(part, types[0] == "f64" ? "f64" : "b32"));
    result += "}; ";
  }
  const std::string sum = whole ? fmt::format("{}s32", kPtx) : element(types[0]);
  result += call("mma", {m, n, depth, element(types[1]), element(types[2]), sum},
                 {"torchport_d", "torchport_a", "torchport_b", "torchport_c",
                  saturates ? "true" : "false", site(r)});
  const Operand& to = r.item().operands[0];
  const std::vector<Operand> parts =
      to.kind == OperandKind::kVector ? to.parts : std::vector<Operand>{to};
  for (std::size_t i = 0; i < parts.size(); ++i)
    result += " " + call("set_bits", {}, {r.target(parts[i]), fmt::format("torchport_d[{}]", i)});
  return result + " }";
}

}  // namespace

const std::vector<Family>& matrix_family() {
  static const std::vector<Family> kFamily{
      {"ldmatrix", ldmatrix}, {"stmatrix", stmatrix}, {"movmatrix", movmatrix}, {"mma", mma}};
  return kFamily;
}

}  // namespace torchport::cuda::ptx
