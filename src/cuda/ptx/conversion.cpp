// mov, cvt, cvta.
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cuda/ptx/emit.h"

namespace torchport::cuda::ptx {

namespace {

std::string mov(Reading& r) {
  const std::string type = r.take_type();
  r.need(2, 2);
  if (!r.error().empty()) return {};
  if (type == "pred") return fmt::format("{} = {};", r.target(0), r.predicate(1));
  const Operand& to = r.item().operands[0];
  if (to.kind != OperandKind::kVector) {
    // A narrower result of a packed one keeps the type's width.
    return call("set_bits", {},
                {r.target(0), fmt::format("static_cast<{}Raw<{}>>({})", kPtx, bits_of(type),
                                          r.source(1, type))});
  }
  const auto parts = static_cast<unsigned>(to.parts.size());
  const unsigned each = parts == 0 ? 0 : bits_of(type) / parts;
  std::string result = fmt::format("{{ const {}Raw<{}> torchport_whole = {};", kPtx, bits_of(type),
                                   r.source(1, type));
  for (unsigned k = 0; k < parts; ++k)
    result +=
        " " +
        call("set_bits", {},
             {r.target(to.parts[k]),
              fmt::format("static_cast<{}Raw<{}>>(torchport_whole >> {})", kPtx, each, k * each)});
  return result + " }";
}

bool is_eights(std::string_view type) {
  return type == "e4m3x2" || type == "e5m2x2";
}

std::string cvt(Reading& r) {
  const bool packs = r.take("pack");
  const bool ties_away = r.take("rna");
  const bool whole = [&] {
    for (const std::string& word : r.left())
      if (word == "rni" || word == "rzi" || word == "rpi" || word == "rmi") return true;
    return false;
  }();
  std::string rounding = r.take_rounding();
  (void)r.take("satfinite");
  const std::string after = r.take_after();
  const std::string to = r.take_type();
  const std::string from = r.take_type();
  if (from.empty()) return r.refuse(), "";
  if (packs) {
    const std::string third = r.take_type();
    r.need(third.empty() ? 3 : 4, third.empty() ? 3 : 4);
    return call("cvt_pack", {tag(to), tag(from)},
                {r.target(0), r.source(1), r.source(2), third.empty() ? "0u" : r.source(3)});
  }
  if (to == "tf32") {
    r.need(2, 2);
    return call("cvt_tf32", {rounding},
                {r.target(0), r.source(1, from), ties_away ? "true" : "false", after});
  }
  if (is_eights(to)) {
    if (from == "f32") {
      r.need(3, 3);
      return call("cvt_to_eights", {tag(to)},
                  {r.target(0), r.source(1, from), r.source(2, from), after});
    }
    r.need(2, 2);
    return call("cvt_pair_to_eights", {tag(to), tag(from)},
                {r.target(0), r.source(1, from), after});
  }
  if (is_eights(from)) {
    r.need(2, 2);
    return call("cvt_from_eights", {tag(to), tag(from)}, {r.target(0), r.source(1, from), after});
  }
  if (to == "f16x2" || to == "bf16x2") {
    r.need(3, 3);
    return call("cvt_pair", {tag(to), rounding},
                {r.target(0), r.source(1, from), r.source(2, from), after});
  }
  r.need(2, 2);
  if (to == "pred" || from == "pred" || from == "f16x2" || from == "bf16x2") return r.refuse(), "";
  // Integers of floats are cut off unless a direction is given.
  if (!is_float(to) && is_float(from) && !whole) rounding = "::torchport::Round::kZero";
  return call("cvt", {tag(to), tag(from), rounding, whole ? "true" : "false"},
              {r.target(0), r.source(1, from), after});
}

// Only shared memory has addresses of its own.
std::string cvta(Reading& r) {
  const bool to = r.take("to");
  const bool shared = r.take("shared") || r.take("shared::cta") || r.take("shared::cluster");
  r.take_all({"global", "local", "const", "param"});
  const std::string type = r.take_type();
  r.need(2, 2);
  if (!shared) return call("set_bits", {}, {r.target(0), r.source(1, type)});
  if (to)
    return call("set_bits", {},
                {r.target(0), fmt::format("::torchport::shared_address(reinterpret_cast<const "
                                          "void*>(static_cast<unsigned long long>({})))",
                                          r.source(1, type))});
  return call("set_bits", {},
              {r.target(0),
               fmt::format("reinterpret_cast<unsigned long long>(::torchport::shared_pointer({}))",
                           r.source(1, type))});
}

}  // namespace

const std::vector<Family>& conversion_family() {
  static const std::vector<Family> kFamily{{"mov", mov}, {"cvt", cvt}, {"cvta", cvta}};
  return kFamily;
}

}  // namespace torchport::cuda::ptx
