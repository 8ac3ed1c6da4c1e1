// mbarrier: barriers that are words of shared memory.
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cuda/ptx/emit.h"

namespace torchport::cuda::ptx {

namespace {

std::string count(Reading& r, std::size_t i) {
  return i < r.count() ? fmt::format("static_cast<unsigned>({})", r.source(i)) : "1u";
}

std::string waits(Reading& r) {
  const bool parity = r.take("parity");
  r.need(3, 4);
  const std::string function = parity ? "mbarrier_done_parity" : "mbarrier_done";
  const std::string state =
      parity ? fmt::format("static_cast<unsigned>({})", r.source(2)) : r.source(2);
  return fmt::format("{} = {}", r.target(0), call(function, {}, {r.address(1, true), state}));
}

// mbarrier.arrive{.expect_tx}.b64 {state,} [barrier]{, number}
std::string comes(Reading& r, bool drops) {
  const bool expects = r.take("expect_tx");
  (void)r.take("noComplete");
  r.need(1, 3);
  if (!r.error().empty()) return {};
  const bool has_state = r.item().operands[0].kind != OperandKind::kAddress;
  const std::size_t at = has_state ? 1 : 0;
  const std::string number = count(r, at + 1);
  return call("mbarrier_arrive", {},
              {has_state ? r.target(0) : "torchport_none", r.address(at, true),
               expects ? "1u" : number, expects ? number : "0u", drops ? "true" : "false"});
}

std::string mbarrier(Reading& r) {
  const std::string what = r.take_one({"init", "inval", "arrive", "arrive_drop", "expect_tx",
                                       "complete_tx", "test_wait", "try_wait", "pending_count"});
  r.take_all({"shared", "shared::cta", "shared::cluster", "b64", "release", "acquire", "relaxed",
              "cta", "cluster"});
  if (what == "init") {
    r.need(2, 2);
    return fmt::format("{}Mbarrier::init({}, static_cast<int>({}));", kPtx, r.address(0, true),
                       r.source(1));
  }
  if (what == "inval") {
    r.need(1, 1);
    return ";";
  }
  if (what == "arrive" || what == "arrive_drop") return comes(r, what == "arrive_drop");
  if (what == "expect_tx")
    return call("mbarrier_arrive", {},
                {"torchport_none", r.address(0, true), "0u", count(r, 1), "false"});
  if (what == "complete_tx")
    return fmt::format("{}Mbarrier({}).complete(static_cast<int>({}));", kPtx, r.address(0, true),
                       r.source(1));
  if (what == "test_wait" || what == "try_wait") return waits(r);
  if (what == "pending_count") {
    r.need(2, 2);
    return call("set_bits", {},
                {r.target(0), fmt::format("static_cast<unsigned>({} & 0xfffff)", r.source(1))});
  }
  return r.refuse(), "";
}

}  // namespace

const std::vector<Family>& barrier_family() {
  static const std::vector<Family> kFamily{{"mbarrier", mbarrier}};
  return kFamily;
}

}  // namespace torchport::cuda::ptx
