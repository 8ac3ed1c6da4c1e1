#include "cuda/ptx/translate.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace torchport::cuda {

namespace {

AsmStatement statement(std::string text, std::vector<AsmOperand> outputs = {},
                       std::vector<AsmOperand> inputs = {}) {
  return {std::move(text), std::move(outputs), std::move(inputs)};
}

std::string translated(const AsmStatement& one) {
  const auto result = translate_asm(one);
  REQUIRE_MESSAGE(result.has_value(), (result ? "" : result.error().message));
  CHECK(result->find('\n') == std::string::npos);
  return *result;
}

std::string refused(const AsmStatement& one) {
  const auto result = translate_asm(one);
  REQUIRE_FALSE(result.has_value());
  return result.error().message;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("operands are read before and written after the instructions") {
  const std::string code = translated(
      statement("add.u32 %0, %1, %2;", {{"", "=r", "d[i]"}}, {{"", "r", "a"}, {"", "n", "4"}}));
  CHECK(has(code, "auto&& torchport_to_0 = (d[i]); ::torchport::ptx::Raw<32> torchport_0 = 0;"));
  CHECK(has(code, "const ::torchport::ptx::Raw<32> torchport_1 = ::torchport::ptx::in<32>(a);"));
  CHECK(has(code, "const ::torchport::ptx::Raw<64> torchport_2 = ::torchport::ptx::in<64>(4);"));
  CHECK(
      has(code,
          "::torchport::ptx::add<::torchport::ptx::u32, ::torchport::Round::kNearest>(torchport_0, "
          "torchport_1, torchport_2);"));
  CHECK(has(code, "::torchport::ptx::out(torchport_to_0, torchport_0);"));
}

TEST_CASE("an operand that is read and written keeps its value") {
  const std::string code =
      translated(statement("add.f32 %0, %0, %1;", {{"", "+f", "x"}}, {{"", "f", "y"}}));
  CHECK(has(code, "torchport_0 = ::torchport::ptx::in<32>(torchport_to_0);"));
}

TEST_CASE("sums of two integers of 16 bits") {
  const auto sum = [](const std::string& text) {
    return translated(statement(text, {{"", "=r", "d"}}, {{"", "r", "a"}, {"", "r", "b"}}));
  };
  const std::string_view plain = "(torchport_0, torchport_1, torchport_2);";
  CHECK(has(sum("add.u16x2 %0, %1, %2;"), fmt::format("sum_pair<false, false>{}", plain)));
  CHECK(has(sum("add.s16x2 %0, %1, %2;"), fmt::format("sum_pair<true, false>{}", plain)));
  CHECK(has(sum("sub.s16x2 %0, %1, %2;"), fmt::format("sum_pair<true, true>{}", plain)));
  CHECK(has(sum("add.sat.u16x2 %0, %1, %2;"), "After{false, true, false, false, false}"));
}

TEST_CASE("operands have names, and numbers of others") {
  CHECK(has(
      translated(statement("mov.b32 %[to], %[from];", {{"to", "=r", "x"}}, {{"from", "r", "y"}})),
      "static_cast<::torchport::ptx::Raw<32>>(torchport_1)"));
  CHECK(has(translated(statement("add.u32 %0, %0, 1;", {{"", "=r", "x"}}, {{"", "0", "y"}})),
            "torchport_0 = ::torchport::ptx::in<32>(y);"));
}

TEST_CASE("registers belong to their braces, guards to their instruction") {
  const std::string code = translated(statement(
      "{ .reg .pred p, q; .reg .b32 t<2>;\n setp.ne.and.b32 p|q, %1, 0, !q;\n @!p bra DONE; "
      "@p mov.u32 t1, 7; mov.b32 %0, t1; DONE: }",
      {{"", "=r", "x"}}, {{"", "r", "y"}}));
  CHECK(has(code, "bool torchport_r_p = false;"));
  CHECK(has(code, "torchport_r_t1 = 0;"));
  CHECK(has(code, "if (!torchport_r_p) { goto torchport_l_DONE; }"));
  CHECK(has(code, "if (torchport_r_p) { "));
  // Labels are those of one function.
  CHECK(code.starts_with("[&]() {"));
  CHECK(code.ends_with("}()"));
}

TEST_CASE("vectors, addresses, caches and hints") {
  const std::string code = translated(
      statement("ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%0, _, %1, _}, [%2 + 16];",
                {{"", "=f", "a"}, {"", "=f", "b"}}, {{"", "l", "p"}}));
  CHECK(
      has(code,
          "at<::torchport::ptx::Space::kGeneric>(torchport_2, 0 + static_cast<long long>(16ull))"));
  CHECK(has(code, "(torchport_0, torchport_from + 0)"));
  CHECK(has(code, "(torchport_1, torchport_from + 8)"));
  CHECK(has(translated(statement("st.shared.v2.u32 [%0], {%1, 0f3f800000};", {},
                                 {{"", "r", "p"}, {"", "r", "v"}})),
            "(torchport_to + 4, 0x3f800000u)"));
  CHECK(has(translated(statement("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;", {},
                                 {{"", "r", "to"}, {"", "l", "from"}, {"", "l", "policy"}})),
            "cp_async("));
}

TEST_CASE("constants of floats depend on the type") {
  const AsmStatement one = statement("mul.f32 %0, %1, 0.5;", {{"", "=f", "x"}}, {{"", "f", "y"}});
  CHECK(has(translated(one), "0x3f000000u"));
  const AsmStatement two = statement("mul.f64 %0, %1, -1e-3;", {{"", "=d", "x"}}, {{"", "d", "y"}});
  CHECK(has(translated(two), "0xbf50624dd2f1a9fcull"));
}

TEST_CASE("constants that the compiler knows have operators") {
  const auto has_lookup = [](const char* constant, const char* code) {
    const std::string text = fmt::format("lop3.b32 %0, %1, %1, %1, {};", constant);
    return has(translated(statement(text, {{"", "=r", "x"}}, {{"", "r", "y"}})), code);
  };
  CHECK(has_lookup("0xF0 & ~0xCC", "(0xF0ull& ~0xCCull)"));
  CHECK(has_lookup("(0xF0 & 0xCC) | 0xAA", "((0xF0ull&0xCCull)|0xAAull)"));
  CHECK(has_lookup("1 << (3 - -1)", "(1ull<<(3ull - -1ull))"));
  CHECK(has(refused(statement("mov.u32 %0, (1 + 2;", {{"", "=r", "x"}})), "PTX has `)`"));
  CHECK(has(refused(statement("mov.u32 %0, 1 2;", {{"", "=r", "x"}})), "after the operands"));
}

TEST_CASE("special registers, of statements with and without operands") {
  CHECK(has(translated(statement("mov.u32 %0, %%lanemask_lt;", {{"", "=r", "m"}})),
            "::torchport::ptx::lanemask_lt()"));
  CHECK(has(translated(statement("{ .reg .u32 t; mov.u32 t, %laneid; }")),
            "::torchport::ptx::laneid()"));
  CHECK(has(refused(statement("mov.u32 %0, %%envreg3;", {{"", "=r", "m"}})), "%envreg3"));
}

TEST_CASE("what cannot be done is refused by name") {
  CHECK(has(refused(statement("wgmma.fence.sync.aligned;")),
            "`wgmma.fence.sync.aligned` is not available"));
  CHECK(has(refused(statement("mbarrier.nosuch.shared.b64 [%0], %1;", {},
                              {{"", "r", "p"}, {"", "r", "n"}})),
            "mbarrier.nosuch.shared.b64"));
  CHECK(has(refused(statement("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0], [%0];",
                              {}, {{"", "l", "p"}})),
            "bulk_group` is not available"));
  CHECK(has(translated(statement(
                "{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }",
                {{"", "=r", "x"}})),
            "::torchport::ptx::none()"));
  CHECK(has(refused(statement("shfl.down.b32 %0, %1, 1, 31;", {{"", "=r", "x"}}, {{"", "r", "y"}})),
            "without .sync"));
  CHECK(has(refused(statement("add.nosuch.u32 %0, %1, %1;", {{"", "=r", "x"}}, {{"", "r", "y"}})),
            "has .nosuch"));
  CHECK(
      has(refused(statement("add.u32 %0, %1;", {{"", "=r", "x"}}, {{"", "r", "y"}})), "operands"));
  CHECK(has(refused(statement("ld.global.u32 %0, %1;", {{"", "=r", "x"}}, {{"", "l", "y"}})),
            "address"));
}

TEST_CASE("text that is not PTX") {
  CHECK(has(refused(statement("add.u32 %0, %3, 1;", {{"", "=r", "x"}})), "no operand %3"));
  CHECK(has(refused(statement("mov.u32 %[nobody], 1;", {{"x", "=r", "x"}})), "[nobody]"));
  CHECK_FALSE(translate_asm(statement("{ mov.u32 %0, 1;", {{"", "=r", "x"}})).has_value());
  CHECK_FALSE(translate_asm(statement("mov.u32 %0, 1; }", {{"", "=r", "x"}})).has_value());
  CHECK_FALSE(translate_asm(statement("mov.u32 %0, ", {{"", "=r", "x"}})).has_value());
  CHECK_FALSE(translate_asm(statement("mov.u32 %", {{"", "=r", "x"}})).has_value());
  CHECK_FALSE(translate_asm(statement("mov.u32 %0 %0 %0", {{"", "=r", "x"}})).has_value());
  CHECK_FALSE(translate_asm(statement("rep movsb", {{"", "=a", "x"}})).has_value());
  // Every beginning of a long statement: refused or translated, never worse.
  const std::string text =
      "{ .reg .pred p<2>; .reg .b64 q; cvta.to.shared.u64 q, %1; setp.eq.u32 p1, %0, -0x1f; L: "
      "@!p1 ld.shared.v2.u32 "
      "{%0, _}, [q+%0]; bra L; /* x */ mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0}, "
      "{%0}, {%0}, {1e-5}; mov.u32 %0, (~3 << 1) | -0x4; }";
  for (std::size_t end = 0; end <= text.size(); ++end)
    (void)translate_asm(statement(text.substr(0, end), {{"", "+r", "x"}}, {{"", "l", "y"}}));
}

TEST_CASE("the words of a refusal are a literal") {
  CHECK(refusing_statement("no \"x\\y\"\n") ==
        "::torchport::ptx::refuse(\"no \\\"x\\\\y\\\" \", __builtin_FILE(), __builtin_LINE())");
}

}  // namespace torchport::cuda
