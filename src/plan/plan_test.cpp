#include "plan/plan.h"

#include <fstream>

#include <doctest/doctest.h>

#include "base/temporary_folder.h"
#include "plan/html.h"
#include "plan/report.h"

namespace torchport::plan {

namespace {

constexpr const char* kProcess = R"({
  "profile": "NVIDIA T4", "memory": 16106127360, "count": 2, "seconds": 1.5,
  "devices": [
    {"device": "cuda:0", "allocated": 3072, "reserved": %RESERVED%, "held": 3072,
     "rows": [
       {"holds": "activations", "line": "train.py:7", "module": "Net.layers.0.act", "bytes": 1024, "blocks": 1},
       {"holds": "activations", "line": "train.py:7", "module": "Net.layers.12.act", "bytes": 1024, "blocks": 1},
       {"holds": "parameters", "line": "train.py:3", "module": "", "bytes": 512, "blocks": 2}],
     "failures": [%FAILURES%],
     "parts": [{"name": "the CUDA context", "least": 2048, "most": 3072, "why": "seen <here>", "is_dispensable": false},
               {"name": "cuDNN", "least": 0, "most": 1048576, "why": "a bound", "is_dispensable": true},
               {"name": "NCCL", "least": 4096, "most": 16384, "why": "its buffers",
                "is_dispensable": false}]},
    {"device": "cuda:1", "allocated": 0, "reserved": 0, "held": 0, "rows": [], "failures": [],
     "parts": []}],
  "missing_values": [{"kind": "read", "operator": "aten::_local_scalar_dense", "line": "train.py:9", "count": 3},
                     {"kind": "kernel not run", "operator": "add_kernel", "line": "train.py:8", "count": 2}],
  "changes": {}, "ranks": 0, "ended_by": []})";

void replace(std::string& text, const std::string& what, const std::string& with) {
  text.replace(text.find(what), what.size(), with);
}

std::string process(std::uint64_t reserved, const std::string& failures = "") {
  std::string text = kProcess;
  replace(text, "%RESERVED%", std::to_string(reserved));
  replace(text, "%FAILURES%", failures);
  return text;
}

Plan plan_of(const std::vector<std::string>& processes, int status = 0) {
  const base::TemporaryFolder folder;
  for (std::size_t i = 0; i < processes.size(); ++i)
    std::ofstream(folder.file("plan." + std::to_string(i) + ".json")) << processes[i];
  return read_plan(folder.path(), status).value();
}

constexpr std::uint64_t kMiB = 1U << 20U;

}  // namespace

TEST_CASE("a plan has the devices that were used, and the process that needs most") {
  const Plan plan = plan_of({process(100 * kMiB), process(200 * kMiB)});
  REQUIRE(plan.devices.size() == 1);
  CHECK(plan.devices[0].reserved == 200 * kMiB);
  CHECK(plan.processes == 2);
  CHECK(plan.verdict() == Verdict::kFits);
}

TEST_CASE("the error of a rank is the reason, not that of its launcher") {
  std::string launcher = process(kMiB);
  replace(launcher, R"("allocated": 3072)", R"("allocated": 0)");
  replace(launcher, R"("ended_by": [])", R"("ended_by": ["ChildFailedError: "])");
  std::string rank = process(kMiB);
  replace(rank, R"("ended_by": [])", R"("ended_by": ["FileNotFoundError: data.bin"])");
  CHECK(in_a_line(plan_of({launcher, rank}, 1)) ==
        "the program failed: FileNotFoundError: data.bin");
}

TEST_CASE("the verdict counts what can only be estimated") {
  const std::uint64_t memory = 16106127360;
  const std::uint64_t least = 2048 + 4096;
  const std::uint64_t most = 3072 + 16384;
  CHECK(plan_of({process(memory - most)}).verdict() == Verdict::kFits);
  CHECK(plan_of({process(memory - most + 1)}).verdict() == Verdict::kMayNotFit);
  CHECK(plan_of({process(memory - least)}).verdict() == Verdict::kMayNotFit);
  CHECK(plan_of({process(memory - least + 1)}).verdict() == Verdict::kDoesNotFit);
}

TEST_CASE("each estimated part is told apart, with its reason") {
  const Plan plan = plan_of({process(kMiB)});
  const std::string text = as_text(plan);
  CHECK(text.find("1.01 MiB  to 1.02 MiB, with what can only be estimated:\n") !=
        std::string::npos);
  CHECK(text.find("2.00 KiB  to 3.00 KiB, the CUDA context: seen <here>\n") != std::string::npos);
  CHECK(text.find("4.00 KiB  to 16.00 KiB, NCCL: its buffers\n") != std::string::npos);
  CHECK(as_html(plan).find("estimated: the CUDA context; seen &lt;here&gt;") != std::string::npos);
  // What is taken only where there is room is no reason not to fit.
  CHECK(text.find("0 bytes  to 1024.00 KiB, cuDNN: a bound; only where there is room, not in the "
                  "sum\n") != std::string::npos);
  CHECK(plan.devices[0].most_with_room() == plan.devices[0].most() + 1048576);
  const std::string json = as_json(plan);
  CHECK(json.find(R"("why": "its buffers")") != std::string::npos);
  CHECK(json.find("\"process\": [\n        1054720,\n        1068032\n      ]") !=
        std::string::npos);
}

TEST_CASE("kernels that were not run are told apart from values that were asked for") {
  const Plan plan = plan_of({process(kMiB)});
  const std::string text = as_text(plan);
  CHECK(
      text.find("a mask chooses all:\n  3 x aten::_local_scalar_dense (read) at train.py:9\n\n") !=
      std::string::npos);
  CHECK(text.find("kernels that were not run, since they were given values that are not there:\n"
                  "  2 x add_kernel at train.py:8\n") != std::string::npos);
  CHECK(as_html(plan).find("<code>add_kernel</code>") != std::string::npos);
}

TEST_CASE("a request without room is told with its line, if the program ended by it") {
  const std::string failure = R"({"bytes": 2097152, "line": "train.py:8", "module": "Net"})";
  CHECK(in_a_line(plan_of({process(kMiB, failure)}, 1)) ==
        "does not fit: no room for 2.00 MiB on cuda:0 at train.py:8");
  // The program caught it and went on.
  CHECK(plan_of({process(kMiB, failure)}).verdict() == Verdict::kFits);
}

TEST_CASE("what bounds a step is what takes most of it") {
  Time time;
  time.compute = 2;
  time.memory = 3;
  time.host = 4;
  CHECK(time.bound() == "memory");
  time.copies = time.copies_from_host = 4.5;
  CHECK(time.bound() == "memory");
  time.copies = 6;  // both ways one after the other
  CHECK(time.bound() == "copies_from_host");
  time.copies_to_host = 5;
  CHECK(time.bound() == "copies_to_host");
  time.communication = 7;
  CHECK(time.bound() == "communication");
}

TEST_CASE("lines of modules that differ by a number are one row") {
  const std::string text = as_text(plan_of({process(kMiB)}));
  CHECK(text.find("2.00 KiB  activations  train.py:7  Net.layers.*.act\n") != std::string::npos);
  CHECK(text.find("3 x aten::_local_scalar_dense (read) at train.py:9") != std::string::npos);
}

TEST_CASE("the report says why a figure may be another one") {
  std::string told = process(kMiB);
  replace(told, R"("changes": {})", R"("uncertain": ["torch.compile <x>"], "changes": {})");
  const Plan plan = plan_of({told, told});
  CHECK(as_text(plan).find("\nnot exact: torch.compile <x>\n") != std::string::npos);
  CHECK(as_json(plan).find(R"("uncertain": [)") != std::string::npos);
  CHECK(as_html(plan).find("Not exact: torch.compile &lt;x&gt;.") != std::string::npos);
  CHECK(as_text(plan_of({process(kMiB)})).find("not exact:") == std::string::npos);
}

TEST_CASE("the report says what of the program it leaves out") {
  CHECK(what_is_left_out(plan_of({process(kMiB)})).empty());
  std::string told = process(kMiB);
  replace(told, R"("ended_by": [])", R"("ended_by": ["KeyboardInterrupt: "], "steps": 7)");
  CHECK(what_is_left_out(plan_of({told}, 130)) ==
        "ended by Ctrl-C after 7 steps of the optimizer, so that this is only what it had until "
        "then");
  replace(told, "KeyboardInterrupt", "ValueError");
  CHECK(what_is_left_out(plan_of({told}, 1)) ==
        "so it is not known whether it fits: this is only what it had until then");
  CHECK(in_a_line(plan_of({told}, 1)) == "the program failed: ValueError: ");
  CHECK(in_a_line(plan_of({process(kMiB)}, 9)) == "the program failed, it ended with 9");
  CHECK(as_json(plan_of({told}, 1)).find(R"("verdict": "unknown")") != std::string::npos);
  // Another rank was ended by the plan, and this one waited for it.
  std::string ended = process(kMiB);
  replace(ended, R"("ended_by": [])",
          R"("ended_by": [], "ended_early": "seconds", "steps": 0, "batches": 1)");
  const Plan plan = plan_of({told, ended}, 1);
  CHECK(plan.status == 0);
  replace(ended, R"("ranks": 0)", R"("ranks": 2)");
  CHECK(
      what_is_left_out(plan_of({ended})) ==
      "ended before the optimizer took a step, by --seconds: what the program does later is not in "
      "this; each pass over a DataLoader had at most 1 batch, by --batches");
  CHECK(as_html(plan_of({ended})).find("<p>Ended before the optimizer") != std::string::npos);
  // A rank that ran out of memory is no rank that waited.
  const std::string failure = R"({"bytes": 2097152, "line": "train.py:8", "module": "Net"})";
  CHECK(plan_of({process(kMiB, failure), ended}, 1).ran_out());
}

TEST_CASE("what hangs on values is not known") {
  std::string told = process(kMiB);
  replace(told, R"("ended_by": [])", R"("ended_by": [], "hangs_on": ["train.py:5", "train.py:9"])");
  const Plan plan = plan_of({told, told});
  CHECK(plan.verdict() == Verdict::kHangsOnValues);
  CHECK(in_a_line(plan) ==
        "not known: hangs on values at train.py:5 and 1 more; an estimate without them: 1.01 MiB "
        "to 1.02 MiB");
  CHECK(as_text(plan).find("at:\n  train.py:5\n  train.py:9\n") != std::string::npos);
  CHECK(as_html(plan).find("<li class=path>train.py:9</li>") != std::string::npos);
  CHECK(as_json(plan).find(R"("verdict": "not known")") != std::string::npos);
  // Nor is it known that it does not fit, or that it fails.
  const std::string failure = R"({"bytes": 2097152, "line": "train.py:8", "module": "Net"})";
  std::string ran_out = process(kMiB, failure);
  replace(ran_out, R"("ended_by": [])", R"("ended_by": [], "hangs_on": ["train.py:5"])");
  CHECK(in_a_line(plan_of({ran_out}, 1)) ==
        "not known: hangs on values at train.py:5; the way that was planned without them does not "
        "fit");
  CHECK(plan_of({told}, 1).verdict() == Verdict::kHangsOnValues);
}

TEST_CASE("the largest sizes are an upper bound") {
  std::string told = process(kMiB);
  replace(told, R"("ended_by": [])", R"("ended_by": [], "at_most": ["train.py:5"])");
  CHECK(plan_of({told}).verdict() == Verdict::kFits);
  const std::string rule = "sizes that depend on values were planned as large as they can be, at:";
  CHECK(as_text(plan_of({told})).find(rule) != std::string::npos);
  CHECK(as_html(plan_of({told})).find("planned as large as they can be") != std::string::npos);
  replace(told, R"("memory": 16106127360)", R"("memory": 1048576)");
  CHECK(in_a_line(plan_of({told})) ==
        "not known: hangs on values at train.py:5; needs at most 1.02 MiB");
}

TEST_CASE("what is allocated before the line that hangs on values is known") {
  std::string told = process(kMiB);
  replace(told, R"("ended_by": [])", R"("ended_by": [], "hangs_on": ["train.py:5"])");
  replace(told, R"("parts":)", R"("at_least": 524288, "parts":)");
  const Plan plan = plan_of({told});
  CHECK(in_a_line(plan) ==
        "not known: hangs on values at train.py:5; allocates at least 512.00 KiB before; an "
        "estimate without them: 1.01 MiB to 1.02 MiB");
  CHECK(as_json(plan).find(R"("at_least": 524288)") != std::string::npos);
}

TEST_CASE("what is no plan is refused") {
  const base::TemporaryFolder folder;
  const auto why = [&](int status) { return read_plan(folder.path(), status).error().message; };
  CHECK(why(0) == "the program told nothing: it did not import torch, or ended at once (os._exit)");
  CHECK(why(1) == "the program failed before it used memory of a device");
  CHECK(why(137) == "signal 9 ended the program before it could write what it had");
  std::string unused = process(kMiB);
  replace(unused, R"("allocated": 3072)", R"("allocated": 0)");
  std::ofstream(folder.file("plan.1.json")) << unused;
  CHECK(why(0) == "the program used no memory of a device");
  std::ofstream(folder.file("plan.1.json")) << "{";
  CHECK(read_plan(folder.path(), 0).error().code == base::ErrorCode::kSyntax);
  std::ofstream(folder.file("plan.1.json")) << R"({"profile": 3})";
  CHECK(read_plan(folder.path(), 0).error().code == base::ErrorCode::kSyntax);
}

}  // namespace torchport::plan
