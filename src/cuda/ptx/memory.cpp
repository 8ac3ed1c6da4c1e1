// ld, st, atom, red, cp.async, prefetches and fences.
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cuda/ptx/emit.h"

namespace torchport::cuda::ptx {

namespace {

struct Access {
  bool shared = false;
  bool observed = false;  // other threads look
};

// Takes all that says where, how ordered and how cached.
Access take_access(Reading& r) {
  Access access;
  access.shared = r.take("shared") || r.take("shared::cta") || r.take("shared::cluster");
  for (const std::string_view order :
       {"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio", "sc"})
    if (r.take(order)) access.observed = true;
  r.take_all({"global", "local", "const", "param", "weak", "cta", "cluster", "gpu", "sys", "ca",
              "cg", "cs", "lu", "cv", "wb", "wt", "nc", "unified"});
  r.take_prefix("L1::");
  r.take_prefix("L2::");
  r.take_prefix("level::");
  return access;
}

std::vector<Operand> elements(const Operand& operand) {
  if (operand.kind == OperandKind::kVector) return operand.parts;
  return {operand};
}

std::string ld(Reading& r) {
  const Access access = take_access(r);
  (void)r.take_one({"v2", "v4", "v8"});
  const std::string type = r.take_type();
  r.need(2, 3);
  if (type.empty() || type == "pred") return r.refuse(), "";
  if (!r.error().empty()) return {};
  // All at once: a result may be the address.
  std::string result = fmt::format("{{ {}const char* const torchport_from = {};",
                                   access.observed ? fmt::format("{}wait_a_little(); ", kPtx) : "",
                                   r.address(1, access.shared));
  unsigned offset = 0;
  for (const Operand& to : elements(r.item().operands[0])) {
    if (to.kind != OperandKind::kSink)
      result += " " + call(access.observed ? "ld_observed" : "ld", {tag(type)},
                           {r.target(to), fmt::format("torchport_from + {}", offset)});
    offset += bits_of(type) / 8;
  }
  return result + " }";
}

std::string st(Reading& r) {
  if (r.take("async") || r.take("bulk")) return r.refuse(), "";
  const Access access = take_access(r);
  (void)r.take_one({"v2", "v4", "v8"});
  const std::string type = r.take_type();
  r.need(2, 3);
  if (type.empty() || type == "pred") return r.refuse(), "";
  if (!r.error().empty()) return {};
  std::string result =
      fmt::format("{{ char* const torchport_to = {};", r.address(0, access.shared));
  unsigned offset = 0;
  for (const Operand& from : elements(r.item().operands[1])) {
    result += " " + call(access.observed ? "st_observed" : "st", {tag(type)},
                         {fmt::format("torchport_to + {}", offset), r.source(from, type)});
    offset += bits_of(type) / 8;
  }
  return result + " }";
}

// atom: with a result; red: without.
std::string atomic(Reading& r, bool result) {
  const Access access = take_access(r);
  const std::string op =
      r.take_one({"add", "min", "max", "inc", "dec", "exch", "cas", "and", "or", "xor"});
  (void)r.take("noftz");
  (void)r.take_one({"v2", "v4", "v8"});
  const std::string type = r.take_type();
  const std::size_t at = result ? 1 : 0;
  r.need(at + 2, at + 4);
  if (op.empty() || type.empty()) return r.refuse(), "";
  if (!r.error().empty()) return {};
  const std::string to = r.address(at, access.shared);
  if (op == "cas")
    return call("atom_cas", {tag(type)},
                {result ? r.target(0) : "torchport_none", to, r.source(at + 1, type),
                 r.source(at + 2, type)});
  std::string name = op;
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  const std::vector<std::string> types{tag(type), fmt::format("{}Atom::k{}", kPtx, name)};
  const std::vector<Operand> values = elements(r.item().operands[at + 1]);
  std::vector<Operand> targets;
  if (result) targets = elements(r.item().operands[0]);
  if (result && targets.size() != values.size())
    return r.refuse("has results and operands of different numbers"), "";
  std::string code;
  for (std::size_t k = 0; k < values.size(); ++k) {
    code += call("atom", types,
                 {result ? r.target(targets[k]) : "torchport_none",
                  k == 0 ? to : fmt::format("{} + {}", to, k * bits_of(type) / 8),
                  r.source(values[k], type)});
    code += ' ';
  }
  return code;
}
std::string atom(Reading& r) {
  return atomic(r, true);
}
std::string red(Reading& r) {
  if (r.take("async")) return r.refuse(), "";
  return atomic(r, false);
}

// cp.async.mbarrier.arrive: the copies before it are done, so the thread has come. Without .noinc
// it is waited for only because of this instruction.
std::string arrives(Reading& r) {
  if (!r.take("arrive")) return r.refuse(), "";
  const bool counted = r.take("noinc");
  r.take_all({"shared", "shared::cta", "b64"});
  r.need(1, 1);
  const std::string at = r.address(0, true);
  std::string waits = "::torchport::cuda::wait_for_copies(::torchport::cuda::kNoCopies);";
  if (!counted) return waits;
  return waits + ' ' + call("mbarrier_arrive", {}, {"torchport_none", at, "1u", "0u", "false"});
}

// cp.async.bulk: at once; a barrier of the block hears of it.
std::string bulk(Reading& r) {
  if (r.take("commit_group")) return ";";
  if (r.take("wait_group")) {
    (void)r.take("read");
    r.need(1, 1);
    return ";";
  }
  if (r.take("prefetch")) {
    r.take_all({"L2", "global"});
    r.take_prefix("L2::");
    return ";";
  }
  const std::vector<std::string>& words = r.item().words;
  if (words.size() < 5 || r.take("tensor")) return r.refuse(), "";
  const auto is_shared = [](const std::string& word) { return word.starts_with("shared"); };
  const bool to_shared = is_shared(words[3]);
  const bool from_shared = is_shared(words[4]);
  r.take_all({"shared::cluster", "shared::cta", "shared::cta", "global"});
  const bool tells = r.take("mbarrier::complete_tx::bytes");
  (void)r.take("bulk_group");
  r.take_prefix("L2::");
  r.need(tells ? 4 : 3, tells ? 5 : 4);
  if (!r.error().empty()) return {};
  return call(
      "cp_async_bulk", {},
      {r.address(0, to_shared), r.address(1, from_shared),
       fmt::format("static_cast<unsigned>({})", r.source(2)), tells ? r.address(3, true) : ""});
}

// cp.async: at once. A checker is told of its groups.
std::string cp(Reading& r) {
  if (r.take("reduce") || !r.take("async")) return r.refuse(), "";
  if (r.take("bulk")) return bulk(r);
  if (r.take("mbarrier")) return arrives(r);
  if (r.take("commit_group")) return "::torchport::cuda::commit_copies();";
  if (r.take("wait_all"))
    return "::torchport::cuda::wait_for_copies(::torchport::cuda::kNoCopies);";
  if (r.take("wait_group")) {
    r.need(1, 1);
    if (!r.error().empty()) return {};
    return fmt::format("::torchport::cuda::wait_for_copies(static_cast<unsigned>({}));",
                       r.source(0));
  }
  r.take_all({"ca", "cg", "shared", "shared::cta", "shared::cluster", "global"});
  const bool hint = r.take("L2::cache_hint");
  r.take_prefix("L2::");
  r.need(3, 5);
  if (!r.error().empty()) return {};
  const std::string bytes = fmt::format("static_cast<unsigned>({})", r.source(2));
  const std::size_t given = r.count() - (hint ? 1 : 0);
  std::string read = bytes;
  if (given == 4) {
    // The number of bytes to read, or a predicate: nothing is read.
    const Operand& fourth = r.item().operands[3];
    read = fourth.negated ? fmt::format("({} ? 0u : {})", r.predicate(3), bytes)
                          : fmt::format("{}to_read({}, {})", kPtx, r.source(3), bytes);
  }
  return call("cp_async", {}, {r.address(0, true), r.address(1, false), bytes, read});
}

std::string nothing(Reading& r) {
  while (!r.left().empty()) (void)r.take(r.left().front());
  return ";";
}
std::string fence(Reading& r) {
  (void)nothing(r);
  return "::__threadfence_system();";
}
// A block is the only one of its cluster.
std::string mapa(Reading& r) {
  (void)nothing(r);
  r.need(3, 3);
  return call("set_bits", {}, {r.target(0), r.source(1)});
}
std::string getctarank(Reading& r) {
  (void)nothing(r);
  r.need(2, 2);
  return call("set_bits", {}, {r.target(0), "0u"});
}
std::string createpolicy(Reading& r) {
  (void)nothing(r);
  return call("set_bits", {}, {r.target(0), "0ull"});
}

}  // namespace

const std::vector<Family>& memory_family() {
  static const std::vector<Family> kFamily{
      {"ld", ld},
      {"ldu", ld},
      {"st", st},
      {"atom", atom},
      {"red", red},
      {"cp", cp},
      {"prefetch", nothing},
      {"prefetchu", nothing},
      {"discard", nothing},
      {"applypriority", nothing},
      {"membar", fence},
      {"fence", fence},
      {"createpolicy", createpolicy},
      {"mapa", mapa},
      {"getctarank", getctarank},
  };
  return kFamily;
}

}  // namespace torchport::cuda::ptx
