#include "plan/report.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "plan/sums.h"

namespace torchport::plan {

namespace {

constexpr std::size_t kShown = 12;  // rows of the places that hold most

std::string size_of(std::uint64_t bytes) {
  return base::format_bytes_as_c10(bytes);
}

const Device& fullest(const Plan& plan) {
  return *std::max_element(plan.devices.begin(), plan.devices.end(),
                           [](const Device& a, const Device& b) { return a.most() < b.most(); });
}

// Sums of bytes by a name of each row, the largest first.
template <typename NameOf>
std::vector<std::pair<std::string, std::uint64_t>> sums(const Device& device, NameOf name_of) {
  std::map<std::string, std::uint64_t> by_name;
  for (const Row& row : device.rows) by_name[name_of(row)] += row.bytes;
  std::vector<std::pair<std::string, std::uint64_t>> sorted(by_name.begin(), by_name.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

std::string seconds_text(double seconds) {
  return seconds < 0.001 ? fmt::format("{:.0f} us", seconds * 1e6)
         : seconds < 1   ? fmt::format("{:.3g} ms", seconds * 1e3)
                         : fmt::format("{:.3g} s", seconds);
}

std::string bound_text(const std::string& bound) {
  static const std::map<std::string, std::string> kTexts = {
      {"host", "the host, which starts operators"}, {"compute", "arithmetic"},
      {"memory", "the bandwidth of the memory"},    {"communication", "communication"},
      {"copies_from_host", "copies from the host"}, {"copies_to_host", "copies to the host"}};
  return kTexts.at(bound);
}

std::string time_text(const Time& time) {
  if (time.operators == 0) return {};
  const std::string unit = time.unit == "step"   ? "a step of the optimizer"
                           : time.unit == "call" ? "the last call of the model"
                                                 : "the program";
  if (!time.is_known)
    return fmt::format("  {:>12}  for {}: the profile has no peak rates\n", "?", unit);
  return fmt::format("  {:>12}  to {} for {}, a rough interval; what bounds it: {}\n",
                     seconds_text(time.least), seconds_text(time.most), unit,
                     bound_text(time.bound()));
}

std::string parts_text(const Device& device) {
  std::string text = fmt::format("  {:>12}  to {}, with what can only be estimated:\n",
                                 size_of(device.least()), size_of(device.most()));
  for (const Part& part : device.parts)
    text += fmt::format("    {:>12}  to {}, {}: {}{}\n", size_of(part.least), size_of(part.most),
                        part.name, part.why,
                        part.is_dispensable ? "; only where there is room, not in the sum" : "");
  return text;
}

// `names`: of the device, and of all that are like it.
std::string device_text(const Plan& plan, const Device& device, const std::string& names) {
  std::string text = fmt::format("\n{}, {} of {}\n", names, plan.profile, size_of(plan.memory));
  text += fmt::format("  {:>12}  largest sum of allocated blocks (max_memory_allocated)\n",
                      size_of(device.allocated));
  text += fmt::format("  {:>12}  largest sum that PyTorch reserved (max_memory_reserved)\n",
                      size_of(device.reserved));
  text += parts_text(device);
  text += time_text(device.time);
  for (const Failure& failure : device.failures) {
    text += fmt::format("\n  no room for {} at {}{}\n", size_of(failure.bytes), failure.line,
                        failure.module.empty() ? "" : ", in " + failure.module);
    break;
  }
  text += fmt::format("\n  {} when most was allocated:\n",
                      device.failures.empty() ? "who held it" : "who held it then, or");
  for (const auto& [name, bytes] : sums(device, [](const Row& row) { return row.holds; }))
    text += fmt::format("  {:>12}  {}\n", size_of(bytes), name);
  text += "\n  at these lines:\n";
  const auto places = sums(device, [](const Row& row) {
    return fmt::format("{}  {}{}", row.holds, row.line,
                       row.module.empty() ? "" : "  " + without_numbers(row.module));
  });
  for (std::size_t i = 0; i < places.size() && i < kShown; ++i)
    text += fmt::format("  {:>12}  {}\n", size_of(places[i].second), places[i].first);
  if (places.size() > kShown)
    text += fmt::format("  {:>12}  at {} other places; --format json has all\n", "",
                        places.size() - kShown);
  return text;
}

std::string missing_text(const Plan& plan) {
  std::string values;
  std::string kernels;
  for (const MissingValue& one : plan.missing) {
    const std::string where = one.line.empty() ? "" : " at " + one.line;
    if (one.kind == kKernelNotRun)
      kernels += fmt::format("  {} x {}{}\n", one.count, one.operation, where);
    else
      values += fmt::format("  {} x {} ({}){}\n", one.count, one.operation, one.kind, where);
  }
  std::string text;
  if (!values.empty())
    text +=
        "\nvalues that are not there were asked for; a number is 0, a mask chooses all:\n" + values;
  if (!kernels.empty())
    text +=
        "\nkernels that were not run, since they were given values that are not there:\n" + kernels;
  return text;
}

std::string uncertain_text(const Plan& plan) {
  std::string text;
  for (const std::string& why : plan.uncertain) text += fmt::format("\nnot exact: {}\n", why);
  return text;
}

const char* verdict_name(Verdict verdict) {
  return verdict == Verdict::kFits            ? "fits"
         : verdict == Verdict::kMayNotFit     ? "may not fit"
         : verdict == Verdict::kUnknown       ? "unknown"
         : verdict == Verdict::kHangsOnValues ? "not known"
                                              : "does not fit";
}

nlohmann::json json_of(const Time& time) {
  if (time.operators == 0) return nullptr;
  return {{"unit", time.unit},
          {"seconds", {time.least, time.most}},
          {"bound_by", time.bound()},
          {"at_peak",
           {{"compute", time.compute},
            {"memory", time.memory},
            {"communication", time.communication},
            {"copies_from_host", time.copies_from_host},
            {"copies_to_host", time.copies_to_host},
            {"host", time.host}}},
          {"operators", time.operators},
          {"is_known", time.is_known}};
}

nlohmann::json rows_json(const std::vector<Row>& list) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Row& row : list)
    rows.push_back({{"holds", row.holds},
                    {"line", row.line},
                    {"module", row.module},
                    {"bytes", row.bytes},
                    {"blocks", row.blocks}});
  return rows;
}

nlohmann::json timeline_json(const Timeline& timeline) {
  nlohmann::json held = nlohmann::json::object();
  for (const auto& [name, bytes] : timeline.held) held[name] = bytes;
  nlohmann::json json = {
      {"events", timeline.events},       {"peak", timeline.peak},         {"at", timeline.at},
      {"allocated", timeline.allocated}, {"reserved", timeline.reserved}, {"held", held}};
  if (timeline.ran_out) json["ran_out"] = *timeline.ran_out;
  return json;
}

nlohmann::json parts_json(const std::vector<Part>& list) {
  nlohmann::json parts = nlohmann::json::array();
  for (const Part& part : list)
    parts.push_back({{"name", part.name},
                     {"least", part.least},
                     {"most", part.most},
                     {"why", part.why},
                     {"is_dispensable", part.is_dispensable}});
  return parts;
}

nlohmann::json json_of(const Plan& plan) {
  nlohmann::json devices = nlohmann::json::array();
  for (const Device& device : plan.devices) {
    nlohmann::json failures = nlohmann::json::array();
    for (const Failure& failure : device.failures)
      failures.push_back(
          {{"bytes", failure.bytes}, {"line", failure.line}, {"module", failure.module}});
    devices.push_back({{"device", device.name},
                       {"allocated", device.allocated},
                       {"reserved", device.reserved},
                       {"process", {device.least(), device.most()}},
                       {"process_with_room", device.most_with_room()},
                       {"parts", parts_json(device.parts)},
                       {"rows", rows_json(device.rows)},
                       {"timeline", timeline_json(device.timeline)},
                       {"failures", failures},
                       {"time", json_of(device.time)}});
    if (device.at_least) devices.back()["at_least"] = *device.at_least;
    if (!device.rows_when_it_ran_out.empty())
      devices.back()["rows_when_it_ran_out"] = rows_json(device.rows_when_it_ran_out);
  }
  nlohmann::json missing = nlohmann::json::array();
  for (const MissingValue& one : plan.missing)
    missing.push_back({{"kind", one.kind},
                       {"operator", one.operation},
                       {"line", one.line},
                       {"count", one.count}});
  nlohmann::json snapshots = nlohmann::json::array();
  for (const Snapshot& one : plan.snapshots)
    snapshots.push_back({{"file", one.file.string()}, {"dropped_events", one.dropped}});
  return {{"profile", plan.profile},
          {"memory", plan.memory},
          {"verdict", verdict_name(plan.verdict())},
          {"devices", devices},
          {"missing_values", missing},
          {"hangs_on", plan.hangs_on},
          {"at_most", plan.at_most},
          {"uncertain", plan.uncertain},
          {"snapshots", snapshots},
          {"processes", plan.processes},
          {"ranks", plan.ranks},
          {"ended_by", plan.ended_with},
          {"ended_early", plan.ended_early},
          {"steps", plan.steps},
          {"batches", plan.batches},
          {"seconds", plan.seconds}};
}

// "not known: hangs on values at train.py:7; planned without them: 1.2 GiB to 1.4 GiB"
std::string what_it_hangs_on(const Plan& plan, const Device& device) {
  const auto& lines = plan.lines_it_hangs_on();
  std::string text = "not known: hangs on values at " + lines.front();
  if (lines.size() > 1) text += fmt::format(" and {} more", lines.size() - 1);
  if (device.at_least)
    text += fmt::format("; allocates at least {} before", size_of(*device.at_least));
  if (plan.hangs_on.empty())
    return text + (plan.ran_out() ? "; with the largest sizes it does not fit"
                                  : "; needs at most " + size_of(device.most()));
  if (plan.ran_out()) return text + "; the way that was planned without them does not fit";
  if (plan.verdict_as_planned() == Verdict::kUnknown)
    return text + "; the program failed without them: " + plan.ended_by();
  return text + fmt::format("; an estimate without them: {} to {}", size_of(device.least()),
                            size_of(device.most()));
}

std::string hangs_text(const Plan& plan) {
  if (plan.hangs_on.empty() && plan.at_most.empty()) return {};
  std::string text =
      plan.hangs_on.empty()
          ? "\nsizes that depend on values were planned as large as they can be, at:\n"
          : "\na loop, a branch or a size hangs on values that are not there, at:\n";
  for (const std::string& line : plan.lines_it_hangs_on()) text += fmt::format("  {}\n", line);
  return text;
}

}  // namespace

std::string in_a_line(const Plan& plan) {
  const Device& device = fullest(plan);
  if (plan.verdict() == Verdict::kHangsOnValues) return what_it_hangs_on(plan, device);
  if (plan.ran_out()) {
    const auto failed = std::find_if(plan.devices.begin(), plan.devices.end(),
                                     [](const Device& one) { return !one.failures.empty(); });
    const Failure& failure = failed->failures.front();
    return fmt::format("does not fit: no room for {} on {} at {}", size_of(failure.bytes),
                       failed->name, failure.line);
  }
  if (plan.verdict() == Verdict::kUnknown)
    return plan.ended_by().empty()
               ? fmt::format("the program failed, it ended with {}", plan.status)
               : "the program failed: " + plan.ended_by();
  const std::uint64_t most = device.most();
  if (plan.verdict() == Verdict::kFits)
    return fmt::format("fits, {} left", size_of(plan.memory - most));
  return fmt::format("{}: needs {} to {}", verdict_name(plan.verdict()), size_of(device.least()),
                     size_of(most));
}

std::string what_is_left_out(const Plan& plan) {
  if (plan.ran_out()) return {};
  const std::string steps = plan.steps == 0
                                ? "before the optimizer took a step"
                                : fmt::format("after {} {} of the optimizer", plan.steps,
                                              plan.steps == 1 ? "step" : "steps");
  if (plan.status != 0 && plan.was_interrupted())
    return fmt::format("ended by Ctrl-C {}, so that this is only what it had until then", steps);
  if (plan.verdict() == Verdict::kUnknown)
    return "so it is not known whether it fits: this is only what it had until then";
  std::string text;
  if (!plan.ended_early.empty())
    text = fmt::format("ended {}, by --{}: what the program does later is not in this", steps,
                       plan.ended_early);
  if (plan.batches > 0)
    text += fmt::format("{}each pass over a DataLoader had at most {} {}, by --batches",
                        text.empty() ? "" : "; ", plan.batches,
                        plan.batches == 1 ? "batch" : "batches");
  return text;
}

std::string as_text(const Plan& plan) {
  std::string text = fmt::format("\ntorchport: {}\n", in_a_line(plan));
  if (const std::string left_out = what_is_left_out(plan); !left_out.empty())
    text += left_out + "\n";
  if (plan.ranks > 0)
    text +=
        fmt::format("this is rank 0 of {}; the other ranks are assumed to be alike\n", plan.ranks);
  for (const AlikeDevices& one : alike_devices(plan))
    text += device_text(plan, *one.device, one.names);
  text += hangs_text(plan) + missing_text(plan) + uncertain_text(plan);
  if (!plan.notes.empty()) text += "\n" + plan.notes;
  return text;
}

std::string as_json(const Plan& plan) {
  return json_of(plan).dump(2) + "\n";
}

std::string comparison_as_text(const Plans& plans) {
  std::string text = fmt::format("{:<16}{:>12}{:>12}{:>12}  {}\n", "profile", "memory", "allocated",
                                 "reserved", "");
  for (const auto& [name, plan] : plans) {
    const Device& device = fullest(plan);
    text += fmt::format("{:<16}{:>12}{:>12}{:>12}  {}\n", name, size_of(plan.memory),
                        size_of(device.allocated), size_of(device.reserved), in_a_line(plan));
  }
  return text;
}

std::string comparison_as_json(const Plans& plans) {
  nlohmann::json all = nlohmann::json::object();
  for (const auto& [name, plan] : plans) all[name] = json_of(plan);
  return all.dump(2) + "\n";
}

std::string alternatives_heading() {
  return fmt::format("{:<26}{:>12}{:>12}  {}\n", "", "allocated", "reserved", "");
}

std::string alternative_as_text(const Alternative& alternative) {
  if (!alternative.not_done.empty())
    return fmt::format("{:<26}{:>12}{:>12}  {}\n", alternative.name, "-", "-",
                       alternative.not_done);
  const Device& device = fullest(alternative.plan);
  return fmt::format("{:<26}{:>12}{:>12}  {}\n", alternative.name, size_of(device.allocated),
                     size_of(device.reserved), in_a_line(alternative.plan));
}

std::string alternatives_as_json(const Alternatives& alternatives) {
  nlohmann::json all = nlohmann::json::array();
  for (const Alternative& alternative : alternatives)
    all.push_back(
        {{"name", alternative.name},
         {"not_done", alternative.not_done},
         {"plan", alternative.not_done.empty() ? json_of(alternative.plan) : nlohmann::json()}});
  return all.dump(2) + "\n";
}

}  // namespace torchport::plan
