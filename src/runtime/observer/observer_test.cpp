#include "runtime/observer/observer.h"

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include <ATen/ops/add.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <torch/library.h>
#include <unistd.h>

namespace torchport::observer {

namespace {

// Counts calls by name, and calls `beside` in each.
class Counter : public Listener {
 public:
  explicit Counter(void (*beside)() = nullptr) : beside_(beside) {}

  void observe(Call& call) override {
    if (beside_ != nullptr) beside_();
    call.proceed();
    const std::lock_guard<std::mutex> lock(mutex_);
    ++counts_[call.semantics().name];
  }

  std::map<std::string, int> counts() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return counts_;
  }

 private:
  void (*beside_)();
  std::mutex mutex_;
  std::map<std::string, int> counts_;
};

// Starts a listener and stops it at the end of the scope.
struct Started {
  explicit Started(void (*beside)() = nullptr) : counter(std::make_shared<Counter>(beside)) {
    start(counter);
  }
  ~Started() {
    counter->stop();
    leave_this_thread(*counter);
  }
  std::shared_ptr<Counter> counter;
};

using Counts = std::map<std::string, int>;

bool key_is_on() {
  return c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::TESTING_ONLY_GenericMode);
}

// Runs `body` in a child process and returns its exit status.
template <typename Body>
int in_child(const Body& body) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) _exit(body());
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("observer_test_nothing() -> ()", [] {});
}

}  // namespace

TEST_CASE("a call is seen as it was written, once, by each listener") {
  CHECK_FALSE(key_is_on());
  {
    const Started outer;
    at::ones({2});
    {
      const Started inner;
      const at::Tensor x = at::ones({2, 2});
      at::linear(x, x);
      CHECK(inner.counter->counts() == Counts{{"aten::ones", 1}, {"aten::linear", 1}});
    }
    at::ones({2});
    CHECK(outer.counter->counts() == Counts{{"aten::ones", 3}, {"aten::linear", 1}});
  }
  CHECK_FALSE(key_is_on());
}

TEST_CASE("listeners may end in another order than they began in") {
  auto first = std::make_unique<Started>();
  const Started second;
  first.reset();
  at::ones({2});
  CHECK(second.counter->counts() == Counts{{"aten::ones", 1}});
}

TEST_CASE("what a listener calls itself is not seen") {
  const Started calling([] { at::ones({1}); });
  const Started other;
  at::ones({2});
  CHECK(calling.counter->counts() == Counts{{"aten::ones", 1}});
  CHECK(other.counter->counts() == Counts{{"aten::ones", 1}});
}

TEST_CASE("torchport's own operators are not seen") {
  const Started listening;
  const auto op = c10::Dispatcher::singleton()
                      .findSchemaOrThrow("torchport::observer_test_nothing", "")
                      .typed<void()>();
  op.call();
  std::thread([&, own = joined_by_this_thread()] {
    op.call();  // nobody listens here
    join_this_thread(*own);
    op.call();
    // A thread of autograd has the key and has joined nothing, so all listeners hear it.
    leave_this_thread(*listening.counter);
    c10::impl::IncludeDispatchKeyGuard key(c10::DispatchKey::TESTING_ONLY_GenericMode);
    op.call();
    at::ones({1});
  }).join();
  CHECK(listening.counter->counts() == Counts{{"aten::ones", 1}});
}

TEST_CASE("what an operator raises goes through, and the next call is seen") {
  const Started first;
  const Started second;
  CHECK_THROWS_AS(at::add(at::ones({2}), at::ones({3})), c10::Error);
  CHECK(first.counter->counts() == Counts{{"aten::ones", 2}});
  at::ones({2});
  CHECK(second.counter->counts() == Counts{{"aten::ones", 3}});
}

TEST_CASE("a thread is heard when it has joined") {
  const Started listening;
  const SharedListeners own = joined_by_this_thread();
  std::thread([] { at::ones({1}); }).join();
  CHECK(listening.counter->counts().empty());
  std::thread([&] {
    join_this_thread(*own);
    join_this_thread(*own);  // joining twice counts once
    CHECK(hears_this_thread(*listening.counter));
    at::ones({1});
    leave_this_thread(*listening.counter);
    CHECK_FALSE(hears_this_thread(*listening.counter));
    at::ones({1});
  }).join();
  CHECK(listening.counter->counts() == Counts{{"aten::ones", 1}});
}

TEST_CASE("two threads with a listener each") {
  const auto work = [](int calls) {
    const Started listening;
    for (int i = 0; i < calls; ++i) at::ones({1});
    return listening.counter->counts().at("aten::ones");
  };
  int other = 0;
  std::thread thread([&] { other = work(300); });
  CHECK(work(200) == 200);
  thread.join();
  CHECK(other == 300);
}

TEST_CASE("a thread that lives longer than the listener pays for one call more") {
  std::atomic<int> step = 0;
  std::thread thread;
  {
    const Started listening;
    thread = std::thread([&, own = joined_by_this_thread()] {
      join_this_thread(*own);
      CHECK(key_is_on());
      step = 1;
      step.notify_one();
      step.wait(1);
      at::ones({1});
      CHECK_FALSE(key_is_on());
    });
    step.wait(0);
  }
  step = 2;
  step.notify_one();
  thread.join();
}

TEST_CASE("a child process is not heard, and may start a listener of its own") {
  const Started listening;
  at::ones({1});
  CHECK(in_child([&] {
          at::ones({1});
          const bool silent = listening.counter->counts().at("aten::ones") == 1;
          const Started own;
          at::ones({1});
          return silent && own.counter->counts() == Counts{{"aten::ones", 1}} ? 0 : 1;
        }) == 0);
  at::ones({1});
  CHECK(listening.counter->counts().at("aten::ones") == 2);
}

TEST_CASE("forking while other threads begin and end does not leave a lock held") {
  std::atomic<bool> done = false;
  std::thread busy([&] {
    while (!done) {
      const Started listening;
      at::ones({1});
    }
  });
  for (int i = 0; i < 50; ++i) {
    CHECK(in_child([] {
            const Started own;
            at::ones({1});
            return own.counter->counts() == Counts{{"aten::ones", 1}} ? 0 : 1;
          }) == 0);
  }
  done = true;
  busy.join();
}

}  // namespace torchport::observer
