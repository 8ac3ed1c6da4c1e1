#include <doctest/doctest.h>

#include "versions/requirement.h"
#include "versions/version.h"

namespace torchport::versions {

TEST_CASE("versions by their numbers") {
  CHECK(parse_version("580.65.06") == std::vector<int>{580, 65, 6});
  CHECK(parse_version("2.13.0+cu130") == std::vector<int>{2, 13, 0});
  CHECK(parse_version("2.14.0rc1") == std::vector<int>{2, 14, 0});
  CHECK(parse_version("2.") == std::vector<int>{2});
  for (const char* text : {"", "x1", ".5", "-1", "99999999999999999999"})
    CHECK_MESSAGE(parse_version(text).empty(), text);
  CHECK(older("535.183.01", "580.65.06"));
  CHECK(older("2.9", "2.10"));
  CHECK_FALSE(older("580.65.06", "580.65"));
  CHECK_FALSE(older("13.0", "12.9"));
  CHECK(equal("2.13", "2.13.0+cu130"));
  CHECK(same_major("12.6", "12.9"));
  CHECK_FALSE(same_minor("12.6", "13.6"));
  CHECK(without_local("2.13.0+cu130") == "2.13.0");
  CHECK(local_of("2.13.0+cu130") == "cu130");
  CHECK(local_of("2.13.0").empty());
}

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

TEST_CASE("the floor that a specifier states") {
  CHECK(lower_bound(">=2.0,<3") == "2.0");
  CHECK(lower_bound("<3,>=2.0") == "2.0");
  CHECK(lower_bound("==2.1.0+cu118") == "2.1.0+cu118");
  CHECK(lower_bound("~=2.4,>2.6") == "2.6");
  CHECK(lower_bound("^2.1") == "2.1");
  for (const char* text : {"", "<3", "!=2.0", "*", "nonsense"})
    CHECK_MESSAGE(lower_bound(text).empty(), text);
}

}  // namespace torchport::versions
