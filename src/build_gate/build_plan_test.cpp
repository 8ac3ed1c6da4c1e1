// Tests the build gate's decision for every combination of its inputs.
#include "build_gate/build_plan.h"

#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/file_system.h"
#include "host/probe/probe.h"
#include "releases/cuda.h"
#include "versions/version.h"

namespace torchport::build_gate {

namespace {

BuildToolkit toolkit(const std::string& path, const std::string& from, const std::string& nvcc,
                     bool headers = true) {
  return {path, from, nvcc, headers, {}, 15, 20};
}

// Beside each class of an input stands its effect on the outcome; the test derives the outcome only
// from that.
struct TorchClass {
  const char* name;
  host::Torch torch;
  bool usable;
  std::string cuda;
};
const std::vector<TorchClass>& torches() {
  static const std::vector<std::string> kOld{"sm_50", "sm_60", "sm_70", "sm_80", "sm_90"};
  static const std::vector<std::string> kNew{"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"};
  static const std::vector<TorchClass> kClasses{
      {"none", {}, false, ""},
      {"damaged",
       {"/t", "", "", "", "", {}, {}, true, "version.py does not contain a version"},
       false,
       ""},
      {"cpu", {"/t", "", "2.13.0+cpu", "", "", {}, {}, true, ""}, true, ""},
      {"rocm", {"/t", "", "2.13.0+rocm7.1", "", "7.1", {}, {"gfx90a"}, true, ""}, true, ""},
      {"xpu", {"/t", "", "2.13.0+xpu", "", "", {{"xpu", "20250302"}}, {}, true, ""}, true, ""},
      {"cuda 12.6", {"/t", "", "2.13.0+cu126", "12.6", "", {}, kOld, true, ""}, true, "12.6"},
      {"cuda 13.0", {"/t", "", "2.13.0+cu130", "13.0", "", {}, kNew, true, ""}, true, "13.0"},
      {"cuda 13.0, archs unknown",
       {"/t", "", "2.13.0", "13.0", "", {}, {}, true, ""},
       true,
       "13.0"}};
  return kClasses;
}

struct ToolkitClass {
  const char* name;
  std::vector<BuildToolkit> toolkits;
  std::string cuda_home;
  std::set<int> for_major;  // major versions of torch's CUDA that it fits
};
const std::vector<ToolkitClass>& toolkits() {
  static const std::vector<ToolkitClass> kClasses{
      {"none", {}, "", {}},
      {"13.0", {toolkit("/c13", "PATH", "13.0")}, "", {13}},
      {"13.2, newer minor", {toolkit("/c132", "/usr/local", "13.2")}, "", {13}},
      {"12.4, older minor", {toolkit("/c124", "PATH", "12.4")}, "", {12}},
      {"11.8", {toolkit("/c118", "PATH", "11.8")}, "", {}},
      {"does not run", {toolkit("/broken", "PATH", "")}, "", {}},
      {"no headers", {toolkit("/usr/local", "PATH", "13.0", false)}, "", {}},
      {"no cusparse.h", {{"/c13", "PATH", "13.0", true, {}, 15, 20, {"cusparse.h"}}}, "", {}},
      {"wrong one first",
       {toolkit("/c118", "PATH", "11.8"), toolkit("/c13", "/usr/local", "13.0")},
       "",
       {13}},
      {"CUDA_HOME right", {toolkit("/c126", "CUDA_HOME", "12.6")}, "/c126", {12}},
      {"CUDA_HOME wrong, PATH right",
       {toolkit("/c118", "CUDA_HOME", "11.8"), toolkit("/c13", "PATH", "13.0")},
       "/c118",
       {}},
      {"CUDA_HOME empty folder, PATH right", {toolkit("/c13", "PATH", "13.0")}, "/void", {}}};
  return kClasses;
}

struct ListClass {
  const char* text;  // nullptr: the variable is not set
  bool valid13;      // with nvcc 13
  bool valid12;      // with nvcc 12.4 and 12.6
};
constexpr ListClass kLists[] = {{nullptr, true, true},       {"", true, true},
                                {" ;, ;", true, true},       {"8.0", true, true},
                                {"8.0,9.0+PTX", true, true}, {"8.0 9.0a;8.0+PTX", true, true},
                                {"native", true, true},      {"Auto;8.9", true, true},
                                {"Ampere", true, true},      {"All", true, true},
                                {"Common", true, true},      {"7.0", false, true},
                                {"Volta", false, true},      {"12.0", true, false},
                                {"Blackwell", true, false},  {"8.0;garbage", false, false},
                                {"80", false, false},        {"9.0+PTX+PTX", false, false},
                                {"8.0a", false, false},      {"\xff\xfe", false, false}};

struct SettingClass {
  const char* force;
  const char* build;
  enum { kAuto, kCuda, kCpu, kUnclear } means;
};
constexpr SettingClass kSettings[] = {
    {nullptr, nullptr, SettingClass::kAuto},    {"", "", SettingClass::kAuto},
    {"0", "auto", SettingClass::kAuto},         {"off", nullptr, SettingClass::kAuto},
    {"1", nullptr, SettingClass::kCuda},        {"ON", "auto", SettingClass::kCuda},
    {nullptr, "cuda", SettingClass::kCuda},     {"0", "CUDA", SettingClass::kCuda},
    {"1", "cuda", SettingClass::kCuda},         {nullptr, "cpu", SettingClass::kCpu},
    {"0", "cpu", SettingClass::kCpu},           {"1", "cpu", SettingClass::kUnclear},
    {"maybe", nullptr, SettingClass::kUnclear}, {nullptr, "gpu", SettingClass::kUnclear}};

struct CompilerClass {
  HostCompiler compiler;
  const char* append;
  bool taken;
};
const std::vector<CompilerClass>& compilers() {
  static const std::vector<CompilerClass> kClasses{
      {{}, nullptr, true},
      {{"/usr/bin/gcc", "gcc", "12.2.0"}, nullptr, true},
      {{"/usr/bin/gcc", "gcc", "16.1.0"}, nullptr, false},
      {{"/usr/bin/gcc", "gcc", "16.1.0"}, "-allow-unsupported-compiler", true},
      {{"/usr/bin/clang", "clang", "21.0.0"}, nullptr, false}};
  return kClasses;
}

void set(BuildInputs& inputs, const char* name, const char* value) {
  if (value != nullptr) inputs.environment[name] = value;
}

BuildOutcome expected(const TorchClass& torch, const ToolkitClass& kit, const ListClass& list,
                      const SettingClass& setting, const CompilerClass& compiler) {
  if (setting.means == SettingClass::kUnclear || !torch.usable) return BuildOutcome::kRefuse;
  if (setting.means == SettingClass::kCpu) return BuildOutcome::kCpu;
  const int major = torch.cuda.empty() ? 0 : versions::parse_version(torch.cuda).front();
  if (kit.for_major.contains(major) && compiler.taken)
    return (major == 13 ? list.valid13 : list.valid12) ? BuildOutcome::kCuda
                                                       : BuildOutcome::kRefuse;
  return setting.means == SettingClass::kCuda ? BuildOutcome::kRefuse : BuildOutcome::kCpu;
}

// What every plan promises, whatever its inputs.
std::string broken_promise(const BuildInputs& inputs, const BuildPlan& plan,
                           const SettingClass& setting) {
  if (plan.code.empty() || plan.reason.empty()) return "no reason";
  if (plan.outcome == BuildOutcome::kCpu && setting.means == SettingClass::kCuda)
    return "the CPU alone, where CUDA was demanded";
  if (plan.outcome != BuildOutcome::kCuda) {
    if (plan.remedy.empty()) return "nothing said to be done";
    return plan.archs.empty() ? "" : "architectures without CUDA";
  }
  if (setting.means == SettingClass::kCpu) return "CUDA, where the CPU was asked for";
  if (plan.archs.empty()) return "CUDA code for nothing";
  if (plan.toolkit.nvcc.empty() || !plan.toolkit.headers) return "a toolkit that cannot compile";
  if (!versions::same_major(plan.toolkit.nvcc, inputs.torch.cuda))
    return "an nvcc of another major version";
  const releases::NvccArchs nvcc(plan.toolkit.nvcc, plan.toolkit.archs);
  for (const releases::GpuArch& arch : plan.archs)
    if (!nvcc.makes(arch)) return "an architecture that this nvcc does not make";
  if (plan.environment.at("TORCH_CUDA_ARCH_LIST").find_first_of(", nN") != std::string::npos)
    return "an arch list that torch cannot read";
  return {};
}

}  // namespace

TEST_CASE("every combination of torch, toolkit, settings, architectures and compiler") {
  std::map<BuildOutcome, int> count;
  std::set<std::string> codes;
  int wrong = 0;
  for (const TorchClass& torch : torches())
    for (const ToolkitClass& kit : toolkits())
      for (const ListClass& list : kLists)
        for (const SettingClass& setting : kSettings)
          for (const CompilerClass& compiler : compilers()) {
            BuildInputs inputs;
            inputs.torch = torch.torch;
            inputs.toolkits = kit.toolkits;
            inputs.compiler = compiler.compiler;
            set(inputs, "CUDA_HOME", kit.cuda_home.c_str());
            set(inputs, "FORCE_CUDA", setting.force);
            set(inputs, "TORCHPORT_BUILD", setting.build);
            set(inputs, "TORCH_CUDA_ARCH_LIST", list.text);
            set(inputs, "NVCC_APPEND_FLAGS", compiler.append);
            const BuildPlan plan = decide(inputs);
            const std::string broken = broken_promise(inputs, plan, setting);
            if (!broken.empty() || plan.outcome != expected(torch, kit, list, setting, compiler)) {
              if (++wrong > 20) continue;
              CAPTURE(torch.name);
              CAPTURE(kit.name);
              CAPTURE(list.text);
              CAPTURE(setting.force);
              CAPTURE(setting.build);
              CAPTURE(compiler.compiler.version);
              CAPTURE(plan.reason);
              CHECK(broken == "");
              CHECK(to_text(plan.outcome) ==
                    to_text(expected(torch, kit, list, setting, compiler)));
            }
            ++count[plan.outcome];
            codes.insert(plan.code);
          }
  CHECK(wrong == 0);
  CHECK(count[BuildOutcome::kCuda] > 1000);
  CHECK(count[BuildOutcome::kCpu] > 10000);
  CHECK(count[BuildOutcome::kRefuse] > 10000);
  // The test has reached every code of the gate; no-common-arch has a case of its own below.
  CHECK(codes == std::set<std::string>{"arch-list", "asked-for-cpu", "compiler-too-new",
                                       "contradiction", "headers-missing", "no-hipcc", "no-icpx",
                                       "no-toolkit", "no-torch", "nvcc-broken", "nvcc-differs",
                                       "nvcc-matches", "toolkit-incomplete", "torch-damaged",
                                       "torch-for-cpu", "torch-for-rocm", "torch-for-xpu",
                                       "unclear-setting"});
}

namespace {

BuildInputs usual() {
  BuildInputs inputs;
  inputs.torch = torches()[6].torch;
  inputs.toolkits = {toolkit("/c13", "PATH", "13.0")};
  return inputs;
}

std::string archs_for(const char* list, const char* nvcc = "13.0") {
  BuildInputs inputs = usual();
  inputs.toolkits[0].nvcc = nvcc;
  set(inputs, "TORCH_CUDA_ARCH_LIST", list);
  const BuildPlan plan = decide(inputs);
  return plan.outcome == BuildOutcome::kCuda ? to_text(plan.archs) : plan.reason;
}

}  // namespace

TEST_CASE("architectures: separators, names, and what stands in for the GPU of the machine") {
  CHECK(archs_for(nullptr) == "7.5;8.0;9.0;10.0;12.0+PTX");
  CHECK(archs_for("8.6") == "8.6");
  CHECK(archs_for("8.0, 9.0+PTX") == "8.0;9.0+PTX");
  CHECK(archs_for("9.0+PTX;8.0 8.0+ptx;9.0") == "8.0+PTX;9.0+PTX");
  CHECK(archs_for("ampere") == "8.0;8.6+PTX");
  CHECK(archs_for("Ampere+Tegra") == "8.7");
  CHECK(archs_for("Hopper;9.0a") == "9.0+PTX;9.0a");
  CHECK(archs_for("10.0f") == "10.0f");
  CHECK(archs_for("native") == "7.5;8.0;9.0;10.0;12.0+PTX");
  CHECK(archs_for("native;8.9") == "7.5;8.0;8.9;9.0;10.0;12.0+PTX");
  CHECK(archs_for("All") == "7.5;8.0;8.6;8.7;8.8;8.9;9.0;10.0;10.3;11.0;12.0;12.1+PTX");
  CHECK(archs_for("Common") == "7.5;8.0;9.0;10.0;11.0;12.0+PTX");
  CHECK(archs_for("7.0") ==
        "TORCH_CUDA_ARCH_LIST=7.0: this nvcc cannot compile for 7.0, which needs a toolkit from "
        "CUDA 9.0 to "
        "12.9 (nvcc 13.0 in /c13)");
  CHECK(archs_for("sm_86").find("'8.6' is one") != std::string::npos);
  CHECK(archs_for("86").find("'8.6' is one") != std::string::npos);
  CHECK(archs_for("8.6.1").find("not a compute capability") != std::string::npos);
  CHECK(archs_for(std::string(100000, '9').c_str()).find("not a compute capability") !=
        std::string::npos);
}

TEST_CASE("architectures that torch has and this nvcc does not make are left out, and said") {
  BuildInputs inputs = usual();
  inputs.torch = torches()[5].torch;
  inputs.torch.archs = {"sm_80", "sm_100", "sm_120"};
  inputs.toolkits = {toolkit("/c124", "PATH", "12.4")};
  BuildPlan plan = decide(inputs);
  CHECK(to_text(plan.archs) == "8.0+PTX");
  REQUIRE(plan.notes.size() == 2);
  CHECK(plan.notes[0].find("10.0 12.0") != std::string::npos);
  CHECK(plan.notes[1].find("older than torch's CUDA 12.6") != std::string::npos);
  inputs.torch.archs = {"sm_100", "sm_120"};
  plan = decide(inputs);
  CHECK(to_text(plan.outcome) == "cpu");
  CHECK(plan.code == "no-common-arch");
  set(inputs, "FORCE_CUDA", "1");
  CHECK(to_text(decide(inputs).outcome) == "refuse");
}

TEST_CASE("minor versions: torch's own before another one, and before CUDA 11 no other") {
  BuildInputs inputs = usual();
  inputs.toolkits = {toolkit("/c132", "PATH", "13.2"), toolkit("/c13", "/usr/local", "13.0")};
  CHECK(decide(inputs).toolkit.path == "/c13");
  inputs.toolkits.pop_back();
  const BuildPlan newer = decide(inputs);
  CHECK(newer.toolkit.path == "/c132");
  REQUIRE_FALSE(newer.notes.empty());
  CHECK(newer.notes[0].find("newer than torch's CUDA 13.0") != std::string::npos);
  CHECK(releases::links_with("12.9", "12.6"));
  CHECK_FALSE(releases::links_with("13.0", "12.9"));
  CHECK(releases::links_with("10.2", "10.2"));
  CHECK_FALSE(releases::links_with("10.1", "10.2"));
  CHECK_FALSE(releases::links_with("", "13.0"));
}

TEST_CASE("the number of jobs is handed on, and what is none is said") {
  for (const char* jobs : {"many", "-1", "0", "1e3", "99999999999999999999"}) {
    BuildInputs inputs = usual();
    set(inputs, "MAX_JOBS", jobs);
    const BuildPlan plan = decide(inputs);
    CHECK_FALSE(plan.environment.contains("MAX_JOBS"));
    CHECK(plan.notes.back().find("not a number of jobs") != std::string::npos);
  }
  BuildInputs inputs = usual();
  set(inputs, "MAX_JOBS", "4");
  CHECK(decide(inputs).environment.at("MAX_JOBS") == "4");
}

TEST_CASE("what nvcc and CMake are told") {
  const std::vector<releases::GpuArch> archs{{80, "", false}, {90, "a", false}, {120, "", true}};
  CHECK(releases::gencode(archs) ==
        std::vector<std::string>{
            "-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90a,code=sm_90a",
            "-gencode=arch=compute_120,code=sm_120", "-gencode=arch=compute_120,code=compute_120"});
  CHECK(releases::cmake_architectures(archs) == "80-real;90a-real;120");
}

TEST_CASE("CUDA is promised only where the headers are that torch's headers include") {
  BuildInputs inputs = usual();
  inputs.toolkits[0].lacks = {"cublas_v2.h", "cusparse.h", "cufft.h"};
  BuildPlan plan = decide(inputs);
  CHECK(to_text(plan.outcome) == "cpu");
  CHECK(plan.code == "headers-missing");
  CHECK(plan.reason ==
        "torch's headers include cublas_v2.h, cusparse.h, which /c13 (PATH) does not have, nor a "
        "package of nvidia beside torch");
  CHECK(plan.remedy ==
        "install the whole toolkit of CUDA 13.0, or install them beside torch: pip install "
        "nvidia-cublas nvidia-cusparse");
  set(inputs, "FORCE_CUDA", "1");
  CHECK(to_text(decide(inputs).outcome) == "refuse");
  // A part of them does not suffice.
  inputs.packaged_headers["cublas_v2.h"] = "/p/cu13/include";
  CHECK(decide(inputs).reason.find("cublas") == std::string::npos);
  inputs.packaged_headers["cusparse.h"] = "/p/cu13/include";
  set(inputs, "CPATH", "/mine");
  plan = decide(inputs);
  CHECK(to_text(plan.outcome) == "cuda");
  CHECK(plan.environment.at("CPATH") == "/p/cu13/include:/mine");
  CHECK_FALSE(plan.environment.contains("LIBRARY_PATH"));
  REQUIRE(plan.notes.size() == 1);
  CHECK(plan.notes[0] == "cufft.h was not found: sources that include it do not compile here");
  // Another toolkit that has all of them goes first.
  inputs.packaged_headers.clear();
  inputs.toolkits.push_back(toolkit("/whole", "/usr/local", "13.0"));
  CHECK(decide(inputs).toolkit.path == "/whole");
  inputs.torch = torches()[5].torch;
  inputs.toolkits = {toolkit("/c126", "PATH", "12.6")};
  inputs.toolkits[0].lacks = {"cusolverDn.h"};
  CHECK(decide(inputs).remedy.ends_with("pip install nvidia-cusolver-cu12"));
}

}  // namespace torchport::build_gate
