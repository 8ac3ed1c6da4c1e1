#include "plan/html.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>

#include "base/temporary_folder.h"
#include "plan/picture.h"
#include "plan/snapshot.h"
#include "plan/sums.h"

namespace torchport::plan {

namespace {

constexpr std::uint64_t kGiBs = std::uint64_t{1} << 30U;

Timeline timeline_of_steps(std::size_t count) {
  Timeline timeline;
  timeline.events = count;
  std::vector<std::uint64_t> parameters;
  std::vector<std::uint64_t> others;
  for (std::size_t i = 0; i < count; ++i) {
    timeline.at.push_back(i + 1);
    parameters.push_back(kGiBs);
    others.push_back(i * 1000);
    timeline.allocated.push_back(kGiBs + i * 1000);
    timeline.reserved.push_back(2 * kGiBs);
  }
  timeline.peak = count;
  timeline.held = {{"inputs and others", others}, {"parameters", parameters}};
  return timeline;
}

Plan page_plan(const std::string& module, const std::string& line) {
  Plan plan;
  plan.profile = "NVIDIA <T4>";
  plan.memory = 4 * kGiBs;
  plan.processes = 1;
  Device device{.name = "cuda:0",
                .allocated = kGiBs,
                .reserved = 2 * kGiBs,
                .rows = {{"activations", line, module, kGiBs, 3}},
                .failures = {}};
  device.parts = {{"the CUDA context", 622U << 20U, 762U << 20U, "seen on a card"}};
  device.timeline = timeline_of_steps(50);
  plan.devices.push_back(device);
  plan.missing.push_back({"read", "aten::<b>", line, 2});
  return plan;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// The numbers after a letter of a path.
std::vector<int> numbers_after(const std::string& text, char letter) {
  std::vector<int> numbers;
  for (std::size_t i = 0; i + 1 < text.size(); ++i)
    if (text[i] == letter &&
        (std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0 || text[i + 1] == '-'))
      numbers.push_back(std::stoi(text.substr(i + 1)));
  return numbers;
}

}  // namespace

TEST_CASE("no name of a program is markup in the page") {
  const std::string hostile = "</td><script>alert(\"1\")</script>&amp;.0.x";
  const std::string page = as_html(page_plan(hostile, "a<b>/\"c\".py:3"));
  CHECK_FALSE(has(page, "<script"));
  CHECK(has(page, "&lt;/td&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;amp;.*.x"));
  CHECK(has(page, "a&lt;b&gt;/&quot;c&quot;.py:3"));
  CHECK(has(page, "aten::&lt;b&gt;"));
  CHECK(has(page, "NVIDIA &lt;T4&gt;"));
  CHECK(has(page, "default-src 'none'"));
}

TEST_CASE("the page tells the verdict, the interval and where memory ran out") {
  Plan plan = page_plan("Net.layers.1", "train.py:3");
  CHECK(has(as_html(plan), "<h1 class=ok>Fits, 1.26 GiB left</h1>"));
  CHECK(has(as_html(plan), "<b>2.61 GiB to 2.74 GiB</b>"));
  CHECK_FALSE(has(as_html(plan), "ran-out"));
  plan.status = 1;
  plan.devices[0].failures.push_back({kGiBs, "train.py:9", "Net"});
  plan.devices[0].failures.push_back({kGiBs, "train.py:9", "Net"});
  plan.devices[0].timeline.ran_out = 20;
  plan.devices[0].rows_when_it_ran_out = {{"gradients", "train.py:8", "", 5 << 20U, 1}};
  const std::string page = as_html(plan);
  CHECK(has(page,
            "<h1 class=bad>Does not fit: no room for 1024.00 MiB on cuda:0 at train.py:9</h1>"));
  CHECK(has(page, "1 more requests found no room"));
  CHECK(has(page, "no room after event 20"));
  CHECK(page.find("Who held it when there was no room") <
        page.find("Who held it when most was allocated"));
  CHECK(has(page, "outside of modules"));
}

TEST_CASE("a long list is folded, and its end is left to JSON") {
  Plan plan = page_plan("Net", "train.py:3");
  for (int i = 0; i < 2000; ++i)
    plan.devices[0].rows.push_back(
        {"activations", "train.py:" + std::to_string(10 + i), "Net", 1024, 1});
  const std::string page = as_html(plan);
  CHECK(has(page, "<summary>1986 more</summary>"));
  CHECK(has(page, "1486 smaller ones are in the report of --format json"));
}

TEST_CASE("a picture stays in its frame, whatever is drawn") {
  for (const std::size_t count : {1UL, 2UL, 50UL, 2000UL}) {
    for (const std::uint64_t memory : {std::uint64_t{0}, kGiBs, 3 * kGiBs, 1000 * kGiBs}) {
      const std::string picture = picture_of(timeline_of_steps(count), memory);
      for (const char letter : {'H', 'M'})
        for (const int x : numbers_after(picture, letter)) CHECK((x >= 0 && x <= 2000));
      for (const int y : numbers_after(picture, 'V')) CHECK((y >= 0 && y <= 1000));
      // What stays lies below what comes and goes.
      CHECK(picture.find("<path class=k0") < picture.find("<path class=k8"));
      CHECK(has(picture, "is above the picture") == (memory == 1000 * kGiBs));
    }
  }
  CHECK(picture_of({}, kGiBs).empty());
  Timeline nothing;
  nothing.at = nothing.allocated = nothing.reserved = {0};
  CHECK_FALSE(picture_of(nothing, 0).empty());
}

TEST_CASE("a kind that is not known has a colour") {
  CHECK(colour_of("parameters") == "k0");
  CHECK(colour_of("communication") == "k5");
  CHECK(colour_of("something else") == "k9");
}

TEST_CASE("sums name what they hold, the largest first") {
  const std::vector<Row> rows = {{"activations", "a.py:1", "Net.0.x", 10, 1},
                                 {"workspaces", "a.py:2", "Net.1.x", 7, 2},
                                 {"activations", "a.py:3", "", 5, 1}};
  const auto modules = sums_by(rows, SumBy::kModule);
  REQUIRE(modules.size() == 2);
  CHECK(modules[0].name == "Net.*.x");
  CHECK(modules[0].bytes == 17);
  CHECK(modules[0].blocks == 3);
  CHECK(modules[0].holds == std::vector<std::string>{"activations", "workspaces"});
  CHECK(sums_by(rows, SumBy::kKind)[0].bytes == 15);
}

TEST_CASE("snapshots of several processes are named by rank, or by process") {
  const base::TemporaryFolder from;
  const base::TemporaryFolder to;
  Plan plan;
  for (const int rank : {1, 0}) {
    plan.snapshots.push_back({.file = from.file(std::to_string(rank)), .rank = rank});
    std::ofstream(plan.snapshots.back().file) << "of rank " << rank;
  }
  plan.snapshots[0].dropped = 5;
  Plan unnamed = plan;
  REQUIRE(keep_snapshots(plan, to.file("m.pickle")));
  std::ifstream stream(to.file("m.rank1.pickle"));
  CHECK(std::string(std::istreambuf_iterator<char>(stream), {}) == "of rank 1");
  CHECK(has(plan.notes, "m.rank1.pickle: open it at https://pytorch.org/memory_viz; the first 5 "));
  CHECK_FALSE(keep_snapshots(plan, to.file("none/m.pickle")));
  unnamed.snapshots[0].rank.reset();
  for (const Snapshot& one : unnamed.snapshots) std::ofstream(one.file) << "again";
  REQUIRE(keep_snapshots(unnamed, to.file("m.pickle")));
  CHECK(std::filesystem::exists(to.file("m.process1.pickle")));
  Plan none;
  CHECK_FALSE(keep_snapshots(none, to.file("m.pickle")));
}

}  // namespace torchport::plan
