#include "runtime/infer/kept_parts.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <torchport/checkpoint.h>

#include "base/partial_file.h"

namespace torchport::infer {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPlan = "plan.json";
constexpr std::string_view kPartSuffix = ".safetensors";

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_text(const std::string& path, const std::string& text) {
  const auto written = base::PartialFile::create(path).and_then([&](base::PartialFile file) {
    return file.write(text.data(), text.size()).and_then([&] { return file.finish(); });
  });
  if (!written) throw std::runtime_error("cannot write " + path + ": " + written.error().message);
}

// The batches of a part, by the two numbers in its name: "00000000-00000012.safetensors".
std::optional<std::pair<std::size_t, std::size_t>> range_of(const std::string& name) {
  std::pair<std::size_t, std::size_t> range;
  const char* const end = name.data() + name.size();
  const auto first = std::from_chars(name.data(), end, range.first);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return std::nullopt;
  const auto last = std::from_chars(first.ptr + 1, end, range.second);
  return last.ec == std::errc() ? std::optional(range) : std::nullopt;
}

struct stat status_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    throw std::runtime_error("cannot read " + path + ": " + std::generic_category().message(errno));
  return status;
}

}  // namespace

std::string plan_of(const std::string& contract, const std::vector<std::string>& files,
                    std::int64_t batch_size) {
  auto plan = nlohmann::json{{"contract", contract}, {"rows", batch_size}};
  plan["files"] = nlohmann::json::array();
  for (const std::string& file : files) {
    const struct stat status = status_of(file);
    const std::int64_t time =
        std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
    plan["files"].push_back({{"file", fs::absolute(file).string()},
                             {"bytes", std::int64_t{status.st_size}},
                             {"time", time}});
  }
  return plan.dump(1);
}

KeptParts::KeptParts(Settings settings)
    : settings_(std::move(settings)), folder_(settings_.output + ".parts") {
  const fs::path known = fs::path(folder_) / kPlan;
  std::error_code error;
  if (!fs::exists(folder_, error)) return;
  if (!fs::is_regular_file(known, error))
    throw std::runtime_error(folder_ + " is no folder of parts; give another --output");
  if (settings_.fresh)
    remove();
  else if (read_text(known) != settings_.plan)
    throw std::runtime_error(
        folder_ +
        " has the parts of another run: another artefact, other files or another "
        "--batch-size. Give --fresh to begin again, or another --output");
}

KeptParts::Found KeptParts::found() const {
  std::map<std::size_t, std::pair<std::size_t, std::string>> files;  // by the first batch
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename().string();
    const auto range = range_of(name);
    if (name.ends_with(kPartSuffix) && range)
      files[range->first] = {range->second, entry.path().string()};
  }
  Found found;
  for (auto part = files.find(0); part != files.end(); part = files.find(found.batches)) {
    const auto& [last, path] = part->second;
    if (last <= found.batches) break;
    const LoadedTensors loaded = load_tensors(path);
    std::vector<at::Tensor> outputs;
    for (const std::string& name : settings_.names) {
      const auto tensor = std::find_if(loaded.tensors.begin(), loaded.tensors.end(),
                                       [&](const NamedTensor& one) { return one.name == name; });
      if (tensor == loaded.tensors.end())
        throw std::runtime_error(
            fmt::format("{} does not have the output {}: give --fresh to begin again", path, name));
      outputs.push_back(tensor->tensor);
    }
    found.stretches.push_back(std::move(outputs));
    found.batches = last;
  }
  return found;
}

bool KeptParts::is_due() const {
  return Clock::now() - last_ >= settings_.every;
}

void KeptParts::add(std::size_t first, std::size_t last, const std::vector<at::Tensor>& outputs) {
  std::error_code error;
  fs::create_directory(folder_, error);
  if (error) throw std::runtime_error("cannot create " + folder_ + ": " + error.message());
  const fs::path folder(folder_);
  if (!fs::exists(folder / kPlan)) write_text((folder / kPlan).string(), settings_.plan);
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    tensors.push_back({settings_.names[i], outputs[i]});
  save_safetensors((folder / fmt::format("{:08}-{:08}{}", first, last, kPartSuffix)).string(),
                   tensors);
  last_ = Clock::now();
}

void KeptParts::remove() const {
  std::error_code error;
  fs::remove_all(folder_, error);
}

}  // namespace torchport::infer
