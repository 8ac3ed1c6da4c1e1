#include "source/project/cache.h"

#include <cstdio>
#include <fstream>

#include <doctest/doctest.h>
#include <unistd.h>

#include "source/project/diagnostic.h"
#include "source/project/verdicts.h"

namespace torchport::project {
namespace {

// A temporary database, deleted at the end.
struct Scratch {
  std::string path = "/tmp/torchport-cache-test-" + std::to_string(getpid()) + ".sqlite";
  Scratch() { std::remove(path.c_str()); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::remove(path.c_str()); }
};

Diagnostic example() {
  Diagnostic d;
  d.code = "TP101";
  d.path = "a.py";
  d.line = 3;
  d.column = 31;
  d.end_line = 4;
  d.end_column = 2;
  d.message = "what breaks: \"é\"";
  d.source_line = "x = '\xE9'.cuda()";  // bytes of a file that is not UTF-8
  d.has_fix = true;
  d.applicability = edit::Applicability::kUnsafe;
  d.lowered = {
      {{flow::Condition::Kind::kUsedElsewhere, "f", {}}, edit::Applicability::kDisplay, "by hand"}};
  d.fix_title = "replace it";
  d.fix_edits = {{1, 1, 1, 1, "import torch\n"}, {3, 31, 3, 37, "to(\"é\")"}};
  return d;
}

TEST_CASE("findings come back from the cache as they were, under the path of now") {
  std::vector<Diagnostic> back;
  REQUIRE(unpack(pack({example(), example()}), "other.py", back));
  REQUIRE(back.size() == 2);
  const Diagnostic& d = back.front();
  const Diagnostic e = example();
  CHECK(d.path == "other.py");
  CHECK(d.code == e.code);
  CHECK(d.name == "cuda-call");
  CHECK(d.family == "placement");
  CHECK(d.line == e.line);
  CHECK(d.column == e.column);
  CHECK(d.end_line == e.end_line);
  CHECK(d.end_column == e.end_column);
  CHECK(d.message == e.message);
  CHECK(d.source_line == e.source_line);
  CHECK(d.has_fix);
  CHECK(d.applicability == e.applicability);
  REQUIRE(d.lowered.size() == 1);
  CHECK(d.lowered.front().when.kind == flow::Condition::Kind::kUsedElsewhere);
  CHECK(d.lowered.front().when.function == "f");
  CHECK(d.lowered.front().to == edit::Applicability::kDisplay);
  CHECK(d.lowered.front().title == "by hand");
  CHECK(d.fix_title == e.fix_title);
  CHECK(d.fix_edits == e.fix_edits);
  REQUIRE(unpack(pack({}), "a.py", back));
  CHECK(back.empty());
}

TEST_CASE("what pack() did not write is not believed") {
  std::vector<Diagnostic> back;
  const std::string packed = pack({example()});
  CHECK(!unpack("garbage", "a.py", back));
  CHECK(!unpack(packed.substr(0, packed.size() / 2), "a.py", back));
  Diagnostic unknown = example();
  unknown.code = "TP999";
  CHECK(!unpack(pack({unknown}), "a.py", back));
}

TEST_CASE("keys tell parts apart") {
  CHECK(cache_key({"a", "b"}) == cache_key({"a", "b"}));
  CHECK(!(cache_key({"ab", ""}) == cache_key({"a", "b"})));
  CHECK(!(cache_key({"a", "b"}) == cache_key({"b", "a"})));
}

TEST_CASE("what is stored is there in the next run") {
  const Scratch scratch;
  const CacheKey key = cache_key({"x"});
  {
    Cache cache(scratch.path);
    CHECK(cache.get(key) == nullptr);
    cache.put(key, std::string("va\0lue", 6));
    cache.store();
  }
  Cache next(scratch.path);
  REQUIRE(next.get(key) != nullptr);
  CHECK(*next.get(key) == std::string("va\0lue", 6));
  CHECK(next.get(cache_key({"y"})) == nullptr);
}

TEST_CASE("a cache that cannot be is an empty one") {
  const CacheKey key = cache_key({"x"});
  const Scratch scratch;
  std::ofstream(scratch.path)
      << "no database at all, for longer than a header of one hundred bytes is, which is what "
         "it takes to be looked at as one";
  for (const std::string& path :
       {std::string(), std::string("/no/such/folder/x.sqlite"), scratch.path}) {
    Cache cache(path);
    CHECK(cache.get(key) == nullptr);
    cache.put(key, "value");
    cache.store();
  }
}

TEST_CASE("verdicts are read as they were written, and nothing else is") {
  const Verdicts verdicts{{false, true, false}, {{0, {1, 2}}}, {"a/ops", ""}, {"tests/test_a.py"}};
  const std::string packed = pack_verdicts(verdicts);
  Verdicts back;
  REQUIRE(unpack_verdicts(packed, back));
  CHECK(back.is_void == verdicts.is_void);
  CHECK(back.lowered == verdicts.lowered);
  CHECK(back.kernel_folders == verdicts.kernel_folders);
  CHECK(back.kernel_tests == verdicts.kernel_tests);
  for (std::size_t size = 0; size < packed.size(); ++size)
    CHECK_FALSE(unpack_verdicts(packed.substr(0, size), back));
  CHECK_FALSE(
      unpack_verdicts(R"({"of": 1, "void": [1], "early": [], "folders": [], "tests": []})", back));
  CHECK_FALSE(unpack_verdicts(
      R"({"of": 1e30, "void": [], "early": [], "folders": [], "tests": []})", back));
}

}  // namespace
}  // namespace torchport::project
