// Reads the torch of the active environment from its files.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "host/probe/probe.h"
#include "versions/version.h"

namespace torchport::host {

namespace {

// Larger files are not torch's: version.py has some hundred bytes, and the library of the largest
// build 40 MB.
constexpr std::uint64_t kMostVersion = 1U << 20U;
constexpr std::uint64_t kMostLibrary = 1U << 30U;

// The architectures at the start of a text: "sm_75 sm_80". `read` receives their length.
std::vector<std::string> archs_at(std::string_view text, std::size_t& read) {
  std::vector<std::string> archs;
  for (read = 0; read < text.size();) {
    const std::string_view rest = text.substr(read);
    const std::string_view word = rest.substr(0, rest.find(' '));
    const bool arch =
        word.starts_with("sm_") || word.starts_with("compute_") || word.starts_with("gfx");
    if (!arch || word.size() > 16) break;
    archs.emplace_back(word);
    read += word.size() + 1;
  }
  return archs;
}

// Finds the list of architectures that torch/csrc/cuda/Module.cpp keeps as one string: "sm_75 sm_80
// ...".
std::vector<std::string> archs_in(std::string_view library, std::string_view first) {
  constexpr std::size_t kMostText = 400;
  std::vector<std::string> best;
  for (std::size_t at = library.find(first); at != std::string_view::npos;) {
    std::string_view text = library.substr(at, kMostText);
    text = text.substr(0, text.find('\0'));
    std::size_t read = 0;
    auto archs = archs_at(text, read);
    if (archs.size() > best.size()) best = std::move(archs);
    at = library.find(first, at + std::max(read, first.size()));
  }
  return best;
}

// Wheels before 2.7 have either ABI; torch's CMake package says which.
bool has_cxx11_abi(const Machine& machine, const Torch& torch) {
  const std::string text = read_text(machine, torch.root + "/share/cmake/Torch/TorchConfig.cmake");
  const auto at = text.find("_GLIBCXX_USE_CXX11_ABI=");
  if (at != std::string::npos) return text.compare(at + 23, 1, "0") != 0;
  return !versions::older(torch.version, "2.7");
}

}  // namespace

std::string version_member(std::string_view text, std::string_view name) {
  for (const std::string_view line : base::split(text, '\n')) {
    if (!line.starts_with(name)) continue;
    const std::string_view rest = line.substr(name.size());
    const auto equals = rest.find('=');
    if (equals == std::string_view::npos || (rest.front() != ' ' && rest.front() != ':')) continue;
    const auto open = rest.find_first_of("'\"", equals);
    if (open == std::string_view::npos) return {};
    const auto close = rest.find(rest[open], open + 1);
    if (close == std::string_view::npos) return {};
    return std::string(rest.substr(open + 1, close - open - 1));
  }
  return {};
}

Torch read_torch(const Machine& machine, const std::string& root, const std::string& python) {
  Torch torch;
  torch.root = root;
  torch.python = python;
  const auto status = machine.files->status(root + "/version.py", true);
  if (status.type != base::FileType::kRegular || status.size > kMostVersion) {
    torch.fault = status.type != base::FileType::kRegular
                      ? "version.py is not a file"
                      : fmt::format("version.py has {} bytes", status.size);
    return torch;
  }
  const std::string text = read_text(machine, root + "/version.py");
  torch.version = version_member(text, "__version__");
  if (versions::parse_version(torch.version).size() < 2 || torch.version.size() > 64) {
    torch.fault = "version.py does not contain a version";
    torch.version.clear();
    return torch;
  }
  torch.cuda = version_member(text, "cuda");
  torch.hip = version_member(text, "hip");
  for (const std::string& name : other_version_members())
    torch.set_version(name, version_member(text, name));
  torch.cxx11_abi = has_cxx11_abi(machine, torch);
  const std::string library = root + "/lib/libtorch_python.so";
  const auto part = machine.files->status(library, true);
  if (part.type != base::FileType::kRegular || part.size > kMostLibrary) {
    torch.fault = part.type != base::FileType::kRegular
                      ? "lib/libtorch_python.so is missing"
                      : fmt::format("lib/libtorch_python.so has {} bytes", part.size);
    return torch;
  }
  if (!torch.cuda.empty()) torch.archs = archs_in(read_text(machine, library), "sm_");
  if (!torch.hip.empty()) torch.archs = archs_in(read_text(machine, library), "gfx");
  return torch;
}

namespace {

void add_torch(const Machine& machine, Facts& facts, const std::string& site,
               const std::string& python) {
  const std::string root = base::join_path(site, "torch");
  // Something of this name that is not a file belongs to a damaged torch.
  if (machine.files->status(root + "/version.py", true).type == base::FileType::kMissing) return;
  const auto canonical = machine.files->canonical(root);
  const std::string path = canonical ? *canonical : root;
  const bool known = std::any_of(facts.torches.begin(), facts.torches.end(),
                                 [&](const Torch& torch) { return torch.root == path; });
  if (known) return;
  Torch torch = read_torch(machine, path, python);
  // Only the first is imported.
  if (facts.torches.empty()) probe_import(machine, facts, torch);
  facts.torches.push_back(std::move(torch));
}

// The Python of an environment that bin/python3 is a link to: "3.11"; empty if that is not known.
std::string python_of(const Machine& machine, const std::string& prefix) {
  const auto program = machine.files->canonical(prefix + "/bin/python3");
  const std::string_view name = program ? base::file_name(*program) : std::string_view();
  return name.starts_with("python3.") ? std::string(name.substr(6)) : std::string();
}

// The versions of Python that have a folder in this environment: that of its own Python first.
std::vector<std::string> pythons_in(const Machine& machine, const std::string& prefix) {
  std::vector<std::string> found;
  const auto entries = machine.files->list(base::join_path(prefix, "lib"));
  if (!entries) return found;
  for (const base::DirectoryEntry& entry : *entries)
    if (entry.name.starts_with("python3.")) found.push_back(entry.name.substr(6));
  std::stable_partition(
      found.begin(), found.end(),
      [own = python_of(machine, prefix)](const std::string& version) { return version == own; });
  return found;
}

// Where `pip install --user` installs; empty if this environment's Python does not look there (PEP
// 370; a virtual environment does not, unless it takes over the system's packages).
std::string user_base(const Machine& machine, const std::string& prefix) {
  const auto value = [&](const char* name) {
    const auto found = machine.environment.find(name);
    return found == machine.environment.end() ? std::string() : found->second;
  };
  if (!value("PYTHONNOUSERSITE").empty()) return {};
  const std::string settings = read_text(machine, prefix + "/pyvenv.cfg");
  if (machine.files->status(prefix + "/pyvenv.cfg", true).type != base::FileType::kMissing &&
      settings.find("include-system-site-packages = true") == std::string::npos)
    return {};
  if (std::string base = value("PYTHONUSERBASE"); !base.empty()) return base;
  const std::string home = value("HOME");
  return home.empty() ? home : home + "/.local";
}

void add_prefix(const Machine& machine, Facts& facts, const std::string& prefix) {
  const std::string lib = base::join_path(prefix, "lib");
  const std::string user = user_base(machine, prefix);
  const std::vector<std::string> pythons = pythons_in(machine, prefix);
  for (const std::string& python : pythons) {
    if (facts.python.empty()) facts.python = python;
    const std::string folder = fmt::format("lib/python{}", python);
    if (!user.empty())
      add_torch(machine, facts, fmt::format("{}/{}/site-packages", user, folder), python);
    for (const char* site : {"site-packages", "dist-packages"})
      add_torch(machine, facts, fmt::format("{}/{}/{}", prefix, folder, site), python);
  }
  // Debian's packages of Python are in a folder for all of its versions.
  if (!pythons.empty()) add_torch(machine, facts, lib + "/python3/dist-packages", pythons.front());
}

}  // namespace

void probe_torch(const Machine& machine, Facts& facts) {
  if (const auto path = facts.variable("PYTHONPATH"))
    for (const std::string_view folder : base::split(*path, ':'))
      if (!folder.empty()) add_torch(machine, facts, std::string(folder), {});
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (const auto prefix = facts.variable(name); prefix && !prefix->empty())
      add_prefix(machine, facts, *prefix);
  // If there is an active environment, the others do not matter.
  if (!facts.torches.empty()) return;
  for (const std::string& prefix : machine.prefixes) {
    add_prefix(machine, facts, prefix);
    if (!facts.torches.empty()) return;
  }
}

}  // namespace torchport::host
