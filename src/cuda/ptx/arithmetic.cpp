// add, sub, mul, mad, fma, div, rem, min, max, abs, neg, functions of one float, and sums with a
// carry.
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cuda/ptx/emit.h"

namespace torchport::cuda::ptx {

namespace {

// Saturating sums of 32 and of twice 16 bits are the only integer ones with a modifier.
std::string sum(Reading& r, std::string_view name) {
  const bool pair = r.take("u16x2");
  if (pair || r.take("s16x2")) {
    r.need(3, 3);
    return call("sum_pair", {pair ? "false" : "true", name == "sub" ? "true" : "false"},
                {r.target(0), r.source(1), r.source(2), r.take_after()});
  }
  const bool carries = r.take("cc");
  const std::string type = r.take_type();
  if (type.empty() || type == "pred") return r.refuse(), "";
  r.need(3, 3);
  if (carries) {
    return call(
        fmt::format("{}_carry", name), {tag(type)},
        {r.target(0), r.source(1, type), r.source(2, type), "false", "torchport_carry", "true"});
  }
  const std::string rounding = r.take_rounding();
  return call(name, {tag(type), rounding},
              {r.target(0), r.source(1, type), r.source(2, type), r.take_after()});
}
std::string add(Reading& r) {
  return sum(r, "add");
}
std::string sub(Reading& r) {
  return sum(r, "sub");
}

std::string with_carry(Reading& r, std::string_view name) {
  const bool keeps = r.take("cc");
  const std::string type = r.take_type();
  r.need(3, 3);
  return call(name, {tag(type)},
              {r.target(0), r.source(1, type), r.source(2, type), "torchport_carry",
               "torchport_carry", keeps ? "true" : "false"});
}
std::string addc(Reading& r) {
  return with_carry(r, "add_carry");
}
std::string subc(Reading& r) {
  return with_carry(r, "sub_carry");
}

std::string mul(Reading& r) {
  const std::string part = r.take_one({"lo", "hi", "wide"});
  const std::string rounding = r.take_rounding();
  const std::string after = r.take_after();
  const std::string type = r.take_type();
  r.need(3, 3);
  if (is_float(type))
    return call("mul", {tag(type), rounding},
                {r.target(0), r.source(1, type), r.source(2, type), after});
  if (part.empty()) return r.refuse("needs .lo, .hi or .wide"), "";
  return call(fmt::format("mul_{}", part), {tag(type)},
              {r.target(0), r.source(1, type), r.source(2, type)});
}

std::string mad(Reading& r) {
  const std::string part = r.take_one({"lo", "hi", "wide"});
  const bool carries = r.take("cc");
  const std::string rounding = r.take_rounding();
  const bool saturates = !part.empty() && r.take("sat");
  const std::string after = r.take_after();
  const std::string type = r.take_type();
  r.need(4, 4);
  const std::string d = r.target(0);
  const std::string a = r.source(1, type);
  const std::string b = r.source(2, type);
  if (is_float(type))
    return call("fma", {tag(type), rounding}, {d, a, b, r.source(3, type), after});
  if (part.empty()) return r.refuse("needs .lo, .hi or .wide"), "";
  if (carries && part != "wide") {
    return call("mad_carry", {tag(type)},
                {d, a, b, r.source(3, type), part == "hi" ? "true" : "false", "false",
                 "torchport_carry", "true"});
  }
  return call(fmt::format("mad_{}", part), {tag(type)},
              {d, a, b, r.source(3, type), part == "hi" && saturates ? "true" : ""});
}
std::string madc(Reading& r) {
  const std::string part = r.take_one({"lo", "hi"});
  const bool keeps = r.take("cc");
  const std::string type = r.take_type();
  r.need(4, 4);
  return call("mad_carry", {tag(type)},
              {r.target(0), r.source(1, type), r.source(2, type), r.source(3, type),
               part == "hi" ? "true" : "false", "torchport_carry", "torchport_carry",
               keeps ? "true" : "false"});
}

std::string fma(Reading& r) {
  const std::string rounding = r.take_rounding();
  const std::string after = r.take_after();
  const std::string type = r.take_type();
  r.need(4, 4);
  if (!is_float(type)) return r.refuse(), "";
  return call("fma", {tag(type), rounding},
              {r.target(0), r.source(1, type), r.source(2, type), r.source(3, type), after});
}

std::string mul24(Reading& r) {
  const std::string part = r.take_one({"lo", "hi"});
  const std::string type = r.take_type();
  r.need(3, 3);
  return call("mul24", {tag(type)},
              {r.target(0), r.source(1, type), r.source(2, type), part == "hi" ? "true" : "false"});
}

std::string div(Reading& r) {
  const bool approximate = r.take("approx") || r.take("full");
  const std::string rounding = r.take_rounding();
  const std::string after = r.take_after();
  const std::string type = r.take_type();
  r.need(3, 3);
  if (!is_float(type))
    return call("div", {tag(type)}, {r.target(0), r.source(1, type), r.source(2, type)});
  if (approximate)
    return call("div_approx", {}, {r.target(0), r.source(1, type), r.source(2, type), after});
  return call("div_rounded", {tag(type), rounding},
              {r.target(0), r.source(1, type), r.source(2, type), after});
}
std::string rem(Reading& r) {
  const std::string type = r.take_type();
  r.need(3, 3);
  return call("rem", {tag(type)}, {r.target(0), r.source(1, type), r.source(2, type)});
}
std::string sad(Reading& r) {
  const std::string type = r.take_type();
  r.need(4, 4);
  return call("sad", {tag(type)},
              {r.target(0), r.source(1, type), r.source(2, type), r.source(3, type)});
}

std::string choose(Reading& r, std::string_view largest) {
  const bool pair = r.take("u16x2");
  const std::string after = r.take_after();
  const std::string type = pair ? "u16x2" : r.take_type();
  if (type == "s16x2" || pair) {
    r.need(3, 3);
    return call("choose_pair", {pair ? "false" : "true"},
                {r.target(0), r.source(1), r.source(2), std::string(largest), after});
  }
  r.need(3, 4);
  std::string first =
      call("choose", {tag(type)},
           {r.target(0), r.source(1, type), r.source(2, type), std::string(largest), after});
  if (r.count() < 4) return first;
  return first + " " +
         call("choose", {tag(type)},
              {r.target(0), r.target(0), r.source(3, type), std::string(largest), after});
}
std::string min(Reading& r) {
  return choose(r, "false");
}
std::string max(Reading& r) {
  return choose(r, "true");
}

std::string one_operand(Reading& r, std::string_view name) {
  const std::string after = r.take_after();
  const std::string type = r.take_type();
  r.need(2, 2);
  return call(name, {tag(type)}, {r.target(0), r.source(1, type), after});
}
std::string abs(Reading& r) {
  return one_operand(r, "abs");
}
std::string neg(Reading& r) {
  return one_operand(r, "neg");
}

std::string copysign(Reading& r) {
  const std::string type = r.take_type();
  r.need(3, 3);
  return call("copysign", {tag(type)}, {r.target(0), r.source(1, type), r.source(2, type)});
}

// approx, or rounded in a direction if the instruction can.
std::string function(Reading& r, std::string_view approximation, std::string_view rounded) {
  const bool approximate = r.take("approx");
  const std::string rounding = r.take_rounding();
  const std::string after = r.take_after();
  const std::string type = r.take_type();
  r.need(2, 2);
  if (!approximate && !rounded.empty())
    return call(rounded, {tag(type), rounding}, {r.target(0), r.source(1, type), after});
  return call(
      "approximate", {tag(type)},
      {r.target(0), r.source(1, type), fmt::format("{}{}{{}}", kPtx, approximation), after});
}
std::string rcp(Reading& r) {
  return function(r, "Reciprocal", "rcp");
}
std::string sqrt(Reading& r) {
  return function(r, "Root", "sqrt");
}
std::string rsqrt(Reading& r) {
  return function(r, "InverseRoot", "");
}
std::string ex2(Reading& r) {
  return function(r, "Exp2", "");
}
std::string lg2(Reading& r) {
  return function(r, "Log2", "");
}
std::string sine(Reading& r) {
  return function(r, "Sine", "");
}
std::string cosine(Reading& r) {
  return function(r, "Cosine", "");
}
std::string tanh(Reading& r) {
  return function(r, "Tanh", "");
}

}  // namespace

const std::vector<Family>& arithmetic_family() {
  static const std::vector<Family> kFamily{
      {"add", add}, {"sub", sub},   {"addc", addc},  {"subc", subc},   {"mul", mul},
      {"mad", mad}, {"madc", madc}, {"fma", fma},    {"mul24", mul24}, {"div", div},
      {"rem", rem}, {"sad", sad},   {"min", min},    {"max", max},     {"abs", abs},
      {"neg", neg}, {"rcp", rcp},   {"sqrt", sqrt},  {"rsqrt", rsqrt}, {"ex2", ex2},
      {"lg2", lg2}, {"sin", sine},  {"cos", cosine}, {"tanh", tanh},   {"copysign", copysign},
  };
  return kFamily;
}

}  // namespace torchport::cuda::ptx
