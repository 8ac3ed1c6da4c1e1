// Implements `torchport nvcc`: nvcc's command line for virtual devices.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <xxhash.h>

#include "base/file_system.h"
#include "cli/command.h"
#include "cli/package.h"
#include "cli/python.h"
#include "cli/terminal.h"
#include "cuda/compiler/compile.h"
#include "cuda/compiler/options.h"

namespace torchport::cli::nvcc_command {

namespace {

constexpr const char* kHelp =
    "Usage: torchport nvcc [options] file.cu ...\n\n"
    "Compiles CUDA C++ for virtual devices with the host's C++ compiler. The options are those of\n"
    "nvcc; what concerns only the code of a GPU is read and has no effect. Under `torchport run`,\n"
    "nvcc on the PATH and CUDA_HOME are this one.\n\n"
    "  torchport nvcc x.cu -o x           a program\n"
    "  torchport nvcc -c x.cu -o x.o      an object\n"
    "  torchport nvcc -shared -Xcompiler -fPIC x.cu -o x.so\n"
    "  --dryrun                           print the steps and run none\n"
    "  --keep                             keep the C++ that the host's compiler gets\n"
    "  --check-kernels                    what is built can be checked (torchport run "
    "--check-kernels)\n";

// Words of an environment variable, as nvcc adds them.
void add_words(const char* variable, std::vector<std::string>& words, bool before) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return;
  std::vector<std::string> own = CLI::detail::split_up(text);
  words.insert(before ? words.begin() : words.end(), own.begin(), own.end());
}

// The folders with the headers of cub, thrust and cuda::std: of the packages nvidia-cuda-cccl of
// this environment, else those that stand in for the few that PyTorch's headers need.
std::vector<std::string> further_headers(const std::string& toolkit) {
  std::error_code error;
  for (const std::filesystem::path& site : site_folders(own_folder().parent_path())) {
    for (const char* below : {"nvidia/cuda_cccl/include", "nvidia/cu13/include/cccl"})
      if (std::filesystem::is_directory(site / below / "cub", error))
        return {(site / below).string()};
  }
  return {toolkit + "/without_cccl"};
}

// Of this program's bytes: another build of it makes other objects of the same text.
std::string own_number() {
  const auto bytes = base::real_file_system().read("/proc/self/exe");
  return fmt::format("0x{:016x}", bytes ? XXH3_64bits(bytes->data(), bytes->size()) | 1U : 1U);
}

int run_nvcc(std::vector<std::string> words) {
  add_words("NVCC_PREPEND_FLAGS", words, true);
  add_words("NVCC_APPEND_FLAGS", words, false);
  const auto expanded = cuda::with_response_files(words);
  if (!expanded) {
    print_error(expanded.error());
    return kUsageError;
  }
  auto options = cuda::parse_nvcc(*expanded);
  if (!options) {
    print_error(options.error());
    return kUsageError;
  }
  if (const char* check = std::getenv("TORCHPORT_CHECK_KERNELS"))
    options->check = options->check || *check != '\0';
  if (options->help) {
    fmt::print("{}", kHelp);
    return kClean;
  }
  if (options->version) {
    fmt::print(
        "nvcc: NVIDIA (R) Cuda compiler driver\n"
        "torchport {}, for virtual devices: kernels run on this machine's processor\n"
        "Cuda compilation tools, release 13.0, V13.0.88\n",
        TORCHPORT_VERSION);
    return kClean;
  }
  const auto package = package_folder();
  if (!package) {
    print_error(package.error());
    return kUsageError;
  }
  const std::string toolkit = *package + "/lib/cuda";
  const auto done = cuda::compile(*options, {toolkit, further_headers(toolkit), own_number()});
  if (!done) {
    print_error(done.error());
    return kFindings;
  }
  return *done;
}

void attach(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("nvcc", "Compile CUDA C++ for virtual devices, with nvcc's options");
  command->prefix_command();
  command->set_help_flag();
  command->callback([command] { set_exit_code(run_nvcc(command->remaining())); });
}

const CommandRegistration kRegistered{{.order = 7, .attach = &attach, .takes_rest = {}}};

}  // namespace

}  // namespace torchport::cli::nvcc_command
