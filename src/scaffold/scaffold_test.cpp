#include <doctest/doctest.h>

#include "base/file_system.h"
#include "releases/published.h"
#include "scaffold/container.h"
#include "scaffold/files.h"
#include "scaffold/project.h"
#include "scaffold/requirement.h"
#include "scaffold/shell.h"
#include "scaffold/target.h"
#include "scaffold/workflow.h"

namespace torchport::scaffold {

TEST_CASE("requirements as pip reads them") {
  const auto name = [](const char* text) {
    const auto requirement = parse_requirement(text);
    return requirement ? requirement->name + "|" + requirement->specifier : std::string("none");
  };
  CHECK(name("torch") == "torch|");
  CHECK(name(" Torch_Geometric >= 2.0 , <3 ; python_version > '3.8'") ==
        "torch-geometric|>=2.0,<3");
  CHECK(name("torch[opt-einsum]==2.1.0+cu118") == "torch|==2.1.0+cu118");
  CHECK(name("torch (>=1.6)") == "torch|>=1.6");
  CHECK(name("torch==2.0 --hash=sha256:00") == "torch|==2.0");
  CHECK(name("torch @ https://host/torch.whl") == "torch|");
  for (const char* text : {"", "-r other.txt", "--find-links x", "https://x/y.whl", "./folder",
                           "torch is a library", "torch>=", "torch==x", "[", "torch[", ";"})
    CHECK_MESSAGE(name(text) == "none", text);
}

TEST_CASE("which versions a specifier allows") {
  CHECK(allows("", "2.13.0") == true);
  CHECK(allows(">=2.0,<3", "2.13.0") == true);
  CHECK(allows(">=2.0,<2.13", "2.13.0") == false);
  CHECK(allows("<=2.13", "2.13.0") == true);
  CHECK(allows(">2.13", "2.13.0") == false);
  CHECK(allows("==2.13.*", "2.13.0") == true);
  CHECK(allows("!=2.13.*", "2.13.0") == false);
  CHECK(allows("==2.13", "2.13.0") == true);
  CHECK(allows("==2.13.0+cu130", "2.13.0") == true);
  CHECK(allows("~=2.1", "2.13.0") == true);
  CHECK(allows("~=2.1.0", "2.13.0") == false);
  CHECK(allows("^2.1", "2.13.0") == true);
  CHECK(allows("^2.1", "3.0") == false);
  CHECK(allows("~2.1", "2.13.0") == false);
  CHECK(allows("*", "2.13.0") == true);
  CHECK_FALSE(allows("nonsense", "2.13.0").has_value());
  CHECK(pinned(">=1,==2.1.0+cu118") == "2.1.0+cu118");
  CHECK(pinned("==2.1.*").empty());
  CHECK(pinned(">=2.1").empty());
}

TEST_CASE("how builds of torch are asked for, by age") {
  CHECK(host::pip_arguments("2.13.0", "cu130") ==
        "torch==2.13.0 --index-url https://download.pytorch.org/whl/cu130");
  CHECK(host::pip_arguments("1.13.1", "cu117") ==
        "torch==1.13.1+cu117 --extra-index-url https://download.pytorch.org/whl/cu117");
  CHECK(host::pip_arguments("1.8.1", "cu111") ==
        "torch==1.8.1+cu111 -f https://download.pytorch.org/whl/torch_stable.html");
  CHECK(host::cuda_of_variant("cu130") == "13.0");
  CHECK(host::cuda_of_variant("cu92") == "9.2");
  for (const char* variant : {"cpu", "cu", "cu1", "cuda", "rocm7.2", ""})
    CHECK(host::cuda_of_variant(variant).empty());
  CHECK(host::variant_of_cuda("12.6") == "cu126");
  CHECK(host::rocm_build_of("1.0").rocm.empty());
}

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
  for (const Device device : {Device::kCpu, Device::kCuda, Device::kRocm, Device::kXpu}) {
    TargetOptions options;
    options.device = device;
    const auto target = choose_target(*project, options);
    REQUIRE(target.has_value());
    CHECK(target->torch == "2.13.0");
    CHECK(target->python == "3.12");
    CHECK(target->arch_list.empty() == (device == Device::kCpu || device == Device::kXpu));
    CHECK(target->images.toolkit.empty() == (device != Device::kCuda));
    CHECK(target->family == std::vector<std::string>{"torch==2.13.0", "torchvision"});
    const std::string text = dockerfile(*project, *target, {});
    CHECK(text.find("HEALTHCHECK") == std::string::npos);  // without torchport
    CHECK(text.find("pip install --no-build-isolation .") != std::string::npos);
    // The torch of [build-system] is the one that is there.
    CHECK(text.find("pip install ninja scikit-build-core\n") != std::string::npos);
  }
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
