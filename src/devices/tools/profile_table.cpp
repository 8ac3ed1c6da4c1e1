// Writes the built-in profiles as C++: its arguments are the C++ file and the files of profiles. So
// a process reads no file to know them, and a mistake in one stops the build with its line.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/file_system.h"
#include "devices/profiles/profile_file.h"

namespace torchport::devices {

namespace {

using Files = std::vector<std::unique_ptr<ProfileFile>>;

int complain(const std::string& path, std::uint32_t line, const std::string& message) {
  fmt::print(stderr, "{}:{}: error: {}\n", path, line, message);
  return 1;
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

std::string_view report_of(MemoryReport report) {
  if (report == MemoryReport::kDriver) return "kDriver";
  return report == MemoryReport::kNominal ? "kNominal" : "kRuntime";
}

std::string as_code(const Profile& profile) {
  const PeakRates& peak = profile.peak;
  return fmt::format(
      "    {{{}, {}, {}U, {}, {}, {}, {}U, {}, {}, {}U, {}U, {}U, {}, {}, {},\n"
      "     MemoryReport::{}, {}U, {{{}, {}, {}, {}, {}, {}, {}, {}}}, {}, {}, {},\n"
      "     {},\n     {},\n     {}, \"\"}},\n",
      quoted(profile.name), quoted(profile.device_name), profile.memory, profile.major,
      profile.minor, profile.multiprocessors, profile.l2_cache,
      profile.max_threads_per_multiprocessor, profile.registers_per_multiprocessor,
      profile.shared_memory_per_block, profile.shared_memory_per_block_optin,
      profile.shared_memory_per_multiprocessor, profile.clock_khz, profile.memory_clock_khz,
      profile.memory_bus_bits, report_of(profile.memory_report), profile.nominal_memory, peak.fp16,
      peak.bf16, peak.tf32, peak.fp8, peak.fp4, peak.int8, peak.fp32, peak.fp64,
      profile.memory_bandwidth, profile.nvlink_bandwidth, profile.pcie_bandwidth,
      quoted(profile.source), quoted(profile.peak_source), quoted(profile.bandwidth_source));
}

// The default first, the others by name.
int sort(Files& files) {
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
    return a->is_default != b->is_default ? a->is_default : a->name < b->name;
  });
  if (!files.front()->is_default)
    return complain(files.front()->path, 0, "no profile of this kind has `default = true`");
  if (files.size() > 1 && files[1]->is_default)
    return complain(files[1]->path, 0, "two profiles of this kind have `default = true`");
  return 0;
}

int write(const std::string& target, std::map<std::string, Files>& kinds) {
  std::string code =
      "#include \"devices/profile_tables.h\"\n\n#include <array>\n\n"
      "namespace torchport::devices {\n\nnamespace {\n\n";
  std::string choice;
  for (auto& [kind, files] : kinds) {
    if (const int status = sort(files); status != 0) return status;
    code +=
        fmt::format("constexpr std::array<Profile, {}> kProfilesOf_{}{{{{\n", files.size(), kind);
    for (const auto& file : files) code += as_code(file->profile);
    code += "}};\n\n";
    choice += fmt::format("  if (kind == \"{}\") return kProfilesOf_{};\n", kind, kind);
  }
  code += fmt::format(
      "}}  // namespace\n\nstd::span<const Profile> built_in_profiles(std::string_view kind) {{\n"
      "{}  return {{}};\n}}\n\n}}  // namespace torchport::devices\n",
      choice);
  std::ofstream file(target, std::ios::binary | std::ios::trunc);
  file << code;
  file.close();
  return file ? 0 : complain(target, 0, "the file cannot be written");
}

int make_table(const std::string& target, const std::vector<std::string>& paths) {
  std::map<std::string, Files> kinds;
  for (const std::string& path : paths) {
    const auto text = base::real_file_system().read(path);
    if (!text) return complain(path, 0, text.error().message);
    auto file = parse_profile(*text, path);
    if (!file) return complain(path, file.error().line, file.error().message);
    const std::filesystem::path place(path);
    if (place.parent_path().filename() != (*file)->kind || place.stem() != (*file)->name)
      return complain(path, 0, "the path must end in KIND/NAME.toml");
    if ((*file)->source.empty())
      return complain(path, 0, "a built-in profile needs `device` in [sources]");
    kinds[(*file)->kind].push_back(std::move(*file));
  }
  return write(target, kinds);
}

}  // namespace

}  // namespace torchport::devices

int main(int count, char** arguments) {
  if (count < 3) {
    std::fputs("usage: torchport_profile_table OUT.cpp PROFILE.toml...\n", stderr);
    return 2;
  }
  return torchport::devices::make_table(arguments[1], {arguments + 2, arguments + count});
}
