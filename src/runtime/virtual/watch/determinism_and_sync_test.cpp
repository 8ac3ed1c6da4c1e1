// Runs with two virtual CUDA devices: see src/runtime/virtual/CMakeLists.txt.
#include "runtime/virtual/watch/determinism_and_sync.h"

#include <vector>

#include <ATen/Context.h>
#include <ATen/ops/ones.h>
#include <doctest/doctest.h>

#include "runtime/virtual/core/runtime.h"

namespace torchport::vdev {

namespace {

const observer::OperatorSemantics& semantics_named(const char* name, const char* overload = "") {
  return observer::semantics_of(c10::Dispatcher::singleton().findSchemaOrThrow(name, overload));
}

struct SyncIsAnError {
  SyncIsAnError() { set_sync_debug_mode(2); }
  ~SyncIsAnError() { set_sync_debug_mode(0); }
};

}  // namespace

TEST_CASE("what the observer calls a read, a device waits for") {
  REQUIRE(Runtime::get().count() == 2);
  const SyncIsAnError mode;
  int found = 0;
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op) continue;
    const auto& semantics = observer::semantics_of(*op);
    if (semantics.row.waits != observer::Waits::kAlways) continue;
    CAPTURE(semantics.name);
    const std::vector<c10::IValue> none(semantics.arguments);
    CHECK(semantics.reads_values(none.data()));
    const DeterminismAndSync speaks(semantics);
    CHECK_THROWS_AS(speaks(none.data()), c10::Error);
    ++found;
  }
  CHECK(found > 30);
}

TEST_CASE("a copy waits where it crosses devices, is blocking and moves anything") {
  const DeterminismAndSync copy(semantics_named("aten::copy_"));
  const at::Tensor host = at::ones({2});
  const at::Tensor device = at::ones({2}, at::TensorOptions().device(at::kCUDA));
  const at::Tensor nothing = at::ones({0}, at::TensorOptions().device(at::kCUDA));
  const SyncIsAnError mode;
  const auto waits = [&](const at::Tensor& to, const at::Tensor& from, bool non_blocking) {
    const std::vector<c10::IValue> arguments{to, from, non_blocking};
    try {
      copy(arguments.data());
      return false;
    } catch (const c10::Error&) {
      return true;
    }
  };
  CHECK(waits(host, device, false));
  CHECK(waits(device, host, false));
  CHECK_FALSE(waits(device, host, true));
  CHECK_FALSE(waits(device, device, false));
  CHECK_FALSE(waits(nothing, at::ones({0}), false));
}

TEST_CASE("what has no deterministic algorithm is refused under its kernel's name, or not") {
  const auto device = at::TensorOptions().device(at::kCUDA);
  const DeterminismAndSync histc(semantics_named("aten::histc"));
  const std::vector<c10::IValue> real{at::ones({2}, device), 4, at::Scalar(0), at::Scalar(1)};
  const std::vector<c10::IValue> integers{at::ones({2}, device.dtype(at::kLong)), 4, at::Scalar(0),
                                          at::Scalar(1)};
  histc(real.data());
  at::globalContext().setDeterministicAlgorithms(true, false);
  CHECK_THROWS_WITH_AS(histc(real.data()),
                       doctest::Contains("_histc_cuda with floating point input does not have a "
                                         "deterministic implementation"),
                       c10::Error);
  histc(integers.data());
  at::globalContext().setDeterministicAlgorithms(false, false);
}

}  // namespace torchport::vdev
