#include "source/project/discover.h"

#include <algorithm>

#include <doctest/doctest.h>

namespace torchport::project {
namespace {

using Files = std::vector<std::string>;

base::MemoryFileSystem tree(const Files& paths) {
  base::MemoryFileSystem fs;
  for (const std::string& path : paths) fs.add(path, "");
  return fs;
}

Files found(const base::FileSystem& fs, const Files& paths, const DiscoveryOptions& options = {}) {
  return discover(fs, paths, options).files;
}

TEST_CASE("what torchport reads is found, in byte order, each once") {
  const auto fs = tree({"p/b.py", "p/a.ipynb", "p/Dockerfile", "p/requirements.txt", "p/notes.txt",
                        "p/x.so", "p/sub/setup.py", "p/CMakeLists.txt", "p/a.pyc"});
  const Files all{"p/CMakeLists.txt", "p/Dockerfile",       "p/a.ipynb",
                  "p/b.py",           "p/requirements.txt", "p/sub/setup.py"};
  CHECK(found(fs, {"p"}) == all);
  CHECK(found(fs, {"p/", "p", "p/b.py", "./p"}) == all);
}

TEST_CASE("environments, caches and version control are passed over") {
  const auto fs =
      tree({"p/a.py", "p/.git/hooks/h.py", "p/.venv/x.py", "p/node_modules/n.py",
            "p/__pycache__/c.py", "p/env/pyvenv.cfg", "p/env/lib/site.py", "p/.torchport/j.py"});
  CHECK(found(fs, {"p"}) == Files{"p/a.py"});
}

TEST_CASE("a path that is not there is a problem, and costs the others nothing") {
  const auto fs = tree({"p/a.py"});
  const auto result = discover(fs, {"nowhere", "p"}, {});
  CHECK(result.files == Files{"p/a.py"});
  REQUIRE(result.problems.size() == 1);
  CHECK(result.problems.front().path == "nowhere");
}

TEST_CASE("exclude is relative to the settings; a file named outright is read") {
  const auto fs = tree({"p/a.py", "p/old/b.py", "p/old/keep/c.py", "p/gen_x.py"});
  DiscoveryOptions options;
  options.root = "p";
  options.exclude.add("/old/");
  options.exclude.add("gen_*.py");
  CHECK(found(fs, {"p"}, options) == Files{"p/a.py"});
  CHECK(found(fs, {"p/old/b.py"}, options) == Files{"p/old/b.py"});
}

TEST_CASE("the nearest .gitignore that speaks of a file decides") {
  auto fs = tree({"p/.git/HEAD", "p/a.py", "p/b.py", "p/sub/a.py", "p/sub/b.py", "p/build/c.py"});
  fs.add("p/.gitignore", "a.py\nbuild/\n");
  fs.add("p/sub/.gitignore", "!a.py\nb.py\n");
  CHECK(found(fs, {"p"}) == Files{"p/b.py", "p/sub/a.py"});
  DiscoveryOptions all;
  all.respect_gitignore = false;
  CHECK(found(fs, {"p"}, all).size() == 5);
}

TEST_CASE("a file alone is judged as a walk judges it") {
  const Files paths{"p/.git/HEAD",     "p/a.py",           "p/b.py",         "p/sub/a.py",
                    "p/sub/b.py",      "p/build/c.py",     "p/build/d/e.py", "p/old/f.py",
                    "p/.venv/g.py",    "p/env/pyvenv.cfg", "p/env/lib/h.py", "p/notes.txt",
                    "p/sub/deep/i.py", "p/Dockerfile"};
  auto fs = tree(paths);
  fs.add("p/.gitignore", "a.py\nbuild/\n");
  fs.add("p/sub/.gitignore", "!a.py\nb.py\n");
  DiscoveryOptions options;
  options.root = "p";
  options.exclude.add("/old/");
  for (const char* top : {"p", "p/sub"}) {
    const Files walked = found(fs, {top}, options);
    REQUIRE_FALSE(walked.empty());
    for (const std::string& path : paths) {
      if (!path.starts_with(std::string(top) + "/")) continue;
      CAPTURE(path);
      const bool is_walked = std::find(walked.begin(), walked.end(), path) != walked.end();
      CHECK(would_discover(fs, top, path, options) == is_walked);
    }
  }
  CHECK(would_discover(fs, "p", "p/sub/not_there_yet.py", options));
}

TEST_CASE("packages are found as Python finds them") {
  const auto fs = tree(
      {"v/lib/python3.11/site-packages/net/__init__.py", "v/lib/python3.11/site-packages/one.py"});
  const Files search = site_packages(fs, "v", "");
  REQUIRE(search == Files{"v/lib/python3.11/site-packages"});
  CHECK(find_package(fs, "net", search).value() == "v/lib/python3.11/site-packages/net");
  CHECK(find_package(fs, "one", search).value() == "v/lib/python3.11/site-packages/one.py");
  const auto none = find_package(fs, "other", search);
  REQUIRE(!none.has_value());
  CHECK(none.error().message.find("other") != std::string::npos);
}

}  // namespace
}  // namespace torchport::project
