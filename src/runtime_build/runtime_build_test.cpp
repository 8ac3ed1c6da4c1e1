#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "base/temporary_folder.h"
#include "releases/table.h"
#include "runtime_build/build.h"
#include "runtime_build/choice.h"
#include "runtime_build/needs.h"
#include "runtime_build/probe.h"
#include "runtime_build/workplace.h"

namespace torchport::runtime_build {
namespace {

namespace fs = std::filesystem;

Places places() {
  return {.libraries = "/site/torchport/lib",
          .source = "/site/torchport/lib/source",
          .cache = "/home/me/.cache/torchport/runtimes"};
}

base::MemoryFileSystem files_of(const std::string& version, const std::string& git) {
  base::MemoryFileSystem files;
  files.add("/site/torch/version.py",
            "__version__ = '" + version + "'\ngit_version = '" + git + "'\n");
  files.add("/site/torch/lib/libtorch_cpu.so", "12345");
  files.add("/site/torchport/lib/source/KEY", "0.1.0-abc\n");
  return files;
}

const releases::Runtime& any_row() {
  for (const releases::TorchRelease& release : releases::table().releases)
    if (release.runtime) return *release.runtime;
  throw std::logic_error("the table has no runtime");
}

TEST_CASE("where things are") {
  const auto of = [](std::map<std::string, std::string> variables) {
    return places_of("/p", [&](const char* name) { return variables[name]; });
  };
  CHECK(of({{"HOME", "/h"}}).cache == "/h/.cache/torchport/runtimes");
  CHECK(of({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/x"}}).cache == "/x/torchport/runtimes");
  CHECK(of({{"XDG_CACHE_HOME", "/x"}, {"TORCHPORT_CACHE_DIR", "/c"}}).cache == "/c/runtimes");
  CHECK(of({}).cache.empty());
  CHECK(of({}).libraries == "/p/lib");
  CHECK(of({{"TORCHPORT_LIBRARY", "/other/lib"}}).libraries == "/other/lib");
}

TEST_CASE("a torch that the table has gets the package's libraries, by version and revision") {
  const releases::Runtime& row = any_row();
  const auto& [version, git] = row.serves.front();
  auto files = files_of(version + "+cu130", git);
  const std::string folder = "/site/torchport/lib/torch-" + row.built_for;
  const TorchFiles torch = read_torch_files(files, "/site/torch").value();
  CHECK(package_serves(torch));
  CHECK(choose(files, places(), torch).error().message.find("install torchport again") !=
        std::string::npos);
  files.add(folder + "/runtime.json", "{}");
  CHECK(choose(files, places(), torch).value() == folder);

  auto others = files_of(version, "0123456789abcdef");
  others.add(folder + "/runtime.json", "{}");
  const TorchFiles own = read_torch_files(others, "/site/torch").value();
  CHECK(!package_serves(own));
  const std::string said = choose(others, places(), own).error().message;
  CHECK(said.find("its source is 0123456789abcdef") != std::string::npos);
  CHECK(said.find("torchport runtime build") != std::string::npos);
}

TEST_CASE("another torch gets what was built here, and only from these sources") {
  auto files = files_of("2.99.0a0+git/1", "0123456789abcdef");
  const TorchFiles torch = read_torch_files(files, "/site/torch").value();
  CHECK(torch.size == 5);
  const std::string folder = built_folder(files, places(), torch);
  CHECK(folder ==
        "/home/me/.cache/torchport/runtimes/0.1.0-abc/torch-2.99.0a0+git-1-0123456789ab-5");
  const std::string said = choose(files, places(), torch).error().message;
  CHECK(said.find("is torch 2.99.0a0+git/1") != std::string::npos);
  CHECK(said.find("torchport runtime build") != std::string::npos);
  files.add(folder + "/runtime.json", R"({"torch": "2.99.0a0", "git_version": "01"})");
  CHECK(choose(files, places(), torch).value() == folder);
  const auto all = all_runtimes(files, places());
  REQUIRE(all.size() == 1);
  CHECK(all.front().built_here);
  CHECK(all.front().serves == std::vector<std::string>{"2.99.0a0"});

  files.add("/site/torchport/lib/source/KEY", "0.1.0-def\n");
  CHECK(!choose(files, places(), torch));
  CHECK(all_runtimes(files, places()).empty());
}

TEST_CASE("a torch without version.py or version") {
  base::MemoryFileSystem files;
  CHECK(read_torch_files(files, "/site/torch").error().message.starts_with("/site/torch has no"));
  files.add("/site/torch/version.py", "nothing");
  CHECK(read_torch_files(files, "/site/torch").error().message.find("does not contain a version") !=
        std::string::npos);
}

TEST_CASE("steps of ninja and of make") {
  Progress progress;
  CHECK(read_step("[3/40] Building CXX object a.o", progress));
  CHECK(progress.done == 3);
  CHECK(progress.total == 40);
  CHECK(read_step("[ 12%] Building CXX object a.o", progress));
  CHECK(progress.done == 12);
  CHECK(progress.total == 100);
  for (const char* line : {"", "[", "[x/3] a", "[3/] a", "[%] a", "-- Configuring done", "[3] a"})
    CHECK(!read_step(line, progress));
  CHECK(progress.done == 12);
}

TEST_CASE("the first errors of a log") {
  const std::string log =
      "[1/2] Building\n/s/a.cpp:3:4: error: no type named B\n  3 | B b;\n"
      "CMake Error at x.cmake:3 (message):\n  no Python\n\n-- Configuring incomplete\n"
      "ld: a.o: undefined reference to `f'\n/s/a.cpp:9:1: fatal error: z.h: No such file\n";
  CHECK(first_errors(log, 9) ==
        std::vector<std::string>{"/s/a.cpp:3:4: error: no type named B", "no Python",
                                 "ld: a.o: undefined reference to `f'",
                                 "/s/a.cpp:9:1: fatal error: z.h: No such file"});
  CHECK(first_errors(log, 1).size() == 1);
  CHECK(first_errors("all is well\n", 9).empty());
  CHECK(says_no_space("write: No space left on device"));
  CHECK(!says_no_space(log));
}

TEST_CASE("headers that the compiler does not find, with their packages") {
  CHECK(missing_headers("").empty());
  const std::string said = missing_headers(
      "q.cpp:3:2: error: #error torchport has no header tl/expected.hpp\n"
      "    3 | #error torchport has no header tl/expected.hpp\n"
      "q.cpp:6:2: error: #error torchport has no header fmt/format.h\n");
  CHECK(said ==
        "the compiler finds no fmt/format.h, tl/expected.hpp: apt install libexpected-dev "
        "libfmt-dev");
}

TEST_CASE("the errors of a compiler, each once, in torchport's own files") {
  const auto lacks = compile_errors(
      "In file included from /c/.building-x/source/src/a.cpp:1:\n"
      "../source/src/runtime/a.cpp:34:16: error: no member named b\n   34 | a.b();\n"
      "../source/src/runtime/a.cpp:34:16: error: no member named c\n"
      "/site/torch/include/c10/x.h:9:1: fatal error: y.h: No such file or directory\n");
  REQUIRE(lacks.size() == 2);
  CHECK(lacks[0].file == "src/runtime/a.cpp");
  CHECK(lacks[0].line == 34);
  CHECK(lacks[0].what == "no member named b");
  CHECK(lacks[1].file == "/site/torch/include/c10/x.h");
}

TEST_CASE("operators whose schema is another one") {
  const auto uses = registered_operators(
      "// aten.impl(\"no\", x)\naten.impl(\"a.out\", TORCH_FN(a));\n"
      "  aten.impl(\"b\", TORCH_FN(b));\n  aten.impl(\"c\", TORCH_FN(c));\n",
      "src/x.cpp");
  REQUIRE(uses.size() == 3);
  CHECK(uses[0].line == 2);
  const auto lacks = compare_schemas(uses, "- func: a.out(int x) -> int\n- func: c() -> ()\n",
                                     "- func: a.out(int y) -> int\n- func: c() -> ()\n");
  REQUIRE(lacks.size() == 2);
  CHECK(lacks[0].what == "the schema is a.out(int x) -> int, and was a.out(int y) -> int");
  CHECK(lacks[1].name == "b");
  CHECK(lacks[1].what == "torch has no such operator");
}

TEST_CASE("the names that a shim adds") {
  const auto uses = added_names(
      "    return {\n        \"_cuda_init\": init,\n        \"about\": 1,\n    }\n", "cuda.py");
  REQUIRE(uses.size() == 1);
  CHECK(uses[0].name == "_cuda_init");
  CHECK(uses[0].line == 2);
}

TEST_CASE("what a killed build left is deleted, and what a running one uses is not") {
  const base::TemporaryFolder folder;
  const std::string parent = folder.file("runtimes/key");
  std::string used;
  {
    const auto place = Workplace::make(parent).value();
    used = place.path();
    std::ofstream(place.file("part")) << "12345";
    fs::create_directories(parent + "/.building-killed");
    std::ofstream(parent + "/.building-killed/part") << "123";
    CHECK(Workplace::remove_left(parent) == 3);
    CHECK(!fs::exists(parent + "/.building-killed"));
    CHECK(fs::exists(place.file("part")));
  }
  CHECK(!fs::exists(used));
}

TEST_CASE("clean deletes what was built and nothing else") {
  const base::TemporaryFolder folder;
  Places own = places();
  own.cache = folder.file("runtimes");
  CHECK(clean(own).value().folders.empty());
  fs::create_directories(own.cache + "/0.0.9-old/torch-2.99.0-x-5");
  fs::create_directories(own.cache + "/0.1.0-abc/mine");
  std::ofstream(own.cache + "/0.0.9-old/torch-2.99.0-x-5/lib.so") << "1234567";
  std::ofstream(own.cache + "/0.0.9-old/torch-2.99.0-x-5.log") << "no";
  const Cleaned cleaned = clean(own).value();
  CHECK(cleaned.folders.size() == 1);
  CHECK(cleaned.bytes == 7);
  CHECK(!fs::exists(own.cache + "/0.0.9-old"));
  CHECK(fs::exists(own.cache + "/0.1.0-abc/mine"));
}

}  // namespace
}  // namespace torchport::runtime_build
