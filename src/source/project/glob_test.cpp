#include "source/project/glob.h"

#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace torchport::project {
namespace {

struct Case {
  const char* pattern;
  const char* path;
  bool is_directory;
  bool matches;
};

// gitignore(5), line by line. The expected results are those of `git check-ignore` for the path
// itself; the walk, and not the pattern, handles what lies below an ignored folder.
constexpr Case kCases[] = {
    {"a.py", "a.py", false, true},
    {"a.py", "sub/a.py", false, true},
    {"a.py", "a.pyc", false, false},
    {"*.py", "sub/deep/a.py", false, true},
    {"*.py", "a.py/b", false, false},
    {"/a.py", "a.py", false, true},
    {"/a.py", "sub/a.py", false, false},
    {"sub/a.py", "sub/a.py", false, true},
    {"sub/a.py", "x/sub/a.py", false, false},
    {"build/", "build", true, true},
    {"build/", "build", false, false},
    {"build/", "x/build", true, true},
    {"/build/", "x/build", true, false},
    {"*", "anything", false, true},
    {"foo/*", "foo/a", false, true},
    {"foo/*", "foo/a/b", false, false},
    {"?.py", "a.py", false, true},
    {"?.py", "ab.py", false, false},
    {"[a-c].py", "b.py", false, true},
    {"[a-c].py", "d.py", false, false},
    {"[!a-c].py", "d.py", false, true},
    {"**/foo", "foo", false, true},
    {"**/foo", "a/b/foo", false, true},
    {"**/foo/bar", "a/foo/bar", false, true},
    {"abc/**", "abc/x/y", false, true},
    {"abc/**", "abc", true, false},
    {"a/**/b", "a/b", false, true},
    {"a/**/b", "a/x/y/b", false, true},
    {"a/**/b", "ab", false, false},
    {"a/**/b", "a/x/bc", false, false},
    {"# comment", "# comment", false, false},
    {"\\#file", "#file", false, true},
    {"\\!file", "!file", false, true},
    {"trailing   ", "trailing", false, true},
    {"trailing\\ ", "trailing ", false, true},
    {"with space", "with space", false, true},
    {"crlf\r", "crlf", false, true},
    {"", "a", false, false},
    {"   ", "a", false, false},
    {"/", "a", true, false},
    {"[broken", "[broken", false, false},
    {"a[", "b", false, false},
    {"\\", "a", false, false},
};

TEST_CASE("patterns match as git's do") {
  for (const Case& c : kCases) {
    INFO("pattern ", c.pattern, " path ", c.path);
    CHECK(Glob(c.pattern).matches(c.path, c.is_directory) == c.matches);
  }
}

TEST_CASE("the last pattern that speaks of a path wins") {
  GlobList list;
  list.add_lines("*.py\n!keep.py\n/top/\n");
  CHECK(list.decide("a.py", false) == 1);
  CHECK(list.decide("sub/keep.py", false) == -1);
  CHECK(list.decide("a.txt", false) == 0);
  list.add("keep.py");
  CHECK(list.decide("sub/keep.py", false) == 1);
}

TEST_CASE("a list decides as its patterns do one after the other") {
  const std::vector<std::string> lines{
      "*.py",  "!keep.py", "/top/",   "a/b.py", "!a/b.py", "tmp*",   "!tmp_kept*", "build/",
      "a*c.o", "**/gen/*", "!gen/x/", "*",      "!*.md",   "\\*.py", "x?",         "[ab].txt"};
  const std::vector<std::string> paths{
      "a.py",    "keep.py", "top",   "s/top",   "a/b.py", "b.py", "tmp1", "tmp_kept", "build",
      "s/build", "abc.o",   "gen/x", "s/gen/y", "n.md",   "*.py", "x1",   "a.txt",    "z/a/b.py"};
  const auto one_by_one = [](const std::vector<std::string>& patterns, const std::string& path,
                             bool is_directory) {
    int decided = 0;
    for (const std::string& pattern : patterns) {
      const Glob glob(pattern);
      if (glob.matches(path, is_directory)) decided = glob.negated() ? -1 : 1;
    }
    return decided;
  };
  for (auto first = lines.begin(); first != lines.end(); ++first) {
    std::vector<std::string> some;
    GlobList list;
    for (auto next = first; next != lines.end(); ++next) {
      some.push_back(*next);
      list.add(*next);
      for (const std::string& path : paths) {
        INFO("patterns ", *first, " to ", *next, " path ", path);
        CHECK(list.decide(path, false) == one_by_one(some, path, false));
        CHECK(list.decide(path, true) == one_by_one(some, path, true));
      }
    }
  }
}

TEST_CASE("a list of 200,000 patterns answers as quickly as one of two") {
  GlobList list;
  for (int i = 0; i < 50'000; ++i) {
    const std::string number = std::to_string(i);
    for (const std::string& line :
         {"name" + number, "folder/name" + number, "*.end" + number, "begin" + number + "_*"})
      list.add(line);
  }
  std::size_t ignored = 0;
  for (int i = 0; i < 100'000; ++i)  // 20,000,000,000 comparisons, if every pattern were tried
    ignored += list.decide("folder/name" + std::to_string(i), false) == 1 ? 1U : 0U;
  CHECK(ignored == 50'000);
  CHECK(list.decide("x/a.end49999", false) == 1);
  CHECK(list.decide("begin7_x", true) == 1);
}

TEST_CASE("no pattern takes long") {
  const std::string name(250, 'a');
  std::string stars;
  std::string folders;
  std::string path;
  for (int i = 0; i < 40; ++i) {
    stars += "*a";
    folders += "**/a/";
    path += "a/";
  }
  const auto start = std::chrono::steady_clock::now();
  CHECK(!Glob(stars + "b").matches(name, false));
  CHECK(!Glob(folders + "b").matches(path + path + "a", false));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
}

}  // namespace
}  // namespace torchport::project
