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
  const auto ends = aligned(all({kForward, kAtOnce}), all({kForward, kOneByOne}));
  CHECK(ends.parting->first == 3);  // nobody has read what they computed
}

// The parameters after a step, and by how much it changed them.
std::string step(std::string_view parameters, std::string_view update) {
  return fmt::format("torchport::step\t1\tFloat[2]:{0}:{0}:{0}\tUpdate[2]:{1}:{1}:{1}\n",
                     parameters, update);
}

TEST_CASE("the parameters after the last step are compared") {
  const auto found = aligned(all({kForward, kAtOnce, step("0.5", "0.01")}),
                             all({kForward, kOneByOne, step("0.5", "0.0101")}));
  CHECK_FALSE(found.parting.has_value());
  CHECK(found.compared == 3);
  CHECK(found.steps == 1);
  CHECK(found.passed == 6);
  CHECK(trace_of(all({kForward, step("1", "1")}).c_str()).operators() == 3);
  CHECK(aligned(all({kForward, step("0.5", "0.01")}), all({kForward, step("0.51", "0.01")}))
            .parting->first == 3);
  // 10 times the learning rate: the parameters are still nearly the same.
  CHECK(aligned(all({kForward, step("0.5", "0.00001")}), all({kForward, step("0.5", "0.0001")}))
            .parting->first == 3);
  CHECK(aligned(all({kForward, step("0.5", "0.01")}), kForward).parting->first == 3);
}

TEST_CASE("more calls of an optimizer than a model has in a few layers") {
  std::string at_once = kForward;
  std::string one_by_one = kForward;
  for (int i = 0; i < 6000; ++i) {
    at_once += call("_foreach_mul_", "11");
    one_by_one += call("mul_", "13", "Float[2]");
  }
  CHECK_FALSE(aligned(at_once + step("1", "1"), one_by_one + step("1", "1")).parting.has_value());
}

TEST_CASE("what is not a number on one of them is a difference") {
  CHECK(aligned(call("mm", "nan"), call("mm", "1")).parting->first == 0);
  CHECK(aligned(call("mm", "inf"), call("mm", "1")).parting->first == 0);
  CHECK(aligned(call("mm", "inf"), call("mm", "-inf")).parting->first == 0);
  CHECK_FALSE(aligned(call("mm", "nan"), call("mm", "nan")).parting.has_value());
}

TEST_CASE("all results of two batch normalizations are compared") {
  const auto normed = [](std::string_view name, std::string_view bias, std::string_view rest) {
    return fmt::format("aten::{0}\t1\tFloat[2]:1:1:1\tFloat[2]:2:2:2\tFloat[2]:{1}:{1}:{1}{2}\n",
                       name, bias, rest);
  };
  const std::string own = normed("native_batch_norm", "3", "");
  const std::string reserve = "\tByte[8]:4:4:4";
  CHECK_FALSE(aligned(own, normed("cudnn_batch_norm", "3", reserve)).parting.has_value());
  CHECK(aligned(own, normed("cudnn_batch_norm", "5", reserve)).parting->first == 0);
}

TEST_CASE("autocast takes another type of 16 bits elsewhere, and what follows is as coarse") {
  const std::string half = call("mm", "1.0", "Half[2,2]");
  const std::string brain = call("mm", "1.01", "BFloat16[2,2]");
  const auto found = aligned(all({half, call("sum", "4")}), all({brain, call("sum", "4.02")}));
  CHECK_FALSE(found.parting.has_value());
  CHECK(found.tolerance == proof::tolerance_of("BFloat16["));
  CHECK(aligned(half, call("mm", "1.2", "BFloat16[2,2]")).parting->first == 0);
  CHECK(aligned(half, call("mm", "1.0", "BFloat16[4]")).parting->first == 0);
  CHECK(aligned(call("sum", "4"), call("sum", "4.02")).parting->first == 0);
}

TEST_CASE("a scaler of gradients that is off elsewhere") {
  const std::string scaled =
      all({call("mm", "0.5"), call("cross_entropy_loss", "1.5", "Float[]"),
           call("full", "65536", "Float[]"), call("full", "0", "Int[]"),
           call("mul", "98304", "Float[]"), call("ones_like", "1", "Float[]"),
           call("mul", "65536", "Float[]"), call("mm", "16384"),
           call("_amp_foreach_non_finite_check_and_unscale_", "0.25"), step("0.5", "0.01"),
           call("_amp_update_scale_", "65536", "Float[]"), call("relu", "3")});
  const auto plain = [](const char* gradient, const char* update) {
    return all({call("mm", "0.5"), call("cross_entropy_loss", "1.5", "Float[]"),
                call("ones_like", "1", "Float[]"), call("mm", gradient), step("0.5", update),
                call("relu", "3")});
  };
  const auto found = aligned(scaled, plain("0.25", "0.01"));
  CHECK_FALSE(found.parting.has_value());
  CHECK(found.scaler == 6);
  CHECK_FALSE(aligned(plain("0.25", "0.01"), scaled).parting.has_value());
  CHECK(aligned(scaled, plain("0.26", "0.01")).parting.has_value());
  CHECK(aligned(scaled, plain("0.25", "0.02")).parting.has_value());
}

TEST_CASE("the gradients of a recurrent layer are one operator or many") {
  const std::string one =
      all({call("mm", "1"), call("_cudnn_rnn_flatten_weight", "7"),
           call("_cudnn_rnn_backward", "5", "Float[4,3]"), call("sum", "6"), step("0.5", "0.01")});
  const auto many = [](const char* last) {
    return all({call("mm", "1"), call("mkldnn_rnn_layer_backward", "2"), call("mul", "3"),
                call("mkldnn_rnn_layer_backward", last, "Float[3,4]"), call("sum", "6"),
                step("0.5", "0.01")});
  };
  CHECK_FALSE(aligned(one, many("5")).parting.has_value());
  CHECK_FALSE(aligned(many("5"), one).parting.has_value());
  CHECK(aligned(one, many("4")).parting.has_value());
}

TEST_CASE("the ends of two programs that cannot be aligned") {
  const auto alike = [](const std::string& a, const std::string& b) {
    return proof::end_alike(trace_of(a.c_str()), trace_of(b.c_str()), 3.5e-4);
  };
  const std::string two = all({step("0.4", "0.1"), step("0.5", "0.01")});
  CHECK(alike(two, all({step("0.3", "0.2"), kForward, step("0.5", "0.01")})));
  CHECK_FALSE(alike(two, step("0.5", "0.01")));
  CHECK_FALSE(alike(two, all({step("0.4", "0.1"), step("0.6", "0.01")})));
  CHECK_FALSE(alike(two, all({step("0.4", "0.1"), step("0.5", "0.02")})));
  CHECK_FALSE(alike(two, kForward));
  CHECK(alike(kForward, kNext));
}

TEST_CASE("on which kinds of devices a program computed") {
  const auto trace = trace_of(all({"#device\tcpu\n", kForward, "#device\tmps\n", kNext}).c_str());
  CHECK(trace.calls().size() == 6);
  CHECK((trace.computed_on("mps") && trace.computed_on("cpu")));
  CHECK_FALSE(trace.computed_on("cuda"));
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
