#include "runtime_build/needs.h"

#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/process.h"
#include "base/temporary_folder.h"
#include "base/text.h"
#include "versions/version.h"

namespace torchport::runtime_build {

namespace {

// A header that the sources include, and the package of Debian and Ubuntu that has it.
struct Header {
  const char* path;
  const char* package;
};
constexpr std::array kHeaders{
    Header{"CLI/CLI.hpp", "libcli11-dev"},        Header{"fmt/format.h", "libfmt-dev"},
    Header{"minizip/unzip.h", "libminizip-dev"},  Header{"nlohmann/json.hpp", "nlohmann-json3-dev"},
    Header{"tl/expected.hpp", "libexpected-dev"}, Header{"toml++/toml.h", "libtomlplusplus-dev"},
    Header{"xxhash.h", "libxxhash-dev"},          Header{"zlib.h", "zlib1g-dev"},
};
constexpr std::string_view kNoHeader = "torchport has no header ";
constexpr std::string_view kNoLanguage = "torchport has no C++20";

// What the compiler is asked. All answers come from one run of it.
std::string question() {
  std::string text = fmt::format(
      "#include <version>\n"
      "#if !defined(__cpp_lib_span) || !defined(__cpp_concepts) || !defined(__cpp_lib_jthread)\n"
      "#error {}\n#endif\n",
      kNoLanguage);
  for (const Header& header : kHeaders)
    text +=
        fmt::format("#if !__has_include(<{0}>)\n#error {1}{0}\n#endif\n", header.path, kNoHeader);
  return text;
}

std::string output_of(std::vector<std::string> words) {
  const auto ended = base::run({.words = std::move(words)});
  return ended ? ended->output + ended->errors : std::string();
}

void check_compiler(const std::string& compiler, std::vector<std::string>& missing) {
  auto folder = base::TemporaryFolder::make();
  if (!folder) return missing.push_back(folder.error().message + ": " + folder.error().path);
  const std::string file = folder->file("question.cpp");
  if (const auto written = base::real_file_system().write_atomic(file, question(), 0644); !written)
    return missing.push_back(file + ": " + written.error().message);
  const auto ended = base::run(
      {.words = {compiler, "-std=c++20", "-fsyntax-only", file}, .environment = {{"LC_ALL", "C"}}});
  if (!ended || ended->well()) return;
  if (ended->errors.find(kNoLanguage) != std::string::npos)
    return missing.push_back(fmt::format(
        "{} does not know C++20 as torchport needs it: install g++ 11 or clang++ 16, or newer, and "
        "name it by CXX",
        compiler));
  const std::string headers = missing_headers(ended->errors);
  missing.push_back(!headers.empty()
                        ? headers
                        : fmt::format("{} cannot compile: {}", compiler,
                                      ended->errors.substr(0, ended->errors.find('\n'))));
}

// "cmake_minimum_required(VERSION 3.25)" of the sources.
std::string oldest_cmake(const base::FileSystem& files, const Places& places) {
  const auto text = files.read(base::join_path(places.source, "CMakeLists.txt"));
  constexpr std::string_view kBefore = "cmake_minimum_required(VERSION ";
  const auto at = text ? text->find(kBefore) : std::string::npos;
  if (at == std::string::npos) return {};
  const auto start = at + kBefore.size();
  return text->substr(start, text->find(')', start) - start);
}

void check_cmake(const base::FileSystem& files, const Places& places, const std::string& cmake,
                 std::vector<std::string>& missing) {
  const std::string said = output_of({cmake, "--version"});  // "cmake version 3.25.1"
  const std::string_view line = base::split(said, '\n').front();
  const std::string version(line.substr(line.rfind(' ') + 1));
  const std::string oldest = oldest_cmake(files, places);
  if (!oldest.empty() && versions::older(version, oldest))
    missing.push_back(
        fmt::format("{} is CMake {}, and {} is needed: pip install cmake", cmake, version, oldest));
}

void check_torch(const base::FileSystem& files, const TorchFiles& torch,
                 std::vector<std::string>& missing) {
  const auto has = [&](const std::string& path) {
    return files.status(base::join_path(torch.root, path), true).type == base::FileType::kRegular;
  };
  for (const char* part : {"include/ATen/core/Tensor.h", "lib/libtorch_cpu.so", "lib/libc10.so",
                           "../torchgen/packaged/ATen/native/native_functions.yaml"})
    if (!has(part))
      return missing.push_back(
          fmt::format("torch in {} is incomplete: it has no {}; install torch "
                      "again",
                      torch.root, part));
  if (!torch.cxx11_abi)
    missing.push_back(fmt::format(
        "torch {} was built with the C++ ABI from before C++11, which torchport's libraries cannot "
        "have: install a newer torch",
        torch.version));
}

}  // namespace

std::string program_in(const base::FileSystem& files, const std::string& path,
                       const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  for (const std::string_view folder : base::split(path, ':')) {
    if (folder.empty()) continue;
    std::string program = base::join_path(folder, name);
    const base::FileStatus status = files.status(program, true);
    if (status.type == base::FileType::kRegular && (status.mode & 0111U) != 0) return program;
  }
  return {};
}

std::string missing_headers(std::string_view compiler_output) {
  std::vector<std::string> paths;
  std::set<std::string> packages;
  for (const Header& header : kHeaders) {
    // The compiler shows the line again beneath its message, so the text alone is looked for.
    if (compiler_output.find(std::string(kNoHeader) + header.path) == std::string_view::npos)
      continue;
    paths.emplace_back(header.path);
    packages.emplace(header.package);
  }
  if (paths.empty()) return {};
  return fmt::format("the compiler finds no {}: apt install {}", fmt::join(paths, ", "),
                     fmt::join(packages, " "));
}

Needs find_needs(const base::FileSystem& files, const Places& places, const TorchFiles& torch,
                 const std::string& path, const std::string& cxx) {
  Needs needs;
  if (source_key(files, places).empty())
    needs.missing.push_back(
        fmt::format("this installation has no sources: {} is missing; install "
                    "torchport again",
                    base::join_path(places.source, "KEY")));
  if (places.cache.empty())
    needs.missing.emplace_back(
        "there is no folder for what is built: set TORCHPORT_CACHE_DIR to one");
  check_torch(files, torch, needs.missing);
  if (!cxx.empty()) needs.tools.compiler = program_in(files, path, cxx);
  for (const char* name : {"c++", "g++", "clang++"})
    if (cxx.empty() && needs.tools.compiler.empty())
      needs.tools.compiler = program_in(files, path, name);
  if (needs.tools.compiler.empty())
    needs.missing.push_back(cxx.empty()
                                ? "there is no C++ compiler in the PATH: apt install g++"
                                : fmt::format("CXX names {}, which is not in the PATH", cxx));
  else
    check_compiler(needs.tools.compiler, needs.missing);
  needs.tools.cmake = program_in(files, path, "cmake");
  if (needs.tools.cmake.empty())
    needs.missing.emplace_back(
        "there is no cmake in the PATH: apt install cmake, or pip install "
        "cmake");
  else
    check_cmake(files, places, needs.tools.cmake, needs.missing);
  if (!program_in(files, path, "ninja").empty())
    needs.tools.generator = "Ninja";
  else if (!program_in(files, path, "make").empty())
    needs.tools.generator = "Unix Makefiles";
  else
    needs.missing.emplace_back(
        "there is neither ninja nor make in the PATH: apt install "
        "ninja-build, or pip install ninja");
  return needs;
}

}  // namespace torchport::runtime_build
