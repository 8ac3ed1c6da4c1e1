// Between threads: shfl, vote, match, redux, barriers; and what ends or delays a thread.
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cuda/ptx/emit.h"

namespace torchport::cuda::ptx {

namespace {

std::string mask(Reading& r, std::size_t i) {
  return fmt::format("static_cast<unsigned>({})", r.source(i));
}

// Without .sync an instruction is of hardware before Volta.
bool take_sync(Reading& r) {
  if (r.take("sync")) return true;
  r.refuse("without .sync is not available since sm_70");
  return false;
}

std::string shfl(Reading& r) {
  if (!take_sync(r)) return {};
  const std::string form = r.take_one({"idx", "up", "down", "bfly"});
  (void)r.take_type();
  r.need(5, 5);
  if (!r.error().empty()) return {};
  const Operand& target = r.item().operands[0];
  const bool pair = target.kind == OperandKind::kPair;
  const std::string name = form == "idx"    ? "kIndex"
                           : form == "up"   ? "kUp"
                           : form == "down" ? "kDown"
                                            : "kXor";
  const std::string code =
      call("shfl", {},
           {r.target(pair ? target.parts[0] : target), fmt::format("{}Shuffle::{}", kPtx, name),
            r.source(1), r.source(2), r.source(3), mask(r, 4), site(r)});
  return pair ? fmt::format("{} = {}", r.target(target.parts[1]), code) : code;
}

std::string vote(Reading& r) {
  if (!take_sync(r)) return {};
  const std::string form = r.take_one({"all", "any", "uni", "ballot"});
  (void)r.take_type();
  r.need(3, 3);
  if (form == "ballot")
    return call("vote_ballot", {}, {r.target(0), mask(r, 2), r.predicate(1), site(r)});
  if (form.empty()) return r.refuse(), "";
  return fmt::format("{} = {}", r.target(0),
                     call(fmt::format("vote_{}", form), {}, {mask(r, 2), r.predicate(1), site(r)}));
}

std::string match(Reading& r) {
  const std::string form = r.take_one({"any", "all"});
  if (!take_sync(r)) return {};
  const std::string type = r.take_type();
  r.need(3, 3);
  if (!r.error().empty()) return {};
  const Operand& target = r.item().operands[0];
  const bool pair = target.kind == OperandKind::kPair;
  const std::string code =
      call(fmt::format("match_{}", form), {tag(type)},
           {r.target(pair ? target.parts[0] : target), r.source(1, type), mask(r, 2), site(r)});
  return pair ? fmt::format("{} = {}", r.target(target.parts[1]), code) : code;
}

std::string redux(Reading& r) {
  if (!take_sync(r)) return {};
  const std::string op = r.take_one({"add", "min", "max", "and", "or", "xor"});
  const bool absolute = r.take("abs");
  std::string after = r.take_after();
  if (after.empty()) after = fmt::format("{}kPlain", kPtx);
  const std::string type = r.take_type();
  r.need(3, 3);
  if (op.empty() || absolute) return r.refuse(), "";
  std::string name = op;
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return call("redux", {tag(type)},
              {r.target(0), fmt::format("{}Reduce::k{}", kPtx, name), r.source(1, type), mask(r, 2),
               after, site(r)});
}

std::string elect(Reading& r) {
  if (!take_sync(r)) return {};
  r.need(2, 2);
  if (!r.error().empty() || r.item().operands[0].kind != OperandKind::kPair) return r.refuse(), "";
  const Operand& target = r.item().operands[0];
  return fmt::format("{} = {}", r.target(target.parts[1]),
                     call("elect", {}, {r.target(target.parts[0]), mask(r, 1), site(r)}));
}

std::string activemask(Reading& r) {
  (void)r.take_type();
  r.need(1, 1);
  return call("set_bits", {}, {r.target(0), "::__activemask()"});
}

// bar.sync, barrier.sync, bar.arrive, bar.red, bar.warp.sync.
std::string barrier(Reading& r) {
  if (r.take("cluster")) {
    // A block is a cluster of its own.
    const bool waits = r.take("wait");
    (void)r.take("arrive");
    r.take_all({"aligned", "acquire", "release", "relaxed"});
    return waits ? fmt::format("::torchport::cuda::wait_for_block({});", site(r)) : ";";
  }
  r.take_all({"cta", "aligned"});
  if (r.take("warp")) {
    (void)r.take("sync");
    r.need(1, 1);
    return fmt::format("::__syncwarp({});", mask(r, 0));
  }
  if (r.take("red")) {
    const std::string op = r.take_one({"popc", "and", "or"});
    (void)r.take_type();
    r.need(3, 4);
    if (r.count() == 4 || !r.error().empty()) return r.refuse(), "";
    const std::string p = r.predicate(2);
    const std::string count = fmt::format("::torchport::cuda::count_in_block({}{}, {})",
                                          op == "and" ? "!" : "", p, site(r));
    if (op == "popc") return call("set_bits", {}, {r.target(0), count});
    return fmt::format("{} = {} {} 0;", r.target(0), count, op == "and" ? "==" : "!=");
  }
  const bool arrives = r.take("arrive");
  if (!arrives && !r.take("sync")) return r.refuse(), "";
  r.need(1, 2);
  const std::string threads =
      r.count() == 2 ? fmt::format("static_cast<unsigned>({})", r.source(1)) : "0u";
  return fmt::format("::torchport::cuda::wait_for_threads({}, {}, {}, {});", mask(r, 0), threads,
                     arrives ? "false" : "true", site(r));
}

std::string nanosleep(Reading& r) {
  (void)r.take_type();
  return fmt::format("{}wait_a_little();", kPtx);
}
std::string trap(Reading& r) {
  r.need(0, 0);
  return "::__trap();";
}
std::string brkpt(Reading& r) {
  r.need(0, 0);
  return "::__brkpt();";
}
std::string exit(Reading& r) {
  r.need(0, 0);
  return fmt::format("{}exit_thread();", kPtx);
}
std::string no_operation(Reading& r) {
  while (!r.left().empty()) (void)r.take(r.left().front());
  return ";";
}
std::string bra(Reading& r) {
  (void)r.take("uni");
  r.need(1, 1);
  if (!r.error().empty() || r.item().operands[0].kind != OperandKind::kLabel)
    return r.refuse("has no label"), "";
  return fmt::format("goto {};", r.item().operands[0].text);
}

}  // namespace

const std::vector<Family>& warp_family() {
  static const std::vector<Family> kFamily{
      {"shfl", shfl},
      {"vote", vote},
      {"match", match},
      {"redux", redux},
      {"elect", elect},
      {"activemask", activemask},
      {"bar", barrier},
      {"barrier", barrier},
      {"nanosleep", nanosleep},
      {"trap", trap},
      {"brkpt", brkpt},
      {"exit", exit},
      {"bra", bra},
      {"griddepcontrol", no_operation},
      {"pmevent", no_operation},
      {"setmaxnreg", no_operation},
  };
  return kFamily;
}

}  // namespace torchport::cuda::ptx
