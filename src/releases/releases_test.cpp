#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "releases/cuda.h"
#include "releases/gpu_arch.h"
#include "releases/published.h"
#include "releases/table.h"
#include "releases/table_text.h"
#include "versions/version.h"

namespace torchport::releases {

TEST_CASE("every release says what it has to") {
  CHECK(newest_torch() == table().releases.front().version);
  for (const TorchRelease& release : table().releases) {
    INFO(release.version);
    CHECK(std::is_sorted(release.pythons.begin(), release.pythons.end(), versions::older));
    // pip's default build is read from the wheel's metadata, so nothing of it may be unknown.
    CHECK_FALSE(release.cuda.front().cudnn.empty());
    CHECK_FALSE(release.cuda.front().nccl.empty());
    CHECK(std::any_of(release.sources.begin(), release.sources.end(), [](const std::string& one) {
      return one.find("METADATA") != std::string::npos;
    }));
    CHECK(versions::parse_version(release.macos).empty() == release.macos.empty());
    for (const std::string& sentence : release.changes) CHECK(sentence.ends_with('.'));
    for (const CudaBuild& build : release.cuda) {
      INFO(build.cuda);
      CHECK(build.by_default == (&build == &release.cuda.front()));
      CHECK_FALSE(least_driver(build.cuda).empty());
      CHECK(cuda_of_variant(variant_of_cuda(build.cuda)) == build.cuda);
      // The toolkit has to compile for each of the build's GPUs.
      const NvccArchs nvcc(build.cuda, {});
      for (const int arch : build.archs) CHECK_MESSAGE(nvcc.makes({arch, {}, false}), arch);
    }
  }
}

TEST_CASE("every CUDA from 11.0 on has its driver") {
  for (const CudaRelease& release : table().cuda) {
    INFO(release.version);
    CHECK(cuda_of_driver(release.driver) == release.version);
    CHECK_FALSE(versions::older(release.driver, least_driver(release.version)));
  }
  CHECK(cuda_of_driver("580.95.05") == "13.0");
  CHECK(cuda_of_driver("525.60.13") == "12.0");
  CHECK(cuda_of_driver("440.33").empty());
  CHECK(least_driver("12.6") == "525.60.13");
  CHECK(least_driver("9.2").empty());
  CHECK(toolkit_image("13.0") == "nvidia/cuda:13.0.2-devel-ubuntu22.04");
  CHECK(toolkit_image("12.5").empty());
  REQUIRE(rocm_release("7.2") != nullptr);
  CHECK(rocm_release("7.2")->python == "3.12");
  CHECK(rocm_release("7.14") == nullptr);
}

TEST_CASE("what the table answers") {
  CHECK(builds_of("2.13.0+cpu").size() == 4);
  CHECK(builds_of("1.13.1").empty());
  CHECK(release_of("2.16.0") == nullptr);
  REQUIRE(release_of("2.14.0") != nullptr);
  CHECK(release_of("2.14.0")->version == "2.14.1");
  CHECK(builds_of("2.15.0").front().cuda == "13.2");
  CHECK_FALSE(release_of("2.15")->rocm.has_value());
  CHECK_FALSE(release_of("2.15")->xpu.has_value());
}

TEST_CASE("which CUDA compiles for which architecture") {
  CHECK(NvccArchs("12.8", {}).numbers() ==
        std::vector{50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 120});
  CHECK(NvccArchs("13.0", {}).numbers() ==
        std::vector{75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121});
  CHECK(releases_for(70) == "from CUDA 9.0 to 12.9");
  CHECK(releases_for(100) == "from CUDA 12.8 on");
  CHECK(releases_for(99).empty());
  const auto named = parse_arch_list("pascal;Volta+Tegra", NvccArchs("12.8", {}));
  REQUIRE(named.has_value());
  CHECK(to_text(named->archs) == "6.0;6.1+PTX;7.2");
}

TEST_CASE("a table that is wrong is refused, with the release and the member") {
  const auto whole = nlohmann::json::parse(table_text());
  const auto refused = [&](const char* pointer, const nlohmann::json& value) {
    auto changed = whole;
    changed[nlohmann::json::json_pointer(pointer)] = value;
    const auto parsed = parse_table(changed.dump());
    return parsed ? std::string() : parsed.error().message;
  };
  const std::string first = "the release " + newest_torch() + ": ";
  CHECK(refused("/releases/0/sources", nlohmann::json::array()) ==
        first + "\"sources\" is missing or wrong");
  CHECK(refused("/releases/0/default_cuda", "99.0") ==
        first + "\"default_cuda\" is missing or wrong");
  CHECK(refused("/releases/0/cuda/0/archs", {90, 80}) ==
        first + "\"cuda.archs\" is missing or wrong");
  const auto runtime = [](const char* built_for, const char* serves) {
    return nlohmann::json{{"built_for", built_for}, {"serves", {{serves, "0123abc"}}}};
  };
  CHECK(refused("/releases/0/runtime", runtime("1.0.0", "1.0.0")) ==
        first + "\"runtime.serves\" is missing or wrong");
  CHECK(refused("/releases/0/runtime", runtime("1.0.0", newest_torch().c_str())) ==
        first + "\"runtime.built_for\" is missing or wrong");
  CHECK(refused("/releases/0/version", "2.0.0") == "\"releases\" is not sorted, newest first");
  CHECK(refused("/cuda/0/version", "1.0") == "\"cuda\" is not sorted, newest first");
  CHECK(refused("/rocm/1", whole["rocm"][0]) == "\"rocm\" is not sorted, newest first");
  CHECK(refused("/gpu_archs/0/arch", 10) == "\"gpu_archs\" is not sorted, newest first");
  CHECK(refused("/gpu_archs/0/last", "1.0") ==
        fmt::format("\"gpu_archs\": the last CUDA of {} is older than its first",
                    table().gpu_archs.front().arch));
  CHECK(refused("/gpu_names/0/archs", {90, 80}) ==
        "\"gpu_names\": the architectures of Blackwell are not sorted");
  CHECK(refused("/releases", nlohmann::json::array()) == "\"releases\" is empty");
  CHECK(refused("/releases/0/python", 3).find("type must be array") != std::string::npos);
  CHECK_FALSE(parse_table("{").has_value());
  CHECK_FALSE(parse_table("{}").has_value());
}

TEST_CASE("how builds of torch are asked for, by age") {
  CHECK(pip_arguments("2.13.0", "cu130") ==
        "torch==2.13.0 --index-url https://download.pytorch.org/whl/cu130");
  CHECK(pip_arguments("1.13.1", "cu117") ==
        "torch==1.13.1+cu117 --extra-index-url https://download.pytorch.org/whl/cu117");
  CHECK(pip_arguments("1.8.1", "cu111") ==
        "torch==1.8.1+cu111 -f https://download.pytorch.org/whl/torch_stable.html");
  CHECK(cuda_of_variant("cu130") == "13.0");
  CHECK(cuda_of_variant("cu92") == "9.2");
  for (const char* variant : {"cpu", "cu", "cu1", "cuda", "rocm7.2", ""})
    CHECK(cuda_of_variant(variant).empty());
  CHECK(variant_of_cuda("12.6") == "cu126");
  CHECK(rocm_of_variant("rocm6.2.4") == "6.2.4");
  for (const char* variant : {"cu126", "rocm", "rocmx", ""})
    CHECK(rocm_of_variant(variant).empty());
}

TEST_CASE("which kernels run on which device") {
  CHECK(runs_on({"sm_80"}, "8.0"));
  CHECK(runs_on({"sm_80"}, "8.6"));
  CHECK_FALSE(runs_on({"sm_86"}, "8.0"));
  CHECK_FALSE(runs_on({"sm_80"}, "9.0"));
  CHECK(runs_on({"sm_80", "compute_80"}, "12.0"));
  CHECK(runs_on({"sm_90a"}, "9.0"));
  CHECK_FALSE(runs_on({"sm_90a"}, "9.1"));
  CHECK(runs_on({"sm_100", "sm_120"}, "12.0"));
  CHECK_FALSE(runs_on({"garbage", "sm_"}, "8.0"));
}

}  // namespace torchport::releases
