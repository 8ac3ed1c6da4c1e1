#include <initializer_list>
#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/file_system.h"
#include "runtime/proof/alignment.h"
#include "runtime/proof/output.h"
#include "runtime/proof/trace.h"

namespace torchport {
namespace {

using proof::compare_output;

TEST_CASE("numbers of outputs are compared as numbers, times not at all") {
  CHECK_FALSE(compare_output("loss 0.5000\n", "loss 0.5\n", 0).has_value());
  CHECK(compare_output("loss 0.5\n", "loss 0.6\n", 0.01)->line == 1);
  CHECK_FALSE(compare_output("loss 0.5\n", "loss 0.501\n", 0.01).has_value());
  CHECK_FALSE(compare_output("epoch 1: 3.2 s, 12 it/s\n", "epoch 1: 9.9 s, 4 it/s\n", 0));
  CHECK_FALSE(compare_output("elapsed: 3.2\n", "elapsed: 4\n", 0));
  CHECK_FALSE(compare_output("took 0:01:07\n", "took 0:02:08\n", 0));
  CHECK(compare_output("acc 3 samples2\n", "acc 4 samples2\n", 0)->second == "acc 4 samples2");
  CHECK(compare_output("a\nb\n", "a\n", 1)->line == 2);
  CHECK(compare_output("nan\n", "1.0\n", 1).has_value());
  CHECK(compare_output("conv1 x\n", "conv2 x\n", 1).has_value());
  CHECK(compare_output("-1\n", "1\n", 0.1).has_value());
}

proof::Trace trace_of(const char* text) {
  base::MemoryFileSystem files;
  files.add("t", text);
  files.add("t.lines", "none\ntrain.py:3\n");
  auto trace = proof::Trace::read(files, "t");
  REQUIRE(trace.has_value());
  return std::move(*trace);
}

constexpr const char* kTrace =
    "aten::mm\t1\tFloat[2,2]:00000000000000aa:0.5:0.5\naten::sum\t0\tFloat[]:00000000000000bb:2:"
    "2\n";

TEST_CASE("equal traces are equal bit by bit") {
  const auto a = trace_of(kTrace);
  const auto b = trace_of(kTrace);
  const auto compared = proof::compare(a, b);
  CHECK(compared.calls == 2);
  CHECK_FALSE(compared.differing.has_value());
  CHECK(compared.equal_bits);
  CHECK(a.line_of(a.calls()[0]) == "train.py:3");
}

TEST_CASE("the first difference is where traces part") {
  const auto a = trace_of(kTrace);
  const auto bits = trace_of(
      "aten::mm\t1\tFloat[2,2]:00000000000000aa:0.5:0.5\naten::sum\t0\tFloat[]:00000000000000bc:"
      "2.0001:2.0001\n");
  CHECK(*proof::compare(a, bits).differing == 1);
  const auto near = proof::align(a, bits);
  CHECK_FALSE(near.parting.has_value());
  CHECK_FALSE(near.equal_bits);
  CHECK(near.deviation == doctest::Approx(5e-5).epsilon(0.01));

  const auto shorter = trace_of("aten::mm\t1\tFloat[2,2]:00000000000000aa:0.5:0.5\n");
  CHECK(*proof::compare(a, shorter).differing == 1);
  const auto other = trace_of("aten::bmm\t1\tFloat[2,2]:00000000000000aa:0.5:0.5\n");
  CHECK(*proof::compare(a, other).differing == 0);
  const auto shape = trace_of("aten::mm\t1\tHalf[2,2]:00000000000000aa:0.5:0.5\n");
  CHECK(proof::align(a, shape).parting->first == 0);
  CHECK(shape.coarsest_tolerance() == proof::tolerance_of("Half[2,2]"));
}

// A line of a trace: an operator whose only result has this mean.
std::string call(std::string_view name, std::string_view mean,
                 std::string_view shape = "Float[2,2]") {
  return fmt::format("aten::{0}\t1\t{1}:{2}:{2}:{2}\n", name, shape, mean);
}

// All lines of some traces.
std::string all(std::initializer_list<std::string> traces) {
  std::string text;
  for (const std::string& trace : traces) text += trace;
  return text;
}

proof::Alignment aligned(const std::string& a, const std::string& b) {
  return proof::align(trace_of(a.c_str()), trace_of(b.c_str()));
}

TEST_CASE("another operator with the same result is a pair") {
  const std::string before = all({call("mm", "1"), call("relu", "2")});
  const auto found = aligned(all({before, call("native_dropout_backward", "3"), call("sum", "4")}),
                             all({before, call("mul", "3"), call("sum", "4")}));
  CHECK_FALSE(found.parting.has_value());
  CHECK(found.compared == 4);
  CHECK(found.renamed == 1);
  CHECK(found.equal_bits);
  CHECK(
      aligned(all({before, call("native_dropout_backward", "3")}), all({before, call("mul", "5")}))
          .parting->first == 2);
}

const std::string kForward = all({call("mm", "1"), call("relu", "2"), call("sum", "3")});
const std::string kNext = all({call("mm", "7"), call("relu", "8"), call("sum", "9")});
const std::string kAtOnce = all({call("_foreach_mul_", "11"), call("_foreach_addcdiv_", "12")});
const std::string kOneByOne =
    all({call("mul_", "13", "Float[2]"), call("addcdiv_", "14", "Float[2]"),
         call("mul_", "15", "Float[3]"), call("addcdiv_", "16", "Float[3]")});

TEST_CASE("an optimizer's own operators need no pair where what follows agrees") {
  const auto found = aligned(all({kForward, kAtOnce, kNext}), all({kForward, kOneByOne, kNext}));
  CHECK_FALSE(found.parting.has_value());
  CHECK(found.compared == 6);
  CHECK(found.passed == 6);
  CHECK_FALSE(aligned(all({kForward, kAtOnce}), all({kForward, kOneByOne})).parting.has_value());
}

TEST_CASE("a step that only one of them makes, or that leads elsewhere, is a difference") {
  CHECK(aligned(all({kForward, kAtOnce, kNext}), all({kForward, kForward})).parting->first == 3);
  CHECK(aligned(all({kForward, kAtOnce}), kForward).parting->first == 3);
  CHECK(aligned(all({kForward, kAtOnce, kNext}), all({kForward, kOneByOne, kForward}))
            .parting.has_value());
  CHECK(aligned(kForward, all({kForward, kNext})).parting->second == 3);
  CHECK_FALSE(aligned("", "").parting.has_value());
}

TEST_CASE("numbers of an output that are no times") {
  CHECK(proof::numbers_in("training finished in 3.2 s\nmodel saved\n") == 0);
  CHECK(proof::numbers_in("loss 0.5 after 3 epochs\n") == 2);
}

TEST_CASE("what is not a trace is refused") {
  base::MemoryFileSystem files;
  files.add("t", "hello\n");
  files.add("t.lines", "");
  CHECK(proof::Trace::read(files, "t").error().code == base::ErrorCode::kSyntax);
  CHECK(proof::Trace::read(files, "nothing").error().code == base::ErrorCode::kIo);
}

}  // namespace
}  // namespace torchport
