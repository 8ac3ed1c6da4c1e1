// This program is linked as the installed ones are: libtorchport_old_glibc.a and libstdc++.a take
// the place of what an older system lacks.
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#include <sys/stat.h>

#include "portable/condition_wait.h"

// doctest would ask for the size of a signal stack in a way that only glibc 2.34 and later know.
#define DOCTEST_CONFIG_NO_POSIX_SIGNALS
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

namespace {

using std::chrono::milliseconds;

struct Counted {
  Counted() { ++constructed(); }
  static int& constructed() {
    static int count = 0;
    return count;
  }
};
const Counted at_start;

int deep(int levels) {
  if (levels == 0) throw std::runtime_error("from the depth");
  return deep(levels - 1) + 1;
}

timespec after(clockid_t clock, long nanoseconds) {
  timespec time{};
  clock_gettime(clock, &time);
  time.tv_nsec += nanoseconds;
  time.tv_sec += time.tv_nsec / 1'000'000'000;
  time.tv_nsec %= 1'000'000'000;
  return time;
}

}  // namespace

TEST_CASE("static objects are constructed exactly once") {
  CHECK(Counted::constructed() == 1);
}

TEST_CASE("exceptions find their handler, also in a thread") {
  CHECK_THROWS_AS(deep(20), std::runtime_error);
  std::string seen;
  std::thread([&] {
    try {
      static_cast<void>(std::filesystem::file_size("/no/such/file"));
    } catch (const std::filesystem::filesystem_error& error) {
      seen = error.path1().string();
    }
  }).join();
  CHECK(seen == "/no/such/file");
}

TEST_CASE("files and links are told apart") {
  const auto folder = std::filesystem::temp_directory_path() / "torchport-portable-test";
  std::filesystem::create_directories(folder);
  const auto file = folder / "file";
  const auto link = folder / "link";
  std::ofstream(file) << "12345";
  std::filesystem::remove(link);
  std::filesystem::create_symlink(file, link);
  CHECK(std::filesystem::file_size(link) == 5);
  CHECK(std::filesystem::is_symlink(link));
  CHECK(std::filesystem::is_regular_file(file));
  struct stat status {};
  CHECK(stat(file.c_str(), &status) == 0);
  CHECK(status.st_size == 5);
  CHECK(lstat(link.c_str(), &status) == 0);
  CHECK(S_ISLNK(status.st_mode));
  CHECK(stat("/no/such/file", &status) == -1);
  std::filesystem::remove_all(folder);
}

TEST_CASE("numbers and streams") {
  const std::string text = "2.5e3";
  double number = 0;
  CHECK(std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc());
  CHECK(number == 2500);
  std::ostringstream out;
  out << std::hex << 255 << ' ' << 0.5;
  CHECK(out.str() == "ff 0.5");
  CHECK(std::random_device{}() != std::random_device{}());
}

TEST_CASE("a wait ends at its time or when it is woken") {
  std::mutex mutex;
  std::condition_variable condition;
  std::unique_lock lock(mutex);
  const auto start = std::chrono::steady_clock::now();
  CHECK_FALSE(condition.wait_for(lock, milliseconds(30), [] { return false; }));
  CHECK(std::chrono::steady_clock::now() - start >= milliseconds(30));
  bool ready = false;
  std::thread other([&] {
    const std::lock_guard guard(mutex);
    ready = true;
    condition.notify_one();
  });
  CHECK(condition.wait_for(lock, std::chrono::seconds(20), [&] { return ready; }));
  lock.unlock();
  other.join();
}

TEST_CASE("the wait for an older glibc translates the clock") {
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  for (const long nanoseconds : {20'000'000L, 999'999'999L / 16}) {
    const timespec until = after(CLOCK_MONOTONIC, nanoseconds);
    CHECK(torchport::portable::wait_by_the_clock_of_the_day(&condition, &mutex, CLOCK_MONOTONIC,
                                                            &until) == ETIMEDOUT);
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    CHECK((now.tv_sec > until.tv_sec || now.tv_nsec >= until.tv_nsec));
  }
  pthread_mutex_unlock(&mutex);
}
