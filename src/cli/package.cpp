#include "cli/package.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file_system.h"
#include "base/process.h"
#include "cli/python.h"
#include "cli/terminal.h"
#include "releases/table.h"

namespace torchport::cli {

namespace {

namespace fs = std::filesystem;

// Every installation has this file, whatever torch there is.
constexpr std::string_view kSign = "lib/device_kinds.json";

bool is_package(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / kSign, error);
}

// What Python prints for an expression over the module `name`; empty if it does not have it.
std::string ask_python(std::string_view name) {
  // The current folder may have a file importlib.py.
  const std::string code = fmt::format(
      "import sys\nif sys.path[:1] == ['']: del sys.path[0]\n"
      "import importlib.util as u; s = u.find_spec('{}'); print(s.origin if s else '', end='')",
      name);
  const auto ended = base::run(
      {.words = {python_of_this_environment(), "-c", code}, .errors_file = base::kNowhere});
  return ended && ended->well() ? ended->output : std::string();
}

tl::unexpected<base::Error> failure(std::string message) {
  return base::fail(base::ErrorCode::kUsage, std::move(message));
}

// Whether the file ends where its header says. A program that ends too early, as after a full disk,
// crashes when it is started. python/torchport/_runtimes.py does the same for libraries.
bool is_whole(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, sizeof(Elf64_Ehdr)> bytes{};
  if (!file.read(bytes.data(), bytes.size())) return false;
  const auto header = std::bit_cast<Elf64_Ehdr>(bytes);
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64)
    return false;
  return header.e_shoff + (std::uint64_t{header.e_shentsize} * header.e_shnum) <= size;
}

}  // namespace

base::Result<std::string> package_folder() {
  if (const fs::path own = own_folder(); !own.empty()) {
    const fs::path prefix = own.parent_path();
    for (const fs::path& site : site_folders(prefix))
      if (is_package(site / "torchport")) return (site / "torchport").string();
    // The second is the layout of `pip install --target`, and of a checkout.
    std::error_code error;
    if (is_package(prefix / "torchport"))
      return fs::canonical(prefix / "torchport", error).string();
  }
  if (const std::string module = ask_python("torchport"); !module.empty()) {
    const fs::path folder = fs::path(module).parent_path();
    if (is_package(folder)) return folder.string();
  }
  return failure(fmt::format(
      "the Python package torchport is not installed beside {}; install torchport again",
      own_folder().string()));
}

void show_package_to_python() {
  const auto package = package_folder();
  if (!package) return;  // what follows says so
  const char* given = std::getenv("PYTHONPATH");
  const std::string more = given == nullptr || *given == '\0' ? "" : std::string(":") + given;
  setenv("PYTHONPATH", (*package + "/_start" + more).c_str(), 1);
}

base::Result<std::string> torch_folder(const std::string& package) {
  std::error_code error;
  const fs::path beside = fs::path(package).parent_path() / "torch";
  if (fs::is_regular_file(beside / "version.py", error)) return beside.string();
  if (const std::string module = ask_python("torch"); !module.empty())
    return fs::path(module).parent_path().string();
  return failure(fmt::format("{} has no torch; torchport supports torch {}: pip install torch",
                             python_of_this_environment(),
                             fmt::join(releases::runtime_versions(), ", ")));
}

runtime_build::Places runtime_places(const std::string& package) {
  return runtime_build::places_of(package, &environment);
}

base::Result<RuntimeProgram> runtime_program(const std::string& name) {
  const auto package = package_folder();
  if (!package) return tl::unexpected<base::Error>(package.error());
  const auto root = torch_folder(*package);
  if (!root) return tl::unexpected<base::Error>(root.error());
  const base::FileSystem& files = base::real_file_system();
  const auto torch = runtime_build::read_torch_files(files, *root);
  if (!torch) return tl::unexpected<base::Error>(torch.error());
  const auto folder = runtime_build::choose(files, runtime_places(*package), *torch);
  if (!folder) return tl::unexpected<base::Error>(folder.error());
  const fs::path program = fs::path(*folder) / name;
  std::error_code error;
  if (!fs::is_regular_file(program, error))
    return failure(fmt::format("{} is missing; install torchport again", program.string()));
  for (const std::string& part :
       {name, std::string("libtorchport.so"), std::string("libtorchport_observer.so")}) {
    const fs::path path = program.parent_path() / part;
    if (!is_whole(path))
      return failure(fmt::format("{} is damaged; install torchport again", path.string()));
  }
  return RuntimeProgram{program.string(), *root + "/lib"};
}

}  // namespace torchport::cli
