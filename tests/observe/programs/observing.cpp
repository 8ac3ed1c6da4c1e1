// The observer from C++, without Python: what it counts, whose tensors met, who may watch.
#include <cstdio>
#include <exception>
#include <thread>

#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <torchport/observe.h>

namespace {

int failures = 0;

void check(bool good, const char* what) {
  if (good) return;
  ++failures;
  std::printf("failed: %s\n", what);
}

torchport::Observed observe_a_mixed_call() {
  torchport::ObserveOptions options;
  std::uint32_t place = 0;
  options.place = [&] { return ++place; };
  torchport::Observation observation(std::move(options));
  check(observation.enter(7), "a module is entered on a watched thread");
  const at::Tensor host = at::ones({2, 3});
  const at::Tensor meta = at::empty({2, 3}, at::TensorOptions().device(at::kMeta));
  const at::Tensor view = host.view({3, 2}).t();
  try {
    at::add(view, meta);
    check(false, "a mixed call raises");
  } catch (const std::exception&) {
    check(observation.leave() && !observation.leave(), "it is left once");
  }
  std::thread([&] {
    check(!observation.enter(8), "a thread that is not watched enters nothing");
    observation.attach_thread();
    at::ones({1}).item();
  }).join();
  std::thread([own = torchport::ObservedThread::current()] {
    own.join();
    at::ones({1});
  }).join();
  std::thread([] { at::ones({1}); }).join();  // not attached
  return observation.finish();
}

void check_mixed(const torchport::Observed& seen) {
  check(seen.mixed.has_value() && seen.mixed_count == 1, "the mixed call is kept");
  if (!seen.mixed) return;
  const torchport::MixedCall& mixed = *seen.mixed;
  check(mixed.call.op == "aten::add.Tensor", "its name");
  check(seen.scopes.at(mixed.call.scope).module == 7, "its module");
  check(mixed.participants.size() == 2 && mixed.participants[1].argument == "other", "its tensors");
  const auto& story = mixed.participants[0].story;
  check(story.size() == 3 && story[0].op == "aten::t" && story[1].op == "aten::view" &&
            story[2].op == "aten::ones" && story[2].kind == torchport::CallKind::kMade,
        "the story of a view");
  check(story.size() == 3 && story[2].place != 0 && story[1].place == 0,
        "places of what is made only");
  check(mixed.participants[0].facts.sizes == std::vector<std::int64_t>({2, 3}), "its sizes");
}

}  // namespace

int main() {
  const torchport::Observed seen = observe_a_mixed_call();
  check_mixed(seen);
  check(seen.operators == 8, "ones, empty, view, t, add; ones and item, ones of attached threads");
  check(seen.transfers.size() == 1 && seen.transfers[0].op == "aten::item", "the read");
  {
    torchport::Observation first({});
    torchport::Observation second({});
    at::ones({1});
    check(first.finish().operators == 1, "the first of two sees a call");
    at::ones({1});
    check(second.finish().operators == 2, "the second goes on without the first");
  }
  torchport::Observation again({});
  at::ones({1});
  check(again.finish().operators == 1, "begins anew");
  std::printf("%d failures\n", failures);
  return failures;
}
