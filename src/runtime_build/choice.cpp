#include "runtime_build/choice.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "host/probe/probe.h"
#include "releases/table.h"

namespace torchport::runtime_build {

namespace {

using base::join_path;

constexpr const char* kAbout = "runtime.json";
// How much of a revision is in the name of a folder.
constexpr std::size_t kShortGit = 12;

tl::unexpected<base::Error> failure(std::string message) {
  return base::fail(base::ErrorCode::kUsage, std::move(message));
}

// A name of a file has nothing else of a version.
std::string as_file_name(std::string_view text) {
  std::string name(text);
  const auto good = [](char c) { return base::is_identifier_char(c) || c == '.' || c == '+'; };
  for (char& c : name)
    if (!good(c)) c = '-';
  return name;
}

// The table's row and the revision of this version of torch.
std::pair<const releases::Runtime*, std::string> row_of(const TorchFiles& torch) {
  const releases::Runtime* row = releases::runtime_of(torch.version);
  if (row == nullptr) return {nullptr, {}};
  const std::string release = torch.version.substr(0, torch.version.find('+'));
  for (const auto& [version, git] : row->serves)
    if (version == release) return {row, git};
  return {nullptr, {}};
}

// Reads what the libraries of a folder say of themselves; its torch is empty if they do not.
Runtime read_runtime(const base::FileSystem& files, const std::string& folder) {
  Runtime runtime{.folder = folder, .torch = {}, .git = {}, .serves = {}};
  const auto text = files.read(join_path(folder, kAbout));
  if (!text) return runtime;
  const auto about = nlohmann::json::parse(*text, nullptr, false);
  if (!about.is_object()) return runtime;
  const auto member = [&](const char* name) {
    const auto found = about.find(name);
    return found != about.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  runtime.torch = member("torch");
  runtime.git = member("git_version");
  return runtime;
}

}  // namespace

base::Result<TorchFiles> read_torch_files(const base::FileSystem& files, const std::string& root) {
  const auto text = files.read(join_path(root, "version.py"));
  if (!text)
    return failure(fmt::format("{} has no torch: {}: {}", root, join_path(root, "version.py"),
                               text.error().message));
  TorchFiles torch;
  torch.root = root;
  torch.version = host::version_member(*text, "__version__");
  if (torch.version.empty())
    return failure(fmt::format("{} does not contain a version; install torch again",
                               join_path(root, "version.py")));
  torch.git = host::version_member(*text, "git_version");
  torch.size = files.status(join_path(root, "lib/libtorch_cpu.so"), true).size;
  host::Machine machine;
  machine.files = &files;
  torch.cxx11_abi = host::read_torch(machine, root, {}).cxx11_abi;
  return torch;
}

Places places_of(const std::string& package,
                 const std::function<std::string(const char*)>& variable) {
  Places places;
  places.libraries =
      variable("TORCHPORT_LIBRARY");  // another build: python/torchport/_libraries.py
  if (places.libraries.empty()) places.libraries = join_path(package, "lib");
  places.source = join_path(package, "lib/source");
  if (const std::string cache = base::cache_folder(variable); !cache.empty())
    places.cache = join_path(cache, "runtimes");
  return places;
}

std::string source_key(const base::FileSystem& files, const Places& places) {
  const auto text = files.read(join_path(places.source, "KEY"));
  return text ? std::string(base::trim(*text)) : std::string();
}

std::string built_folder(const base::FileSystem& files, const Places& places,
                         const TorchFiles& torch) {
  const std::string key = source_key(files, places);
  if (key.empty() || places.cache.empty()) return {};
  return fmt::format("{}/{}/torch-{}-{}-{}", places.cache, key, as_file_name(torch.version),
                     as_file_name(torch.git.substr(0, kShortGit)), torch.size);
}

std::vector<Runtime> all_runtimes(const base::FileSystem& files, const Places& places) {
  std::vector<Runtime> found;
  const auto add = [&](const std::string& parent, bool built_here) {
    const auto entries = files.list(parent);
    if (!entries) return;
    for (const base::DirectoryEntry& entry : *entries) {
      if (!entry.name.starts_with("torch-")) continue;
      Runtime runtime = read_runtime(files, join_path(parent, entry.name));
      if (runtime.torch.empty()) continue;
      runtime.built_here = built_here;
      found.push_back(std::move(runtime));
    }
  };
  add(places.libraries, false);
  for (Runtime& runtime : found)
    for (const releases::TorchRelease& release : releases::table().releases)
      if (release.runtime && release.runtime->built_for == runtime.torch)
        for (const auto& [version, git] : release.runtime->serves)
          runtime.serves.push_back(version);
  if (const std::string key = source_key(files, places); !key.empty() && !places.cache.empty()) {
    const std::size_t own = found.size();
    add(join_path(places.cache, key), true);
    for (std::size_t i = own; i < found.size(); ++i) found[i].serves = {found[i].torch};
  }
  return found;
}

bool package_serves(const TorchFiles& torch) {
  const auto [row, git] = row_of(torch);
  return row != nullptr && git == torch.git;
}

base::Result<std::string> choose(const base::FileSystem& files, const Places& places,
                                 const TorchFiles& torch) {
  const auto [row, git] = row_of(torch);
  if (row != nullptr && git == torch.git) {
    std::string folder = join_path(places.libraries, "torch-" + row->built_for);
    if (files.status(join_path(folder, kAbout), true).type == base::FileType::kRegular)
      return folder;
    return failure(fmt::format(
        "this installation has no libraries for torch {}: {} is missing; install torchport again",
        torch.version, folder));
  }
  std::string built = built_folder(files, places, torch);
  if (!built.empty() &&
      files.status(join_path(built, kAbout), true).type == base::FileType::kRegular)
    return built;
  if (row != nullptr)
    return failure(
        fmt::format("this torch says that it is {}, but its source is {} and that of the release "
                    "{}: install the "
                    "release, pip install torch=={}, or compile torchport's libraries for this "
                    "torch: torchport "
                    "runtime build",
                    torch.version, torch.git.empty() ? "unknown" : torch.git,
                    git.substr(0, kShortGit), torch.version.substr(0, torch.version.find('+'))));
  return failure(fmt::format(
      "torchport supports torch {}, and {} is torch {}: install one of these, or compile "
      "torchport's libraries for this torch: torchport runtime build",
      fmt::join(releases::runtime_versions(), ", "), torch.root, torch.version));
}

}  // namespace torchport::runtime_build
