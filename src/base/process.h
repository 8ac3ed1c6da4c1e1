// Runs other programs, and questions in a child process. It is the only place where a process is
// started and waited for, so that each has the same limits and leaks no descriptor.
//
// run() starts no thread: it waits until the program has ended. A command *replaces* this program
// (execvp, cli/forward.h) needs nothing of this.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/result.h"

namespace torchport::base {

// A file that takes what nobody reads.
constexpr const char* kNowhere = "/dev/null";

struct Program {
  // The program and its arguments. A program without a slash is searched for in PATH.
  std::vector<std::string> words;
  // Variables that differ from those of this process: none removes a variable.
  std::map<std::string, std::optional<std::string>> environment{};
  std::string folder{};  // where it runs; empty: the current folder
  // Files for its standard output and errors, which are made or emptied. Empty: they are kept in
  // memory. Its standard input is empty in any case.
  std::string output_file{};
  std::string errors_file{};
  // How many bytes of each stream are kept in memory. A program that writes more is killed.
  std::size_t most_output = std::size_t{64} << 20U;
  // A program with a time limit leads a process group, which is killed at the limit with all
  // processes in it. It gets no Ctrl-C of the terminal. One without a limit stays in the group of
  // this process.
  std::optional<std::chrono::milliseconds> time_limit{};
  // For long work: it is called ten times a second while the program runs, and ends the program by
  // returning false: SIGTERM first, because build tools then end what they started themselves. The
  // program leads a process group, too. REQUIRED: both streams go to files, and no time limit.
  std::function<bool()> watch{};
};

struct Ended {
  int exit_code = 0;  // 0 if a signal ended the program
  int signal = 0;     // 0 if it exited
  bool out_of_time = false;
  bool too_much_output = false;
  bool stopped = false;  // by `watch`
  std::string output{};  // as far as it was kept in memory
  std::string errors{};

  // Whether it exited with 0 within its limits.
  [[nodiscard]] bool well() const {
    return exit_code == 0 && signal == 0 && !out_of_time && !too_much_output && !stopped;
  }
  // As a shell tells it: the exit code, or 128 + the signal.
  [[nodiscard]] int status() const { return signal == 0 ? exit_code : 128 + signal; }
};

// Runs a program until it has ended and its streams in memory are closed, also by the processes
// that it started. Fails with kIo if it cannot be started; the path is that of the program, the
// folder or the file that is the reason. A program that ends badly or reaches a limit is a result.
// Thread safe, as long as no thread changes the environment.
[[nodiscard]] Result<Ended> run(const Program& program);

// Runs a command as a shell does: it has the process group of this process, so that the terminal's
// Ctrl-C reaches it, and the streams of this process but for those that go to files. Meanwhile this
// process ignores SIGINT and SIGQUIT, and passes SIGTERM and SIGHUP on. `watch` is called with the
// command's process number after each `step`. Fails with kIo if the command cannot be started. Not
// thread safe: it handles signals.
[[nodiscard]] Result<Ended> run_in_foreground(const Program& program,
                                              std::chrono::milliseconds step,
                                              const std::function<void(pid_t process)>& watch);

// Runs `ask` in a child process and returns its result; none if it did not answer in time or ended
// in another way. A library of a broken driver may hang or end its process; here that is an answer,
// too. Not thread safe: call it before this program starts threads.
[[nodiscard]] std::optional<std::string> in_child(const std::function<std::string()>& ask,
                                                  std::chrono::milliseconds time_limit);

}  // namespace torchport::base
