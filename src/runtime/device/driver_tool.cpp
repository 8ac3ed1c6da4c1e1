#include "runtime/device/driver_tool.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file_system.h"

namespace torchport::device {

namespace {

constexpr std::string_view kNone = "[N/A]";
// The first driver with CUDA 13.0, which virtual devices have (NVIDIA's release notes of
// CUDA 13.0).
constexpr std::string_view kDriver = "580.65.06";
constexpr std::string_view kCuda = "13.0";
constexpr int kBusOfFirst = 0x1a;  // as cudaDeviceGetPCIBusId says
constexpr int kKiloHertzOfMega = 1000;

// What a query may ask for: the unit of its header, and its value.
template <typename Row>
struct Field {
  std::string_view unit;
  std::string (*value)(const Row& row, std::string_view time);
};

struct ProcessRow {
  const ManagedDevice* device;
  pid_t process;
  std::uint64_t used;
};

std::string mebibytes(std::uint64_t bytes) {
  return std::to_string(bytes / devices::kMiB);
}

std::string bus_of(const ManagedDevice& device) {
  return fmt::format("00000000:{:02X}:00.0", kBusOfFirst + device.number);
}

// The command that a process runs, "[Not Found]" as the tool says if it has ended.
std::string program_of(pid_t process) {
  const auto line = base::real_file_system().read(fmt::format("/proc/{}/cmdline", process));
  return line && !line->empty() ? line->substr(0, line->find('\0')) : "[Not Found]";
}

using DeviceFields = std::map<std::string_view, Field<ManagedDevice>>;
using ProcessFields = std::map<std::string_view, Field<ProcessRow>>;

template <typename Row>
std::string none(const Row& /*row*/, std::string_view /*time*/) {
  return std::string(kNone);
}

std::string time_of(const auto& /*row*/, std::string_view time) {
  return std::string(time);
}

// What is asked of real devices and a virtual one does not have, with its unit.
constexpr std::pair<std::string_view, std::string_view> kNotThere[] = {
    {"utilization.gpu", "%"},
    {"utilization.memory", "%"},
    {"temperature.gpu", ""},
    {"temperature.memory", ""},
    {"fan.speed", "%"},
    {"power.draw", "W"},
    {"power.draw.average", "W"},
    {"power.draw.instant", "W"},
    {"power.limit", "W"},
    {"enforced.power.limit", "W"},
    {"power.max_limit", "W"},
    {"clocks.sm", "MHz"},
    {"clocks.current.sm", "MHz"},
    {"clocks.gr", "MHz"},
    {"clocks.mem", "MHz"},
    {"clocks.current.memory", "MHz"},
    {"pstate", ""},
    {"serial", ""},
    {"gpu_serial", ""},
    {"vbios_version", ""},
    {"pcie.link.gen.current", ""},
    {"pcie.link.gen.max", ""},
    {"pcie.link.width.current", ""},
    {"pcie.link.width.max", ""},
    {"ecc.mode.current", ""},
    {"ecc.errors.uncorrected.volatile.total", ""},
    {"ecc.errors.corrected.volatile.total", ""},
};

const DeviceFields& device_fields() {
  using Row = ManagedDevice;
  using Text = std::string_view;
  static const DeviceFields kFields = [] {
    DeviceFields fields = {
        {"timestamp", {"", &time_of<Row>}},
        {"driver_version", {"", [](const Row&, Text) { return std::string(kDriver); }}},
        {"count", {"", [](const Row& row, Text) { return std::to_string(row.count); }}},
        {"index", {"", [](const Row& row, Text) { return std::to_string(row.number); }}},
        {"name", {"", [](const Row& row, Text) { return row.name; }}},
        {"uuid", {"", [](const Row& row, Text) { return row.uuid; }}},
        {"pci.bus_id", {"", [](const Row& row, Text) { return bus_of(row); }}},
        {"memory.total", {"MiB", [](const Row& row, Text) { return mebibytes(row.total); }}},
        {"memory.used", {"MiB", [](const Row& row, Text) { return mebibytes(row.used()); }}},
        {"memory.free",
         {"MiB", [](const Row& row, Text) { return mebibytes(row.total - row.used()); }}},
        {"memory.reserved", {"MiB", [](const Row&, Text) { return std::string("0"); }}},
        {"compute_cap",
         {"", [](const Row& row,
                 Text) { return fmt::format("{}.{}", row.profile->major, row.profile->minor); }}},
        {"clocks.max.sm",
         {"MHz", [](const Row& row,
                    Text) { return std::to_string(row.profile->clock_khz / kKiloHertzOfMega); }}},
        {"clocks.max.memory",
         {"MHz",
          [](const Row& row, Text) {
            return std::to_string(row.profile->memory_clock_khz / kKiloHertzOfMega);
          }}},
        {"persistence_mode", {"", [](const Row&, Text) { return std::string("Enabled"); }}},
        {"compute_mode", {"", [](const Row&, Text) { return std::string("Default"); }}},
        {"display_mode", {"", [](const Row&, Text) { return std::string("Disabled"); }}},
        {"display_active", {"", [](const Row&, Text) { return std::string("Disabled"); }}},
        {"mig.mode.current", {"", [](const Row&, Text) { return std::string("Disabled"); }}},
        {"mig.mode.pending", {"", [](const Row&, Text) { return std::string("Disabled"); }}},
    };
    fields["clocks.max.graphics"] = fields["clocks.max.sm"];
    for (const auto& [other, name] : std::initializer_list<std::pair<Text, Text>>{
             {"gpu_name", "name"}, {"gpu_uuid", "uuid"}, {"gpu_bus_id", "pci.bus_id"}})
      fields[other] = fields[name];
    for (const auto& [name, unit] : kNotThere) fields[name] = {unit, &none<Row>};
    return fields;
  }();
  return kFields;
}

const ProcessFields& process_fields() {
  using Row = ProcessRow;
  using Text = std::string_view;
  static const ProcessFields kFields = [] {
    ProcessFields fields = {
        {"timestamp", {"", &time_of<Row>}},
        {"gpu_name", {"", [](const Row& row, Text) { return row.device->name; }}},
        {"gpu_uuid", {"", [](const Row& row, Text) { return row.device->uuid; }}},
        {"gpu_bus_id", {"", [](const Row& row, Text) { return bus_of(*row.device); }}},
        {"gpu_serial", {"", &none<Row>}},
        {"pid", {"", [](const Row& row, Text) { return std::to_string(row.process); }}},
        {"process_name", {"", [](const Row& row, Text) { return program_of(row.process); }}},
        {"used_gpu_memory", {"MiB", [](const Row& row, Text) { return mebibytes(row.used); }}},
    };
    fields["name"] = fields["process_name"];
    fields["used_memory"] = fields["used_gpu_memory"];
    return fields;
  }();
  return kFields;
}

template <typename Row>
base::Result<std::string> query(const std::vector<Row>& rows,
                                const std::map<std::string_view, Field<Row>>& known,
                                const std::vector<std::string>& fields, QueryFormat format,
                                std::string_view time) {
  std::string text;
  std::vector<std::string> words;
  for (const std::string& name : fields) {
    const auto field = known.find(name);
    if (field == known.end())
      return base::fail(base::ErrorCode::kUsage,
                        fmt::format("Field \"{}\" is not a valid field to query.\n", name));
    words.push_back(field->second.unit.empty() ? name
                                               : fmt::format("{} [{}]", name, field->second.unit));
  }
  if (format.header) text += fmt::format("{}\n", fmt::join(words, ", "));
  for (const Row& row : rows) {
    words.clear();
    for (const std::string& name : fields) {
      const Field<Row>& field = known.at(name);
      std::string value = field.value(row, time);
      if (format.units && !field.unit.empty() && value != kNone)
        value += fmt::format(" {}", field.unit);
      words.push_back(std::move(value));
    }
    text += fmt::format("{}\n", fmt::join(words, ", "));
  }
  return text;
}

constexpr int kWidth = 89;  // of the table, between its borders

std::string row_of_table(std::string_view text) {
  return fmt::format("|{:<{}.{}}|\n", text, kWidth, kWidth);
}

}  // namespace

std::uint64_t ManagedDevice::used() const {
  return std::accumulate(processes.begin(), processes.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& one) { return sum + one.second; });
}

std::vector<ManagedDevice> managed_devices(
    const Spec& spec, const std::vector<std::pair<pid_t, std::vector<Account>>>& accounts) {
  std::vector<ManagedDevice> managed;
  for (int number = 0; number < spec.count; ++number) {
    ManagedDevice one;
    one.number = number;
    one.count = spec.count;
    one.name = std::string(spec.profile->device_name);
    one.uuid = uuid_of(spec, number);
    one.profile = spec.profile;
    one.total = spec.memory;
    const std::string name = fmt::format("{}:{}", spec.kind, number);
    for (const auto& [process, own] : accounts)
      for (const Account& account : own)
        if (account.name == name && account.total == spec.memory && account.used > 0)
          one.processes.emplace_back(process, account.used);
    managed.push_back(std::move(one));
  }
  return managed;
}

std::string list_of_devices(const std::vector<ManagedDevice>& devices) {
  std::string text;
  for (const ManagedDevice& one : devices)
    text += fmt::format("GPU {}: {} (UUID: {})\n", one.number, one.name, one.uuid);
  return text;
}

std::string table_of_devices(const std::vector<ManagedDevice>& devices, std::string_view time) {
  const std::string line(kWidth, '-');
  const std::string middle = fmt::format("+{:-<41}+{:-<24}+{:-<22}+\n", "", "", "");
  const std::string strong = fmt::format("|{:=<41}+{:=<24}+{:=<22}|\n", "", "", "");
  std::string text = fmt::format("{}\n+{}+\n", time, line);
  text += row_of_table(fmt::format(" NVIDIA-SMI {:<22} Driver Version: {:<14} CUDA Version: {:<8}",
                                   kDriver, kDriver, kCuda));
  text += middle;
  text += fmt::format("| {:<3}  {:<20} {:>13} | {:<22} | {:>20} |\n", "GPU", "Name",
                      "Persistence-M", "Bus-Id          Disp.A", "Volatile Uncorr. ECC");
  text += fmt::format("| {:<39} | {:>22} | {:<20} |\n", "Fan  Temp   Perf          Pwr:Usage/Cap",
                      "Memory-Usage", "GPU-Util  Compute M.");
  text += fmt::format("| {:<39} | {:<22} | {:>20} |\n", "", "", "MIG M.");
  text += strong;
  for (const ManagedDevice& one : devices) {
    text += fmt::format("| {:>3}  {:<27.27} {:>6} | {:<16} {:>5} | {:>20} |\n", one.number,
                        one.name, "On", bus_of(one), "Off", "N/A");
    text += fmt::format("| {:<4} {:<6} {:<4} {:>22} | {:>7}MiB / {:>6}MiB | {:>8} {:>11} |\n",
                        "N/A", "N/A", "N/A", "N/A /  N/A", mebibytes(one.used()),
                        mebibytes(one.total), "N/A", "Default");
    text += fmt::format("| {:<39} | {:<22} | {:>20} |\n", "", "", "Disabled");
    text += middle;
  }
  text += fmt::format("\n+{}+\n", line);
  text += row_of_table(" Processes:");
  text += row_of_table(fmt::format("  GPU   GI   CI {:>16}   Type   {:<34} {:>11}", "PID",
                                   "Process name", "GPU Memory"));
  text += row_of_table(fmt::format("        ID   ID {:>72}", "Usage"));
  text += fmt::format("|{:=<{}}|\n", "", kWidth);
  bool any = false;
  for (const ManagedDevice& one : devices) {
    for (const auto& [process, used] : one.processes) {
      text += row_of_table(fmt::format("  {:>3}   N/A  N/A {:>15}      C   {:<34.34} {:>8}MiB",
                                       one.number, process, program_of(process), mebibytes(used)));
      any = true;
    }
  }
  if (!any) text += row_of_table("  No running processes found");
  text += fmt::format("+{}+\n", line);
  return text;
}

base::Result<std::string> query_devices(const std::vector<ManagedDevice>& devices,
                                        const std::vector<std::string>& fields, QueryFormat format,
                                        std::string_view time) {
  return query(devices, device_fields(), fields, format, time);
}

base::Result<std::string> query_processes(const std::vector<ManagedDevice>& devices,
                                          const std::vector<std::string>& fields,
                                          QueryFormat format, std::string_view time) {
  std::vector<ProcessRow> rows;
  for (const ManagedDevice& one : devices)
    for (const auto& [process, used] : one.processes) rows.push_back({&one, process, used});
  return query(rows, process_fields(), fields, format, time);
}

}  // namespace torchport::device
