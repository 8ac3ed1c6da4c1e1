#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest.h"
#include "base/tell.h"
#include "cli/command.h"
#include "cli/package.h"

namespace torchport::cli {

namespace {

constexpr const char* kFooter =
    "\nExit codes: 0 clean, 1 findings (or files that could not be checked), 2 wrong use, 3 "
    "internal error, 4 not known (plan).\n"
    "Settings live in [tool.torchport] of pyproject.toml or in torchport.toml.\n"
    "Start with `torchport check .`; `torchport COMMAND --help` says more.";

void on_interrupt(int /*signal*/) {
  // A second Ctrl-C does not wait for the current file.
  if (interrupted().exchange(true)) std::_Exit(130);
}

// Prints a folder of the package. It ends by an exception, as flags of CLI11 do.
void print_package_folder(const char* flag, const char* below) {
  const auto package = package_folder();
  if (!package) throw CLI::ValidationError(flag, package.error().message);
  fmt::print("{}{}\n", *package, below);
  throw CLI::Success();
}

void print_cmake_dir() {
  print_package_folder("--cmake-dir", "/build/cmake");
}

void print_cmake_prefix() {
  print_package_folder("--cmake-prefix", "");
}

// The exit code after everything is written. A full disk must not look like success.
int written(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  base::tell("torchport: the output cannot be written: {}\n", std::strerror(errno));
  return kInternalError;
}

// What was wrong with the command line. CLI11 does not name a command that does not exist.
std::string what_is_wrong(const CLI::ParseError& error, CLI::App& app,
                          const std::vector<std::string>& words) {
  const auto used = app.get_subcommands();
  CLI::App& parent = used.empty() ? app : *used.front();
  const std::size_t depth = used.empty() ? 0 : 1;
  const auto commands = parent.get_subcommands({});
  if (commands.empty() || !parent.get_subcommands().empty()) return error.what();
  if (words.size() <= depth) {
    std::vector<std::string> names;
    for (const CLI::App* command : commands) names.push_back(command->get_name());
    return fmt::format("{} needs one of these commands: {}", parent.get_name(),
                       fmt::join(names, ", "));
  }
  const std::string& word = words[depth];
  if (word.starts_with('-')) return fmt::format("unknown option {}", word);
  std::vector<std::string> kept;
  for (const CLI::App* command : commands) kept.push_back(command->get_name());
  const std::vector<std::string_view> names(kept.begin(), kept.end());
  const std::string meant = base::did_you_mean(word, names);
  return fmt::format(
      "there is no command \"{}\"{}", word,
      meant.empty() ? fmt::format("; the commands are {}", fmt::join(names, ", ")) : meant);
}

// `words` is the command line less the name of the program.
int run(std::vector<std::string> words) {
  CLI::App app{"Port PyTorch programs to any device, and prove it without the hardware.",
               "torchport"};
  app.set_version_flag("--version", std::string("torchport ") + TORCHPORT_VERSION,
                       "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.add_flag_callback("--cmake-dir", &print_cmake_dir,
                        "Print the folder of Torchport.cmake, for CMAKE_MODULE_PATH, and exit");
  app.add_flag_callback("--cmake-prefix", &print_cmake_prefix,
                        "Print the folder for CMAKE_PREFIX_PATH, by which find_package(torchport) "
                        "works, and exit");
  app.require_subcommand(1);
  app.footer(kFooter);
  app.get_formatter()->column_width(34);
  auto commands = all_commands();
  std::sort(commands.begin(), commands.end(),
            [](const Command& a, const Command& b) { return a.order < b.order; });
  for (const Command& command : commands) command.attach(app);
  if (words.empty()) {
    fmt::print("{}", app.help());
    return kUsageError;
  }
  for (const Command& command : commands) {
    if (command.takes_rest.empty() || words.front() != command.takes_rest) continue;
    const auto dashes = std::find(words.begin(), words.end(), "--");
    if (dashes == words.end()) break;
    after_dashes().emplace(dashes + 1, words.end());
    words.erase(dashes, words.end());
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // as CLI11 expects them
  } catch (const CLI::Success& done) {
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    const auto used = app.get_subcommands();
    base::tell("torchport: {}\nTry `torchport {}--help`.\n", what_is_wrong(error, app, words),
               used.empty() ? "" : used.front()->get_name() + " ");
    return kUsageError;
  }
  return exit_code();
}

}  // namespace

}  // namespace torchport::cli

int main(int argc, char** argv) {
  torchport::base::keep_standard_streams();
  struct sigaction action {};
  action.sa_handler = torchport::cli::on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  // With this `torchport check | head` ends without an error message.
  std::signal(SIGPIPE, SIG_DFL);
  try {
    return torchport::cli::written(torchport::cli::run({argv + std::min(argc, 1), argv + argc}));
  } catch (const std::exception& error) {
    // fmt::print throws if a large output meets a full disk.
    if (std::ferror(stdout) != 0) return torchport::cli::written(torchport::cli::kInternalError);
    torchport::base::tell(
        "torchport: internal error: {}\nThis is a bug of torchport; please report it with "
        "the command you ran.\n",
        error.what());
    return torchport::cli::kInternalError;
  }
}
