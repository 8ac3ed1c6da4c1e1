#include "source/project/baseline.h"

#include <doctest/doctest.h>

namespace torchport::project {
namespace {

Diagnostic finding(const char* path, const char* code, const char* line) {
  Diagnostic d;
  d.path = path;
  d.code = code;
  d.source_line = line;
  return d;
}

CheckReport report_of(std::vector<Diagnostic> diagnostics) {
  CheckReport report;
  report.diagnostics = std::move(diagnostics);
  return report;
}

TEST_CASE("the first run writes what is there, later ones count what is new") {
  base::MemoryFileSystem fs;
  CheckReport first =
      report_of({finding("p/a.py", "TP101", "x.cuda()"), finding("p/a.py", "TP101", "x.cuda()")});
  const auto written = apply_baseline(fs, "base.json", "p", first);
  REQUIRE(written.has_value());
  CHECK(written->written);
  CHECK(written->known == 2);
  CHECK(first.diagnostics.empty());

  // A moved or indented line is not new. A third finding of the same kind, another code and another
  // file are new.
  CheckReport second =
      report_of({finding("p/a.py", "TP101", "    x.cuda()"), finding("p/a.py", "TP101", "x.cuda()"),
                 finding("p/a.py", "TP101", "x.cuda()"), finding("p/a.py", "TP102", "x.cuda()"),
                 finding("p/b.py", "TP101", "x.cuda()")});
  const auto known = apply_baseline(fs, "base.json", "p", second);
  REQUIRE(known.has_value());
  CHECK(!known->written);
  CHECK(known->known == 2);
  CHECK(second.diagnostics.size() == 3);
}

TEST_CASE("what is gone cannot come back") {
  base::MemoryFileSystem fs;
  CheckReport first = report_of({finding("a.py", "TP101", "x.cuda()")});
  REQUIRE(apply_baseline(fs, "base.json", ".", first).has_value());
  CheckReport clean = report_of({});
  REQUIRE(apply_baseline(fs, "base.json", ".", clean).has_value());
  CheckReport again = report_of({finding("a.py", "TP101", "x.cuda()")});
  REQUIRE(apply_baseline(fs, "base.json", ".", again).has_value());
  CHECK(again.diagnostics.size() == 1);
}

TEST_CASE("an interrupted run takes nothing out of the file") {
  base::MemoryFileSystem fs;
  CheckReport first = report_of({finding("a.py", "TP101", "x.cuda()")});
  REQUIRE(apply_baseline(fs, "base.json", ".", first).has_value());
  const std::string before = fs.read("base.json").value();
  CheckReport interrupted = report_of({});
  interrupted.cancelled = true;
  REQUIRE(apply_baseline(fs, "base.json", ".", interrupted).has_value());
  CHECK(fs.read("base.json").value() == before);
}

TEST_CASE("a file that is no baseline is refused and kept") {
  for (const char* text : {"", "{}", "[]", "null", "{\"torchport-baseline\": 2, \"findings\": []}",
                           "{\"torchport-baseline\": 1, \"findings\": [1]}"}) {
    base::MemoryFileSystem fs;
    fs.add("base.json", text);
    CheckReport report = report_of({finding("a.py", "TP101", "x.cuda()")});
    const auto applied = apply_baseline(fs, "base.json", ".", report);
    REQUIRE(!applied.has_value());
    CHECK(applied.error().code == base::ErrorCode::kConfig);
    CHECK(fs.read("base.json").value() == text);
    CHECK(report.diagnostics.size() == 1);
  }
}

TEST_CASE("a full disk is said") {
  base::MemoryFileSystem fs;
  fs.fail_writes_from(1);
  CheckReport report = report_of({finding("a.py", "TP101", "x.cuda()")});
  const auto applied = apply_baseline(fs, "base.json", ".", report);
  REQUIRE(!applied.has_value());
  CHECK(applied.error().code == base::ErrorCode::kIo);
}

}  // namespace
}  // namespace torchport::project
