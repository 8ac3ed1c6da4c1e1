#include "source/server/jobs.h"

#include <thread>
#include <vector>

#include <doctest/doctest.h>

namespace torchport {
namespace {

using server::Job;
using server::Jobs;

// A worker with its jobs; ends with the test.
struct Running {
  Jobs jobs;
  std::thread worker{[this] { jobs.run(); }};
  Running() = default;
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    jobs.close();
    worker.join();
  }
};

TEST_CASE("jobs run in their order") {
  Running running;
  std::vector<int> order;
  for (int i = 0; i < 100; ++i)
    running.jobs.add({{}, [&order, i](const Job::Stop&) { order.push_back(i); }, {}});
  running.jobs.drain();
  REQUIRE(order.size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
}

// Keeps the worker busy until it is told to stop.
Job blocker(std::atomic<bool>& started, std::atomic<bool>& stopped, std::string key) {
  return {std::move(key),
          [&](const Job::Stop& stop) {
            started = true;
            while (!stop) std::this_thread::yield();
            stopped = true;
          },
          {}};
}

TEST_CASE("a job that is replaced does not run if it waits, and is stopped if it runs") {
  Running running;
  std::atomic<bool> started{false};
  std::atomic<bool> stopped{false};
  running.jobs.replace(blocker(started, stopped, "a"));
  while (!started) std::this_thread::yield();
  int ran = 0;
  int outdated = 0;
  running.jobs.replace({"b", [&](const Job::Stop&) { ++outdated; }, {}});
  running.jobs.replace({"b", [&](const Job::Stop&) { ++ran; }, {}});
  running.jobs.replace({"a", [&](const Job::Stop&) { ++ran; }, {}});
  running.jobs.drain();
  CHECK(stopped);
  CHECK(ran == 2);
  CHECK(outdated == 0);
}

TEST_CASE("a job that is cancelled says so if it waits, and is stopped if it runs") {
  Running running;
  std::atomic<bool> started{false};
  std::atomic<bool> stopped{false};
  running.jobs.add(blocker(started, stopped, "request:1"));
  while (!started) std::this_thread::yield();
  bool ran = false;
  bool cancelled = false;
  running.jobs.add({"request:2", [&](const Job::Stop&) { ran = true; }, [&] { cancelled = true; }});
  running.jobs.cancel("request:2");
  CHECK(cancelled);
  running.jobs.cancel("request:3");
  running.jobs.cancel("");
  CHECK_FALSE(stopped);
  running.jobs.cancel("request:1");
  running.jobs.drain();
  CHECK(stopped);
  CHECK_FALSE(ran);
}

TEST_CASE("idle steps run between jobs until they are done") {
  Running running;
  std::atomic<int> steps{0};
  std::atomic<int> late{0};
  running.jobs.set_idle("b", [&] {
    ++late;
    return false;
  });
  running.jobs.set_idle("a", [&] { return ++steps < 50; });
  for (int i = 0; i < 10; ++i) {
    running.jobs.add({{}, [](const Job::Stop&) {}, {}});
    running.jobs.drain();
  }
  while (steps < 50 || late < 1) std::this_thread::yield();
  running.jobs.add({{}, [](const Job::Stop&) {}, {}});
  running.jobs.drain();
  CHECK(steps == 50);
  CHECK(late == 1);
}

TEST_CASE("an idle step that is set again by itself goes on") {
  Running running;
  std::atomic<int> steps{0};
  running.jobs.set_idle("a", [&] {
    running.jobs.set_idle("a", [&] {
      ++steps;
      return false;
    });
    return false;
  });
  while (steps < 1) std::this_thread::yield();
  running.jobs.drain();
  CHECK(steps == 1);
}

TEST_CASE("closing stops what runs and drops what waits") {
  std::atomic<bool> started{false};
  std::atomic<bool> stopped{false};
  bool ran = false;
  {
    Running running;
    running.jobs.add(blocker(started, stopped, {}));
    while (!started) std::this_thread::yield();
    running.jobs.add({{}, [&](const Job::Stop&) { ran = true; }, {}});
  }
  CHECK(stopped);
  CHECK_FALSE(ran);
}

}  // namespace
}  // namespace torchport
