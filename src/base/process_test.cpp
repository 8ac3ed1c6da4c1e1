#include "base/process.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

#include "base/temporary_folder.h"

namespace torchport::base {
namespace {

using std::chrono::milliseconds;

Program shell(const std::string& script) {
  return {.words = {"sh", "-c", script}};
}

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::ptrdiff_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

TEST_CASE("output, errors and the exit code") {
  const auto ended = run(shell("echo out; echo err >&2; exit 3"));
  REQUIRE(ended);
  CHECK(ended->output == "out\n");
  CHECK(ended->errors == "err\n");
  CHECK(ended->exit_code == 3);
  CHECK(ended->status() == 3);
  CHECK_FALSE(ended->well());
  CHECK(run(shell("true"))->well());
}

TEST_CASE("a signal ends the program") {
  const auto ended = run(shell("kill -TERM $$"));
  REQUIRE(ended);
  CHECK(ended->signal == SIGTERM);
  CHECK(ended->exit_code == 0);
  CHECK(ended->status() == 128 + SIGTERM);
  CHECK_FALSE(ended->well());
}

TEST_CASE("standard input is empty") {
  CHECK(run({.words = {"cat"}})->output.empty());
}

TEST_CASE("the time limit kills the program and the processes that it started") {
  const TemporaryFolder folder;
  Program program = shell("(sleep 2; touch late) & echo early; wait");
  program.folder = folder.path().string();
  program.time_limit = milliseconds(200);
  Ended ended;
  CHECK(seconds_of([&] { ended = run(program).value(); }) < 1.9);
  CHECK(ended.out_of_time);
  CHECK(ended.signal == SIGKILL);
  CHECK(ended.output == "early\n");
  CHECK_FALSE(ended.well());
  std::this_thread::sleep_for(milliseconds(2200));
  CHECK_FALSE(std::filesystem::exists(folder.file("late")));
}

TEST_CASE("the time limit counts after the output has ended, and for output in files") {
  Program program = shell("exec >&- 2>&-; sleep 5");
  program.time_limit = milliseconds(200);
  Program silent = shell("sleep 5");
  silent.time_limit = milliseconds(200);
  silent.output_file = kNowhere;
  silent.errors_file = kNowhere;
  CHECK(seconds_of([&] {
          CHECK(run(program)->out_of_time);
          CHECK(run(silent)->out_of_time);
        }) < 2.0);
}

TEST_CASE("a program within its time limit ends as others do") {
  Program program = shell("sleep 0.05; echo done");
  program.time_limit = milliseconds(30'000);
  CHECK(run(program)->output == "done\n");
  CHECK(run(program)->well());
}

TEST_CASE("what cannot be started is named") {
  const auto missing = run({.words = {"torchport-no-such-program"}});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::kIo);
  CHECK(missing.error().path == "torchport-no-such-program");
  CHECK(missing.error().message == "No such file or directory");
  CHECK(run({.words = {"true"}, .folder = "/no/folder"}).error().path == "/no/folder");
  CHECK(run({.words = {"true"}, .output_file = "/no/file"}).error().path == "/no/file");
  CHECK_FALSE(run({.words = {}}));
}

TEST_CASE("both streams may have more than a pipe holds") {
  const auto ended = run(shell(
      "head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2"));
  REQUIRE(ended);
  CHECK(ended->output.size() == 300'000);
  CHECK(ended->errors.size() == 600'000);
  CHECK(ended->well());
}

TEST_CASE("a program with too much output is killed") {
  Program program = shell("echo 12345; exec sleep 20");
  program.most_output = 4;
  Ended ended;
  CHECK(seconds_of([&] { ended = run(program).value(); }) < 10);
  CHECK(ended.too_much_output);
  CHECK_FALSE(ended.out_of_time);
  CHECK(ended.output == "1234");
  CHECK_FALSE(ended.well());
  program = shell("printf 1234");
  program.most_output = 4;
  CHECK(run(program)->well());
}

TEST_CASE("output goes to files") {
  const TemporaryFolder folder;
  Program program = shell("echo out; echo err >&2");
  program.output_file = folder.file("out");
  program.errors_file = folder.file("err");
  std::ofstream(program.output_file) << "what was there before";
  const auto ended = run(program);
  REQUIRE(ended);
  CHECK(ended->output.empty());
  std::string line;
  CHECK(std::getline(std::ifstream(program.output_file), line));
  CHECK(line == "out");
  CHECK(std::getline(std::ifstream(program.errors_file), line));
  CHECK(line == "err");
}

TEST_CASE("a watched program is ended with what it started, and may say farewell") {
  const TemporaryFolder folder;
  const std::string note = folder.file("note");
  Program program = shell("trap 'echo bye >" + note + "; exit 3' TERM; sleep 60 & wait");
  program.output_file = folder.file("output");
  program.errors_file = kNowhere;
  int looks = 0;
  program.watch = [&] { return ++looks < 3; };
  std::optional<Ended> ended;
  CHECK(seconds_of([&] { ended = run(program).value(); }) < 5);
  CHECK(ended->stopped);
  CHECK(!ended->well());
  CHECK(ended->exit_code == 3);
  CHECK(looks == 3);
  CHECK(std::filesystem::exists(note));
  Program quick = shell("exit 0");
  quick.output_file = quick.errors_file = kNowhere;
  quick.watch = [] { return true; };
  CHECK(run(quick).value().well());
}

TEST_CASE("the folder and the environment") {
  setenv("TORCHPORT_PROCESS_TEST", "old", 1);
  const TemporaryFolder folder;
  Program program = shell("pwd -P; echo ${TORCHPORT_PROCESS_TEST-unset}");
  program.folder = folder.path().string();
  const std::string place = std::filesystem::canonical(folder.path()).string();
  CHECK(run(program)->output == place + "\nold\n");
  program.environment["TORCHPORT_PROCESS_TEST"] = "new";
  CHECK(run(program)->output == place + "\nnew\n");
  program.environment["TORCHPORT_PROCESS_TEST"] = std::nullopt;
  CHECK(run(program)->output == place + "\nunset\n");
  unsetenv("TORCHPORT_PROCESS_TEST");
}

TEST_CASE("no descriptor stays open here or reaches the program, also from many threads") {
  const auto before = open_files();
  std::vector<std::thread> threads;
  std::vector<std::string> seen(4);
  for (std::string& text : seen) {
    threads.emplace_back([&text] {
      for (int i = 0; i < 10; ++i) text = run(shell("echo /proc/$$/fd/*"))->output;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_FALSE(run({.words = {"torchport-no-such-program"}}));
  CHECK(open_files() == before);
  // 0, 1 and 2. Others belong to whoever started the test.
  const std::string alone = run(shell("echo /proc/$$/fd/*"))->output;
  const auto count = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '/') / 4;
  };
  for (const std::string& text : seen) CHECK(count(text) == count(alone));
}

TEST_CASE("a child process answers in time or not at all") {
  const milliseconds second(1000);
  CHECK(in_child([] { return std::string(100'000, 'x'); }, second) == std::string(100'000, 'x'));
  CHECK(in_child([] { return std::string(); }, second) == std::string());
  CHECK_FALSE(in_child([] { return std::string(4'000'000, 'x'); }, second).has_value());
  CHECK_FALSE(in_child([]() -> std::string { _exit(3); }, second).has_value());
  CHECK_FALSE(in_child(
                  []() -> std::string {
                    raise(SIGSEGV);
                    return {};
                  },
                  second)
                  .has_value());
  const double seconds = seconds_of([] {
    CHECK_FALSE(in_child(
                    []() -> std::string {
                      for (;;) pause();
                    },
                    milliseconds(200))
                    .has_value());
  });
  CHECK(seconds < 1.0);
}

TEST_CASE("a command in the foreground is watched until it ends, and gets requests to terminate") {
  const milliseconds step(5);
  int looks = 0;
  const auto count = [&](pid_t process) { looks += kill(process, 0) == 0 ? 1 : 0; };
  const auto ended = run_in_foreground({.words = {"sh", "-c", "sleep 0.1; exit 7"}}, step, count);
  REQUIRE(ended.has_value());
  CHECK(ended->status() == 7);
  CHECK(looks > 0);
  CHECK(run_in_foreground({.words = {"sh", "-c", "kill -KILL $$"}}, step, count)->status() ==
        128 + SIGKILL);
  CHECK(run_in_foreground({.words = {"no-such-program"}}, step, count).error().path ==
        "no-such-program");

  const TemporaryFolder folder;
  const std::string file = folder.file("out");
  const Program told{.words = {"sh", "-c", "echo told"}, .output_file = file};
  CHECK(run_in_foreground(told, step, count)->status() == 0);
  std::string line;
  CHECK((std::getline(std::ifstream(file), line) && line == "told"));

  // SIGTERM to this process ends the command, and Ctrl-C is the command's alone.
  const auto terminate = [](pid_t) {
    raise(SIGINT);
    raise(SIGTERM);
  };
  CHECK(run_in_foreground({.words = {"sleep", "10"}}, step, terminate)->status() == 128 + SIGTERM);
}

}  // namespace
}  // namespace torchport::base
