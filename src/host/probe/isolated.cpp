#include "host/probe/isolated.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace torchport::host {

namespace {

constexpr std::size_t kMostAnswer = 1U << 20U;

long now_in_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

void write_all(int pipe, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written = write(pipe, text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR) return;
    if (written > 0) at += static_cast<std::size_t>(written);
  }
}

}  // namespace

std::optional<std::string> read_pipe(int pipe, int milliseconds, std::size_t most) {
  const long end = now_in_milliseconds() + milliseconds;
  std::string text;
  for (;;) {
    const long left = end - now_in_milliseconds();
    if (left <= 0) return std::nullopt;
    pollfd waiting{pipe, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return std::nullopt;
    std::array<char, 4096> part{};
    const ssize_t got = read(pipe, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(got));
    if (text.size() > most) return std::nullopt;
  }
}

bool finish(int child, int milliseconds) {
  const long end = now_in_milliseconds() + milliseconds;
  int status = 0;
  for (;;) {
    const pid_t done = waitpid(child, &status, WNOHANG);
    if (done == child) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (done < 0 && errno != EINTR) return false;
    if (now_in_milliseconds() >= end) break;
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  kill(-child, SIGKILL);
  // A child that waits in the kernel for a driver survives this, and is not waited for.
  for (int i = 0; i < 100 && waitpid(child, &status, WNOHANG) == 0; ++i) {
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  return false;
}

std::optional<std::string> in_child(const std::function<std::string()>& ask, int milliseconds) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    close(ends[0]);
    // Output of the library is not shown.
    const int silent = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (silent >= 0) {
      for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(silent, stream);
    }
    write_all(ends[1], ask());
    _exit(0);
  }
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return std::nullopt;
  }
  setpgid(child, child);  // both processes call it, because either may run first
  auto text = read_pipe(ends[0], milliseconds, kMostAnswer);
  close(ends[0]);
  const bool well = finish(child, text ? milliseconds : 0);
  return well ? text : std::nullopt;
}

}  // namespace torchport::host
