#include "devices/profiles/profile_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/file_system.h"
#include "base/nearest.h"
#include "base/toml.h"
#include "devices/profiles/capabilities.h"

namespace torchport::devices {

namespace {

constexpr std::size_t kMostText = std::size_t{64} * 1024;  // bytes of a file
constexpr std::size_t kMostLetters = 400;                  // of a value
constexpr double kMostRate = 1e6;        // 10^12 operations, or 10^9 bytes, a second
constexpr std::int64_t kMost = 1 << 24;  // of whatever is counted
constexpr std::uint64_t kTiB = 1024 * kGiB;
constexpr std::uint64_t kLeastMemory = 64 * kMiB;

// Reads the keys of one table. The first error stays; after it nothing is read.
class Reader {
 public:
  Reader(const toml::table& table, std::string path, std::string section)
      : table_(table), path_(std::move(path)), section_(std::move(section)) {}

  void need(std::string_view key, std::string_view example) {
    known_.insert(key);
    if (!has(key)) missing_.emplace_back(key, example);
  }

  [[nodiscard]] bool has(std::string_view key) const { return table_.contains(key); }

  void text(std::string_view key, std::string& to) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const auto value = node->value_exact<std::string>();
    if (!value || value->empty() || value->size() > kMostLetters ||
        std::any_of(value->begin(), value->end(),
                    [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
      return fail(*node, fmt::format("{} must be a text of one line, of 1 to {} bytes", shown(key),
                                     kMostLetters));
    to = *value;
  }

  void boolean(std::string_view key, bool& to) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const auto value = node->value_exact<bool>();
    if (!value) return fail(*node, fmt::format("{} must be true or false", shown(key)));
    to = *value;
  }

  // "24 GiB", or a number of bytes.
  void size(std::string_view key, std::uint64_t& to, std::uint64_t most) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    std::optional<std::uint64_t> bytes;
    if (const auto number = node->value_exact<std::int64_t>(); number && *number >= 0) {
      bytes = static_cast<std::uint64_t>(*number);
    } else if (const auto words = node->value_exact<std::string>()) {
      if (const auto parsed = base::parse_size(*words)) bytes = *parsed;
    }
    if (!bytes || *bytes > most)
      return fail(*node, fmt::format("{} must be a size of at most {}, like \"24 GiB\"", shown(key),
                                     base::format_bytes(most, 0)));
    to = *bytes;
  }

  void count(std::string_view key, int& to, std::int64_t least = 0) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const auto value = node->value_exact<std::int64_t>();
    if (!value || *value < least || *value > kMost)
      return fail(*node,
                  fmt::format("{} must be a whole number from {} to {}", shown(key), least, kMost));
    to = static_cast<int>(*value);
  }

  // A rate in the unit of the key; 0 is not written down.
  void rate(std::string_view key, double& to) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const auto value = node->value<double>();
    if (!node->is_number() || !value || !(*value > 0) || *value > kMostRate)
      return fail(*node, fmt::format("{} must be a number above 0, at most {}", shown(key),
                                     static_cast<std::int64_t>(kMostRate)));
    to = *value;
  }

  void megahertz(std::string_view key, int& to) {
    double value = 0;
    rate(key, value);
    if (value > 0) to = static_cast<int>(std::lround(std::min(value, 1e6) * 1000));
  }

  // The keys of a table in this one; empty if there is none.
  [[nodiscard]] const toml::table& inner(std::string_view key) {
    static const toml::table kNone;
    const toml::node* node = take(key);
    if (node == nullptr) return kNone;
    if (const toml::table* found = node->as_table()) return *found;
    fail(*node, fmt::format("{} must be a table, [{}]", shown(key), key));
    return kNone;
  }

  void fail_at(std::string_view key, std::string message) {
    const toml::node* node = table_.get(key);
    fail(node == nullptr ? static_cast<const toml::node&>(table_) : *node, std::move(message));
  }

  // To be called after all keys: any other key is an error, and so is a missing one. A misspelt key
  // is both, so others come first.
  void finish() {
    for (const auto& [key, node] : table_) {
      const std::string_view word = key.str();
      if (known_.contains(word)) continue;
      const std::vector<std::string_view> names(known_.begin(), known_.end());
      return fail(node, fmt::format("unknown key {}{}", shown(word.substr(0, kMostLetters)),
                                    base::did_you_mean(word, names)));
    }
    for (const auto& [key, example] : missing_)
      fail(table_, fmt::format("{} is missing; write e.g. {} = {}", shown(key), key, example));
  }

  [[nodiscard]] std::optional<base::Error>& error() { return error_; }

 private:
  [[nodiscard]] std::string shown(std::string_view key) const {
    return section_.empty() ? fmt::format("\"{}\"", key) : fmt::format("\"{}.{}\"", section_, key);
  }

  [[nodiscard]] const toml::node* take(std::string_view key) {
    known_.insert(key);
    return error_ ? nullptr : table_.get(key);
  }

  void fail(const toml::node& node, std::string message) {
    if (!error_)
      error_ = base::Error{base::ErrorCode::kConfig, std::move(message), path_,
                           static_cast<std::uint32_t>(node.source().begin.line)};
  }

  const toml::table& table_;
  std::string path_;
  std::string section_;
  std::set<std::string_view> known_;
  std::vector<std::pair<std::string_view, std::string_view>> missing_;
  std::optional<base::Error> error_;
};

bool is_name(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  });
}

void read_capability(Reader& keys, Profile& profile) {
  std::string text;
  keys.text("capability", text);
  if (text.empty()) return;
  const auto dot = text.find('.');
  const auto is_number = [](std::string_view part) {
    return !part.empty() && part.size() <= 2 &&
           std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  if (dot == std::string::npos || !is_number(text.substr(0, dot)) ||
      !is_number(text.substr(dot + 1)))
    return keys.fail_at("capability", "\"capability\" must be a text like \"8.9\"");
  profile.major = std::stoi(text.substr(0, dot));
  profile.minor = std::stoi(text.substr(dot + 1));
}

// The limits of a multiprocessor. Those of CUDA follow from the capability; a file may name others.
void read_limits(Reader& keys, Reader& limits, const std::string& kind, Profile& profile) {
  const Limits* found = limits_of(profile.major, profile.minor);
  if (kind == "cuda" && keys.has("capability") && !keys.error()) {
    if (found == nullptr)
      return keys.fail_at(
          "capability", fmt::format("capability {}.{} is not known", profile.major, profile.minor));
    profile.max_threads_per_multiprocessor = found->threads;
    profile.registers_per_multiprocessor = found->registers;
    profile.shared_memory_per_block = found->shared_per_block;
    profile.shared_memory_per_block_optin = found->shared_per_block_optin;
    profile.shared_memory_per_multiprocessor = found->shared_per_multiprocessor;
  }
  limits.count("max-threads-per-multiprocessor", profile.max_threads_per_multiprocessor);
  limits.count("registers-per-multiprocessor", profile.registers_per_multiprocessor);
  limits.size("shared-memory-per-block", profile.shared_memory_per_block, kGiB);
  limits.size("shared-memory-per-block-optin", profile.shared_memory_per_block_optin, kGiB);
  limits.size("shared-memory-per-multiprocessor", profile.shared_memory_per_multiprocessor, kGiB);
}

void read_rates(Reader& peak, Reader& bandwidth, Profile& profile) {
  peak.rate("fp16", profile.peak.fp16);
  peak.rate("bf16", profile.peak.bf16);
  peak.rate("tf32", profile.peak.tf32);
  peak.rate("fp8", profile.peak.fp8);
  peak.rate("fp4", profile.peak.fp4);
  peak.rate("int8", profile.peak.int8);
  peak.rate("fp32", profile.peak.fp32);
  peak.rate("fp64", profile.peak.fp64);
  bandwidth.rate("memory", profile.memory_bandwidth);
  bandwidth.rate("nvlink", profile.nvlink_bandwidth);
  bandwidth.rate("pcie", profile.pcie_bandwidth);
}

void read_memory(Reader& keys, Profile& profile) {
  keys.size("memory", profile.memory, 1024 * kTiB);
  if (keys.has("memory") && profile.memory < kLeastMemory)
    keys.fail_at("memory", "\"memory\" must be at least 64 MiB");
  keys.size("nominal-memory", profile.nominal_memory, 1024 * kTiB);
  std::string report = "runtime";
  keys.text("memory-report", report);
  const auto* const found = std::find(kMemoryReports.begin(), kMemoryReports.end(), report);
  if (found == kMemoryReports.end())
    keys.fail_at("memory-report", R"("memory-report" must be "runtime", "driver" or "nominal")");
  else
    profile.memory_report = static_cast<MemoryReport>(found - kMemoryReports.begin());
}

// Two transfers in a cycle, as of all memory that is named by its clock.
double bandwidth_of(const Profile& profile) {
  return 2.0 * profile.memory_clock_khz * (profile.memory_bus_bits / 8.0) / 1e6;
}

void read_keys(Reader& keys, ProfileFile& file) {
  Profile& profile = file.profile;
  keys.need("kind", "\"cuda\"");
  keys.need("name", "\"my-card\"");
  keys.need("device-name", "\"NVIDIA My Card\"");
  keys.need("memory", "\"24 GiB\"");
  keys.need("multiprocessors", "100");
  keys.need("clock-mhz", "1500");
  keys.text("kind", file.kind);
  keys.text("name", file.name);
  if (keys.has("name") && !is_name(file.name))
    keys.fail_at("name", "\"name\" may have small letters, digits, \"-\" and \".\"");
  keys.text("device-name", file.device_name);
  keys.boolean("default", file.is_default);
  if (file.kind == "cuda") keys.need("capability", "\"8.9\"");
  read_capability(keys, profile);
  read_memory(keys, profile);
  keys.count("multiprocessors", profile.multiprocessors, 1);
  keys.size("l2-cache", profile.l2_cache, kGiB);
  keys.megahertz("clock-mhz", profile.clock_khz);
  keys.megahertz("memory-clock-mhz", profile.memory_clock_khz);
  keys.count("memory-bus-bits", profile.memory_bus_bits);
}

// The first error of several tables.
std::optional<base::Error> read(const toml::table& table, ProfileFile& file) {
  Profile& profile = file.profile;
  Reader keys(table, file.path, "");
  read_keys(keys, file);
  Reader limits(keys.inner("limits"), file.path, "limits");
  Reader peak(keys.inner("peak"), file.path, "peak");
  Reader bandwidth(keys.inner("bandwidth"), file.path, "bandwidth");
  Reader sources(keys.inner("sources"), file.path, "sources");
  read_limits(keys, limits, file.kind, profile);
  read_rates(peak, bandwidth, profile);
  if (profile.memory_bandwidth == 0) profile.memory_bandwidth = bandwidth_of(profile);
  sources.text("device", file.source);
  sources.text("peak", file.peak_source);
  sources.text("bandwidth", file.bandwidth_source);
  for (Reader* part : {&keys, &limits, &peak, &bandwidth, &sources}) {
    part->finish();
    if (part->error()) return part->error();
  }
  profile.name = file.name;
  profile.device_name = file.device_name;
  profile.source = file.source;
  profile.peak_source = file.peak_source;
  profile.bandwidth_source = file.bandwidth_source;
  return std::nullopt;
}

}  // namespace

base::Result<std::unique_ptr<ProfileFile>> parse_profile(std::string_view text,
                                                         const std::string& path) {
  if (text.size() > kMostText)
    return base::fail(base::ErrorCode::kConfig, "the file is too large for a profile", path);
  try {
    const toml::table table = base::parse_toml(text, path);
    auto file = std::make_unique<ProfileFile>();
    file->path = path;
    if (auto error = read(table, *file)) return tl::unexpected<base::Error>(std::move(*error));
    return file;
  } catch (const toml::parse_error& error) {
    return base::fail(base::ErrorCode::kConfig, std::string(error.description()), path,
                      static_cast<std::uint32_t>(error.source().begin.line));
  }
}

bool is_profile_path(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".toml");
}

base::Result<const Profile*> own_profile(const std::string& path, std::string_view kind) {
  // Never destroyed: the virtual devices outlive every static object.
  static std::mutex& mutex = *new std::mutex;
  static auto& files = *new std::vector<std::unique_ptr<ProfileFile>>;
  std::error_code code;
  const std::string full = std::filesystem::absolute(path, code).lexically_normal().string();
  const std::lock_guard<std::mutex> lock(mutex);
  auto found = std::find_if(files.begin(), files.end(),
                            [&](const auto& file) { return file->profile.file == full; });
  if (found == files.end()) {
    const auto text = base::real_file_system().read(full);
    if (!text) return tl::unexpected<base::Error>(text.error());
    auto file = parse_profile(*text, path);
    if (!file) return tl::unexpected<base::Error>(file.error());
    (*file)->path = full;
    (*file)->profile.file = (*file)->path;
    files.push_back(std::move(*file));
    found = std::prev(files.end());
  }
  if ((*found)->kind != kind)
    return base::fail(base::ErrorCode::kConfig,
                      fmt::format("the profile is of kind {}; write `--devices {}:1`",
                                  (*found)->kind, (*found)->kind),
                      path);
  return &(*found)->profile;
}

}  // namespace torchport::devices
