#include "plan/plan.h"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <system_error>

#include <nlohmann/json.hpp>

namespace torchport::plan {

namespace {

constexpr int kSignals = 128;  // a status above it is of a program that a signal ended

Time time_of(const nlohmann::json& told) {
  return {.unit = told.at("unit"),
          .least = told.at("least"),
          .most = told.at("most"),
          .compute = told.at("compute"),
          .memory = told.at("memory"),
          .communication = told.at("communication"),
          .host = told.at("host"),
          .copies = told.at("copies"),
          .copies_from_host = told.at("copies_from_host"),
          .copies_to_host = told.at("copies_to_host"),
          .operators = told.at("operators"),
          .is_known = told.at("is_known")};
}

// The largest first.
std::vector<Row> rows_of(const nlohmann::json& told) {
  std::vector<Row> rows;
  for (const auto& row : told)
    rows.push_back(
        {row.at("holds"), row.at("line"), row.at("module"), row.at("bytes"), row.at("blocks")});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.bytes > b.bytes; });
  return rows;
}

Timeline timeline_of(const nlohmann::json& told) {
  Timeline timeline{.events = told.at("events"),
                    .peak = told.at("peak"),
                    .ran_out = std::nullopt,
                    .at = told.at("at"),
                    .allocated = told.at("allocated"),
                    .reserved = told.at("reserved"),
                    .held = {}};
  if (const auto ran_out = told.find("ran_out"); ran_out != told.end())
    timeline.ran_out = ran_out->get<std::uint64_t>();
  for (const auto& [name, bytes] : told.at("held").items()) {
    timeline.held.emplace_back(name, bytes);
    timeline.held.back().second.resize(timeline.at.size());
  }
  timeline.allocated.resize(timeline.at.size());
  timeline.reserved.resize(timeline.at.size());
  return timeline;
}

std::vector<Part> parts_of(const nlohmann::json& told) {
  std::vector<Part> parts;
  for (const auto& part : told)
    parts.push_back({part.at("name"), part.at("least"), part.at("most"), part.at("why"),
                     part.at("is_dispensable")});
  return parts;
}

// `folder`: where the plan's file is.
Snapshot snapshot_of(const nlohmann::json& told, const std::filesystem::path& folder) {
  Snapshot snapshot{.file = folder / told.at("file").get<std::string>(),
                    .rank = std::nullopt,
                    .dropped = told.at("dropped"),
                    .recorded = told.at("recorded")};
  if (!told.at("rank").is_null()) snapshot.rank = told.at("rank").get<int>();
  return snapshot;
}

Device device_of(const nlohmann::json& told) {
  Device device{.name = told.at("device"),
                .allocated = told.at("allocated"),
                .reserved = told.at("reserved"),
                .rows = {},
                .failures = {},
                .time = told.contains("time") ? time_of(told.at("time")) : Time{}};
  device.rows = rows_of(told.at("rows"));
  if (const auto rows = told.find("rows_when_it_ran_out"); rows != told.end())
    device.rows_when_it_ran_out = rows_of(*rows);
  for (const auto& failure : told.at("failures"))
    device.failures.push_back({failure.at("bytes"), failure.at("line"), failure.at("module")});
  if (const auto timeline = told.find("timeline"); timeline != told.end())
    device.timeline = timeline_of(*timeline);
  device.parts = parts_of(told.at("parts"));
  if (const auto least = told.find("at_least"); least != told.end())
    device.at_least = least->get<std::uint64_t>();
  return device;
}

// Whether a process took memory of a device, or asked for some.
bool used_a_device(const nlohmann::json& told) {
  const auto devices = told.is_object() ? told.find("devices") : told.end();
  return devices != told.end() &&
         std::any_of(devices->begin(), devices->end(), [](const nlohmann::json& one) {
           return one.value("allocated", std::uint64_t{0}) != 0 ||
                  !one.value("failures", nlohmann::json::array()).empty();
         });
}

// Adds the lines of a process that others did not have.
void add_lines(std::vector<std::string>& lines, const nlohmann::json& told, const char* name) {
  for (std::string line : told.value(name, std::vector<std::string>()))
    if (std::find(lines.begin(), lines.end(), line) == lines.end())
      lines.push_back(std::move(line));
}

// Adds what one process wrote.
void add(Plan& plan, const nlohmann::json& told, const std::filesystem::path& folder) {
  plan.profile = told.at("profile");
  plan.memory = told.at("memory");
  plan.seconds = std::max(plan.seconds, told.at("seconds").get<double>());
  for (const auto& one : told.at("devices")) {
    if (one.at("allocated").get<std::uint64_t>() == 0 && one.at("failures").empty()) continue;
    Device device = device_of(one);
    const auto known = std::find_if(plan.devices.begin(), plan.devices.end(),
                                    [&](const Device& other) { return other.name == device.name; });
    if (known == plan.devices.end())
      plan.devices.push_back(std::move(device));
    else if (known->most() < device.most() || !device.failures.empty())
      *known = std::move(device);
  }
  for (const auto& one : told.at("missing_values"))
    plan.missing.push_back({one.at("kind"), one.at("operator"), one.at("line"), one.at("count")});
  add_lines(plan.hangs_on, told, "hangs_on");
  add_lines(plan.at_most, told, "at_most");
  if (const auto why = told.find("uncertain"); why != told.end())
    for (const auto& one : *why) plan.uncertain.insert(one.get<std::string>());
  if (plan.ended_with.empty() && !told.at("ended_by").empty())
    plan.ended_with = told.at("ended_by").front();
  if (plan.ended_early.empty()) plan.ended_early = told.value("ended_early", "");
  plan.steps = std::max(plan.steps, told.value("steps", std::int64_t{0}));
  plan.batches = std::max(plan.batches, told.value("batches", 0));
  if (const auto one = told.find("snapshot"); one != told.end() && !one->is_null())
    plan.snapshots.push_back(snapshot_of(*one, folder));
  ++plan.processes;
  for (const auto& [name, count] : told.at("changes").items())
    plan.changes[name] += count.get<std::int64_t>();
  plan.ranks = std::max(plan.ranks, told.at("ranks").get<int>());
}

// `none`: no process wrote what it had.
std::string why_there_is_none(int status, bool none) {
  if (status > kSignals)
    return "signal " + std::to_string(status - kSignals) +
           " ended the program before it could write what it had";
  if (none && status == 0)
    return "the program told nothing: it did not import torch, or ended at once (os._exit)";
  return status == 0 ? "the program used no memory of a device"
                     : "the program failed before it used memory of a device";
}

}  // namespace

std::uint64_t Device::least() const {
  std::uint64_t sum = reserved;
  for (const Part& part : parts) sum += part.is_dispensable ? 0 : part.least;
  return sum;
}

std::uint64_t Device::most() const {
  std::uint64_t sum = reserved;
  for (const Part& part : parts) sum += part.is_dispensable ? 0 : part.most;
  return sum;
}

std::uint64_t Device::most_with_room() const {
  std::uint64_t sum = reserved;
  for (const Part& part : parts) sum += part.most;
  return sum;
}

bool Plan::ran_out() const {
  return status != 0 && std::any_of(devices.begin(), devices.end(),
                                    [](const Device& device) { return !device.failures.empty(); });
}

const std::vector<std::string>& Plan::lines_it_hangs_on() const {
  return hangs_on.empty() ? at_most : hangs_on;
}

Verdict Plan::verdict() const {
  if (!hangs_on.empty()) return Verdict::kHangsOnValues;
  const Verdict planned = verdict_as_planned();
  // The largest sizes are an upper bound: what fits with them fits.
  const bool may_fit = planned == Verdict::kDoesNotFit || planned == Verdict::kMayNotFit;
  return may_fit && !at_most.empty() ? Verdict::kHangsOnValues : planned;
}

Verdict Plan::verdict_as_planned() const {
  if (ran_out()) return Verdict::kDoesNotFit;
  if (status != 0 && !was_interrupted()) return Verdict::kUnknown;
  Verdict worst = Verdict::kFits;
  for (const Device& device : devices) {
    if (device.least() > memory) return Verdict::kDoesNotFit;
    if (device.most() > memory) worst = Verdict::kMayNotFit;
  }
  return worst;
}

std::string Time::bound() const {
  const double most_of_device = std::max({compute + memory, communication, copies});
  if (host >= most_of_device) return "host";
  if (copies >= std::max(compute + memory, communication))
    return copies_from_host >= copies_to_host ? "copies_from_host" : "copies_to_host";
  if (communication >= compute + memory) return "communication";
  return compute >= memory ? "compute" : "memory";
}

std::string Plan::ended_by() const {
  return ended_with.substr(0, ended_with.find('\n'));
}

bool Plan::was_interrupted() const {
  return status == kSignals + SIGINT || ended_with.starts_with("KeyboardInterrupt");
}

base::Result<Plan> read_plan(const std::filesystem::path& folder, int status) {
  Plan plan;
  plan.status = status;
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::pair<std::filesystem::path, nlohmann::json>> processes;
  for (const auto& file : files) {
    std::ifstream stream(file);
    processes.emplace_back(file, nlohmann::json::parse(stream, nullptr, false));
  }
  // Those that used a device come first: their errors are the reasons of their launcher's.
  const auto is_used = [](const auto& one) { return used_a_device(one.second); };
  std::stable_partition(processes.begin(), processes.end(), is_used);
  for (const auto& [file, told] : processes) {
    try {
      add(plan, told, folder);
    } catch (const nlohmann::json::exception& broken) {
      return base::fail(base::ErrorCode::kSyntax, broken.what(), file.string());
    }
  }
  if (plan.devices.empty())
    return base::fail(base::ErrorCode::kIo, why_there_is_none(status, processes.empty()));
  // Ranks that waited for one that had been ended have failed by that.
  if (!plan.ended_early.empty() && !plan.ran_out()) plan.status = 0;
  std::sort(plan.devices.begin(), plan.devices.end(), [](const Device& a, const Device& b) {
    return a.name.size() != b.name.size() ? a.name.size() < b.name.size() : a.name < b.name;
  });
  return plan;
}

}  // namespace torchport::plan
