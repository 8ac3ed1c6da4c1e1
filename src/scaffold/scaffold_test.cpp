#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/file_system.h"
#include "scaffold/container.h"
#include "scaffold/files.h"
#include "scaffold/project.h"
#include "scaffold/shell.h"
#include "scaffold/target.h"
#include "scaffold/workflow.h"

namespace torchport::scaffold {

TEST_CASE("words for shells and JSON") {
  CHECK(shell_word("torch==2.13.0") == "torch==2.13.0");
  CHECK(shell_word("a b") == "'a b'");
  CHECK(shell_word("it's; rm -rf $HOME") == "'it'\\''s; rm -rf $HOME'");
  CHECK(shell_word("two\nlines") == "'two lines'");
  CHECK(shell_word("") == "''");
  CHECK(json_list({"python", "a \"b\"\n"}) == R"(["python", "a \"b\" "])");
}

TEST_CASE("all files or none, and nothing over what is there") {
  base::MemoryFileSystem fs;
  fs.add("p/b", "theirs");
  const std::vector<File> files{{"p/a", "1"}, {"p/b", "2"}};
  const auto refused = write_files(fs, files, false);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message.starts_with("p/b is already there: --force"));
  CHECK(fs.status("p/a", false).type == base::FileType::kMissing);
  const auto forced = write_files(fs, files, true);
  REQUIRE(forced.has_value());
  CHECK(*forced == std::vector<Written>{Written::kNew, Written::kReplaced});
  CHECK(fs.read("p/b").value() == "2");
  CHECK(*write_files(fs, files, false) == std::vector<Written>{Written::kSame, Written::kSame});
  fs.fail_writes_from(1);
  CHECK_FALSE(write_files(fs, {{"p/c", "3"}}, false).has_value());
}

TEST_CASE("a project in memory, for every device") {
  base::MemoryFileSystem fs;
  fs.add("p/pyproject.toml",
         "[project]\nname = \"Net\"\nrequires-python = \">=3.9\"\n"
         "dependencies = [\"torch>=2.4\", \"torchvision==0.28.0\"]\n"
         "[build-system]\nrequires = [\"scikit-build-core\", \"torch\"]\n");
  fs.add("p/CMakeLists.txt",
         "project(net LANGUAGES CXX)  # CUDA is no language here\n"
         "torchport_torch_extension(_C SOURCES a.cpp CUDA_SOURCES a.cu)\n");
  const auto project = read_project(fs, "p", {});
  REQUIRE(project.has_value());
  CHECK(project->name == "Net");
  CHECK(project->extension->file == "pyproject.toml");
  CHECK(project->extension->line == 6);
  CHECK(project->cuda->line == 2);
  // The newest release with a build for the device, and with architectures for native code.
  for (const auto& [device, torch] : {std::pair("cpu", "2.15.0"), std::pair("cuda", "2.15.0"),
                                      std::pair("rocm", "2.13.0"), std::pair("xpu", "2.14.1")}) {
    TargetOptions options;
    options.device = device;
    const auto target = choose_target(*project, options);
    REQUIRE(target.has_value());
    CHECK(target->torch == torch);
    CHECK(target->python == (target->torch == "2.15.0" ? "3.13" : "3.12"));
    CHECK(target->arch_list.empty() == (options.device == "cpu" || options.device == "xpu"));
    CHECK(target->images.toolkit.empty() == (options.device != "cuda"));
    CHECK(target->family ==
          std::vector<std::string>{std::string("torch==") + torch, "torchvision"});
    const std::string text = dockerfile(*project, *target, {});
    CHECK(text.find("HEALTHCHECK") == std::string::npos);  // the image does not have torchport
    CHECK(text.find("pip install --no-build-isolation .") != std::string::npos);
    // The torch that [build-system] asks for is already installed.
    CHECK(text.find("pip install ninja scikit-build-core\n") != std::string::npos);
  }
}

TEST_CASE("torch in a setup.py, also without a version and by way of a name") {
  const auto torch_of = [](const std::string& text) {
    base::MemoryFileSystem fs;
    fs.add("p/setup.py", "from setuptools import setup\n" + text);
    const auto project = read_project(fs, "p", {});
    REQUIRE(project.has_value());
    const Requirement* torch = project->of("torch");
    return torch == nullptr ? std::string("none")
                            : fmt::format("{} \"{}\"", torch->at.line, torch->specifier);
  };
  CHECK(torch_of("setup(install_requires=['numpy', 'torch'])") == "2 \"\"");
  CHECK(torch_of("setup(install_requires='torch')") == "2 \"\"");
  CHECK(torch_of("setup(setup_requires=['torch'])") == "2 \"\"");
  CHECK(torch_of("needs = ['numpy',\n 'torch']\nsetup(install_requires=needs)") == "3 \"\"");
  CHECK(torch_of("needs = []\nneeds.append('torch')\nsetup(install_requires=needs)") == "3 \"\"");
  CHECK(torch_of("needs = []\nneeds += ['torch']\nsetup(install_requires=needs)") == "3 \"\"");
  CHECK(torch_of("needs = ['torch']\nneeds = ['torch>=2.4']\nsetup(install_requires=needs)") ==
        "2 \"\"");
  CHECK(torch_of("setup(install_requires=['torch>=2.4'])") == "2 \">=2.4\"");
  CHECK(torch_of("setup(packages=['torch'], name='torch')") == "none");
  CHECK(torch_of("names = ['torch']\nsetup(install_requires=['numpy'])") == "none");
}

TEST_CASE("the Python is the middle one of torch's, or the nearest one that the project allows") {
  Project project;
  TargetOptions options;
  options.torch = "2.13.0";  // 3.10 to 3.14
  const auto python = [&](const char* allowed) {
    project.python = allowed;
    const auto target = choose_target(project, options);
    return target ? target->python : target.error().message;
  };
  CHECK(python("") == "3.12");
  CHECK(python("!=3.12.*") == "3.11");
  CHECK(python(">=3.13") == "3.13");
  CHECK(python("<3.11") == "3.10");
  CHECK(python(">=3.14") == "3.14");
  CHECK(python("==3.9.*").ends_with("name both, e.g. --torch 2.8.0 --python 3.9"));
  CHECK(python("<3.0").ends_with("only: name both"));
  options.torch = "2.8.0";  // 3.9 to 3.13
  CHECK(python("") == "3.11");
}

TEST_CASE("a build that cannot be used is answered with one of the table") {
  Project project;
  project.cuda = project.extension = FileLine{"setup.py", 1};
  TargetOptions options;
  options.device = "cuda";
  options.torch = "2.15.0";
  options.arch_list = "9.0";
  const auto message = [&](const char* variant) {
    options.variant = variant;
    const auto target = choose_target(project, options);
    return target ? std::string() : target.error().message;
  };
  CHECK(message("cu131").ends_with("choose another build, e.g. --variant cu132"));
  CHECK(message("cpu").ends_with("give one like cu132"));
  options.device = "rocm";
  options.arch_list = "gfx90a";
  CHECK(message("rocm7.1").ends_with("e.g. --torch 2.13.0 --variant rocm7.2"));
  CHECK(message("cpu").ends_with("give one like rocm7.14"));
  options.torch = "2.13.0";
  CHECK(message("cu130").ends_with("give one like rocm7.2"));
}

TEST_CASE("device targets have an order of their own, and an unknown one is refused") {
  CHECK(device_names() == std::vector<std::string>{"cpu", "cuda", "rocm", "xpu"});
  TargetOptions options;
  options.device = "tpu";
  const auto target = choose_target(Project(), options);
  REQUIRE_FALSE(target.has_value());
  CHECK(target.error().message == "there is no target tpu: choose one of cpu, cuda, rocm, xpu");
}

TEST_CASE("names of images") {
  const auto name = [](const char* text) {
    Project project;
    project.name = text;
    return image_name(project);
  };
  CHECK(name("Defect_Net") == "defect-net");
  CHECK(name("--a..b  c!") == "a-b-c");
  CHECK(name("\xe7\xbd\x91") == "app");
  CHECK(name("") == "app");
}

}  // namespace torchport::scaffold
