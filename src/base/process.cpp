#include "base/process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

// POSIX: NOLINTNEXTLINE(readability-identifier-naming,readability-redundant-declaration)
extern char** environ;

namespace torchport::base {

namespace {

using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;
using std::chrono::milliseconds;

constexpr std::size_t kMostAnswer = 1U << 20U;
constexpr milliseconds kPause{1};
// The status of a process that the system has reaped itself, because SIGCHLD is ignored: the exit
// code 255.
constexpr int kUnknownEnd = 255 << 8;
// The time that a killed process has to disappear.
constexpr milliseconds kDeath{100};
// The time that a program has to end by itself after SIGTERM, and how often it is looked at.
constexpr milliseconds kFarewell{5000};
constexpr milliseconds kLook{100};

tl::unexpected<Error> system_failure(int code, std::string path) {
  return fail(ErrorCode::kIo, std::generic_category().message(code), std::move(path));
}

class Descriptor {
 public:
  Descriptor() = default;
  // Numbers 0 to 2 are the child's own streams. A process that has closed its own may get them for
  // other files, which then move to a higher number.
  explicit Descriptor(int opened) : number_(opened) {
    if (opened < 0 || opened > STDERR_FILENO) return;
    number_ = fcntl(opened, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    ::close(opened);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

// One output stream of a child process: a pipe, of which this process reads one end, or a file.
struct Stream {
  Descriptor reader{};  // not open for a file
  Descriptor writer{};
  std::string text{};
};

Result<Stream> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return system_failure(errno, "pipe");
  Stream stream{Descriptor(ends[0]), Descriptor(ends[1]), {}};
  if (!stream.reader.is_open() || !stream.writer.is_open()) return system_failure(errno, "pipe");
  return stream;
}

Result<Stream> make_stream(const std::string& path) {
  if (path.empty()) return make_pipe();
  Stream stream;
  stream.writer = Descriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!stream.writer.is_open()) return system_failure(errno, path);
  return stream;
}

enum class Reading : std::uint8_t { kComplete, kOutOfTime, kTooMuch };

// Appends what a stream has; closes it at its end.
Reading read_part(Stream& stream, std::size_t most) {
  std::array<char, 16384> part{};
  const ssize_t got = read(stream.reader.number(), part.data(), part.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return Reading::kComplete;
  if (got <= 0) {
    stream.reader.close();
    return Reading::kComplete;
  }
  const auto size = static_cast<std::size_t>(got);
  const std::size_t room = most - stream.text.size();
  stream.text.append(part.data(), std::min(size, room));
  return size > room ? Reading::kTooMuch : Reading::kComplete;
}

// Milliseconds until the deadline as poll() takes them: -1 is no limit, and a part of one counts.
int milliseconds_until(const Deadline& deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<milliseconds>(*deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<milliseconds::rep>(left, 0, 1'000'000));
}

// Reads all pipes until their other ends are closed.
Reading read_all(std::span<Stream> streams, const Deadline& deadline, std::size_t most) {
  for (;;) {
    std::vector<pollfd> waiting;
    std::vector<Stream*> waiting_for;
    for (Stream& stream : streams) {
      if (!stream.reader.is_open()) continue;
      waiting.push_back({stream.reader.number(), POLLIN, 0});
      waiting_for.push_back(&stream);
    }
    if (waiting.empty()) return Reading::kComplete;
    const int left = milliseconds_until(deadline);
    if (left == 0) return Reading::kOutOfTime;
    if (poll(waiting.data(), waiting.size(), left) <= 0) continue;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].revents == 0) continue;
      if (read_part(*waiting_for[i], most) == Reading::kTooMuch) return Reading::kTooMuch;
    }
  }
}

// Waits for a child process and reaps it. None if it still runs at the deadline.
std::optional<int> reap(pid_t child, const Deadline& deadline) {
  for (;;) {
    int status = 0;
    const pid_t done = waitpid(child, &status, deadline ? WNOHANG : 0);
    if (done == child) return status;
    if (done < 0 && errno != EINTR) return kUnknownEnd;
    if (done == 0) {
      if (Clock::now() >= *deadline) return std::nullopt;
      std::this_thread::sleep_for(kPause);
    }
  }
}

void set_end(Ended& ended, int status) {
  ended.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  ended.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

// Reads the streams of a child process until they are closed, waits until it has ended, and kills
// it at a limit. It leads a process group if there is a deadline.
Ended end_of(pid_t child, std::span<Stream> streams, const Deadline& deadline, std::size_t most) {
  Ended ended;
  const Reading reading = read_all(streams, deadline, most);
  ended.too_much_output = reading == Reading::kTooMuch;
  ended.out_of_time = reading == Reading::kOutOfTime;
  // It may still run after its output has ended.
  std::optional<int> status;
  if (reading == Reading::kComplete) {
    status = reap(child, deadline);
    ended.out_of_time = !status;
  }
  if (!status) {
    // The child is not reaped yet, so no other process has its number.
    kill(deadline ? -child : child, SIGKILL);
    // A child that waits in the kernel for a driver survives this, and is not waited for.
    status = reap(child, Clock::now() + kDeath).value_or(SIGKILL);
  }
  set_end(ended, *status);
  return ended;
}

// Waits for a child process that leads a process group, and ends it when `watch` says so.
Ended watched_end_of(pid_t child, const std::function<bool()>& watch) {
  Ended ended;
  std::optional<int> status;
  while (!(status = reap(child, Clock::now() + kLook)) && !ended.stopped) ended.stopped = !watch();
  if (!status) {
    kill(-child, SIGTERM);
    status = reap(child, Clock::now() + kFarewell);
  }
  if (ended.stopped) kill(-child, SIGKILL);
  if (!status) status = reap(child, Clock::now() + kDeath).value_or(SIGKILL);
  set_end(ended, *status);
  return ended;
}

std::vector<std::string> environment_of(const Program& program) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!program.environment.contains(std::string(text.substr(0, text.find('=')))))
      result.emplace_back(text);
  }
  for (const auto& [name, value] : program.environment) {
    if (value) result.push_back(std::string(name).append("=").append(*value));
  }
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  result.reserve(words.size() + 1);
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

// Why a child process could not become its program.
struct NotStarted {
  int code = 0;
  bool folder = false;
};

// Gives a child process the streams and the folder of its program. It takes no memory and no lock,
// because another thread of the parent may have held one during fork().
NotStarted prepare_child(const Program& program, int output, int errors) {
  if ((program.time_limit || program.watch) && setpgid(0, 0) != 0) return {errno};
  const Descriptor input(open(kNowhere, O_RDONLY | O_CLOEXEC));
  if (!input.is_open() || dup2(input.number(), STDIN_FILENO) < 0 ||
      dup2(output, STDOUT_FILENO) < 0 || dup2(errors, STDERR_FILENO) < 0)
    return {errno};
  if (!program.folder.empty() && chdir(program.folder.c_str()) != 0) return {errno, true};
  return {};
}

// posix_spawn() is not used, because before glibc 2.29 it cannot change the folder.
// `prepare` runs in the child process.
template <typename Prepare>
Result<pid_t> start(const Program& program, const Prepare& prepare) {
  auto report = make_pipe();
  if (!report) return tl::unexpected<Error>(std::move(report).error());
  std::vector<std::string> words = program.words;
  std::vector<std::string> variables = environment_of(program);
  std::vector<char*> arguments = pointers(words);
  std::vector<char*> environment = pointers(variables);
  const pid_t child = fork();
  if (child < 0) return system_failure(errno, program.words.front());
  NotStarted failure;
  if (child == 0) {
    failure = prepare();
    if (failure.code == 0) {
      execvpe(arguments.front(), arguments.data(), environment.data());
      failure = {errno};
    }
    [[maybe_unused]] const ssize_t written =
        write(report->writer.number(), &failure, sizeof failure);
    _exit(127);
  }
  if (program.time_limit || program.watch)
    setpgid(child, child);  // both call it, because either may run first
  // The program closes the pipe when it starts.
  report->writer.close();
  ssize_t got = 0;
  while ((got = read(report->reader.number(), &failure, sizeof failure)) < 0 && errno == EINTR) {
  }
  if (got != sizeof failure) return child;
  reap(child, std::nullopt);
  return system_failure(failure.code, failure.folder ? program.folder : program.words.front());
}

// The process that gets the requests to terminate which this process gets, and the last of them
// that came before there was one; 0 for none.
volatile std::sig_atomic_t foreground_process = 0;
volatile std::sig_atomic_t early_request = 0;

void pass_on(int signal) {
  if (foreground_process > 0)
    kill(static_cast<pid_t>(foreground_process), signal);
  else
    early_request = signal;
}

// Leaves the terminal's signals to another process until it is destroyed. It is made before that
// process, so that none is lost in between.
class SignalsPassedOn {
 public:
  SignalsPassedOn() {
    foreground_process = 0;
    early_request = 0;
    struct sigaction ignored {};
    ignored.sa_handler = SIG_IGN;
    struct sigaction passed {};
    passed.sa_handler = &pass_on;
    for (std::size_t i = 0; i < kSignals.size(); ++i)
      sigaction(kSignals[i], i < kIgnored ? &ignored : &passed, &before_[i]);
  }
  ~SignalsPassedOn() {
    restore();
    foreground_process = 0;
  }
  SignalsPassedOn(const SignalsPassedOn&) = delete;
  SignalsPassedOn& operator=(const SignalsPassedOn&) = delete;

  // In the child process, which would go on to ignore what is ignored here.
  void restore() const {
    for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
  }

  static void pass_to(pid_t process) {
    foreground_process = process;
    if (early_request != 0) kill(process, early_request);
  }

 private:
  static constexpr std::array kSignals{SIGINT, SIGQUIT, SIGTERM, SIGHUP};
  static constexpr std::size_t kIgnored = 2;
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace

Result<Ended> run(const Program& program) {
  if (program.words.empty()) return fail(ErrorCode::kInternal, "a program without a name");
  std::array<Stream, 2> streams;
  const std::array<std::string, 2> paths{program.output_file, program.errors_file};
  for (std::size_t i = 0; i < streams.size(); ++i) {
    auto stream = make_stream(paths[i]);
    if (!stream) return tl::unexpected<Error>(std::move(stream).error());
    streams[i] = std::move(*stream);
  }
  const auto child = start(program, [&] {
    return prepare_child(program, streams[0].writer.number(), streams[1].writer.number());
  });
  if (!child) return tl::unexpected<Error>(child.error());
  for (Stream& stream : streams) stream.writer.close();
  if (program.watch) return watched_end_of(*child, program.watch);
  const Deadline deadline =
      program.time_limit ? Deadline(Clock::now() + *program.time_limit) : std::nullopt;
  Ended ended = end_of(*child, streams, deadline, program.most_output);
  ended.output = std::move(streams[0].text);
  ended.errors = std::move(streams[1].text);
  return ended;
}

Result<Ended> run_in_foreground(const Program& program, milliseconds step,
                                const std::function<void(pid_t)>& watch) {
  if (program.words.empty()) return fail(ErrorCode::kInternal, "a program without a name");
  std::vector<std::pair<Stream, int>> files;
  for (const auto& [path, number] :
       {std::pair(program.output_file, STDOUT_FILENO), {program.errors_file, STDERR_FILENO}}) {
    if (path.empty()) continue;
    auto stream = make_stream(path);
    if (!stream) return tl::unexpected<Error>(std::move(stream).error());
    files.emplace_back(std::move(*stream), number);
  }
  const SignalsPassedOn signals;
  const auto child = start(program, [&] {
    signals.restore();
    for (const auto& [stream, number] : files)
      if (dup2(stream.writer.number(), number) < 0) return NotStarted{errno};
    return NotStarted{};
  });
  if (!child) return tl::unexpected<Error>(child.error());
  SignalsPassedOn::pass_to(*child);
  Ended ended;
  std::optional<int> status;
  while (!(status = reap(*child, Clock::now() + step))) watch(*child);
  set_end(ended, *status);
  return ended;
}

std::optional<std::string> in_child(const std::function<std::string()>& ask,
                                    milliseconds time_limit) {
  auto stream = make_pipe();
  if (!stream) return std::nullopt;
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) {
    setpgid(0, 0);
    stream->reader.close();
    // Output of the library is not shown.
    const Descriptor silent(open(kNowhere, O_RDWR | O_CLOEXEC));
    for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      if (silent.is_open()) dup2(silent.number(), number);
    }
    const std::string answer = ask();
    for (std::size_t at = 0; at < answer.size();) {
      const ssize_t written = write(stream->writer.number(), &answer[at], answer.size() - at);
      if (written < 0 && errno != EINTR) break;
      if (written > 0) at += static_cast<std::size_t>(written);
    }
    _exit(0);
  }
  setpgid(child, child);  // both processes call it, because either may run first
  stream->writer.close();
  const Ended ended = end_of(child, {&*stream, 1}, Clock::now() + time_limit, kMostAnswer);
  return ended.well() ? std::optional(std::move(stream->text)) : std::nullopt;
}

}  // namespace torchport::base
