// Fixes packages in memory, and looks at where their files take the device from.
#include "source/project/shared_device.h"

#include <doctest/doctest.h>

#include "source/project/fix.h"
#include "source/rules/registry.h"

namespace torchport::project {
namespace {

using Texts = std::map<std::string, std::string>;

constexpr const char* kTie = "import torch\n\nx = torch.ones(1).cuda()\n";
const std::string kUses = "\n\nx = torch.ones(1, device=DEVICE)\n";

// The files that a fix changes or makes, with their new texts.
Texts fixed(const Texts& files, edit::Applicability tier = edit::Applicability::kSafe) {
  CheckOptions options;
  for (const rules::Rule& rule : rules::all_rules()) options.selection.push_back(&rule);
  base::MemoryFileSystem fs;
  std::vector<std::string> paths;
  for (const auto& [path, text] : files) {
    fs.add(path, text);
    paths.push_back(path);
  }
  Texts result;
  for (const Change& change : plan_fixes(fs, paths, options, tier).changes) {
    CHECK(change.created == !files.contains(change.path));
    result[change.path] = change.after;
  }
  // What is fixed is settled.
  base::MemoryFileSystem again = fs;
  for (const auto& [path, text] : result) {
    again.add(path, text);
    if (!files.contains(path)) paths.push_back(path);
  }
  CHECK(plan_fixes(again, paths, options, tier).changes.empty());
  return result;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("files of a package that need a device get one module") {
  const Texts result =
      fixed({{"pkg/__init__.py", ""},
             {"pkg/a.py", std::string("import torch\n\nfrom . import b\nfrom .z import w\n"
                                      "\nx = torch.ones(1).cuda()\n")},
             {"pkg/b.py", kTie},
             {"pkg/sub/__init__.py", ""},
             {"pkg/sub/c.py", std::string("from ..b import x\n") + kTie}});
  REQUIRE(result.size() == 4);
  CHECK(result.at("pkg/_device.py") ==
        "\"\"\"The device that the modules of this package run on.\"\"\"\n\nimport torch\n\n"
        "DEVICE = torch.device(\n    \"cuda\" if torch.cuda.is_available()\n"
        "    else \"mps\" if torch.backends.mps.is_available()\n    else \"cpu\"\n)\n");
  CHECK(result.at("pkg/a.py") ==
        "import torch\n\nfrom . import b\nfrom ._device import DEVICE\nfrom .z import w\n\n"
        "x = torch.ones(1, device=DEVICE)\n");
  CHECK(result.at("pkg/b.py") == "import torch\n\nfrom ._device import DEVICE" + kUses);
  CHECK(has(result.at("pkg/sub/c.py"), "from .._device import DEVICE\nfrom ..b import x\n"));
}

TEST_CASE("absolute imports stay absolute") {
  const Texts result =
      fixed({{"src/pkg/__init__.py", ""},
             {"src/pkg/a.py",
              std::string("import torch\nfrom pkg.b import y\n\nx = torch.ones(1).cuda()\n")},
             {"src/pkg/b.py", std::string("import torch\n\ny = torch.ones(1).cuda()\n")}});
  REQUIRE(result.size() == 3);
  CHECK(has(result.at("src/pkg/a.py"), "from pkg._device import DEVICE\nfrom pkg.b import y\n"));
  CHECK(has(result.at("src/pkg/b.py"), "from pkg._device import DEVICE\n"));
}

TEST_CASE("what may be run or imported by itself chooses for itself") {
  const auto alone = [](const std::string& a, const std::string& b) {
    const Texts result = fixed({{"pkg/__init__.py", ""},
                                {"pkg/a.py", a + "\nx = torch.ones(1).cuda()\n"},
                                {"pkg/b.py", b + "\ny = torch.ones(1).cuda()\n"}});
    return !result.contains("pkg/_device.py") && has(result.at("pkg/a.py"), "DEVICE = torch.") &&
           has(result.at("pkg/b.py"), "DEVICE = torch.");
  };
  CHECK(alone("import torch\n", "import torch\n"));            // nothing imports them
  CHECK(alone("import torch\nimport b\n", "import torch\n"));  // by its mere name
  CHECK(alone("import torch\nfrom .b import y\n",
              "import torch\nif __name__ == \"__main__\":\n    y = 1\n"));  // a script
}

TEST_CASE("a single file of a package keeps its own device, and so does a folder that is none") {
  CHECK(fixed({{"pkg/__init__.py", ""},
               {"pkg/a.py",
                std::string("import torch\nfrom .b import y\n\nx = torch.ones(1).cuda()\n")},
               {"pkg/b.py", "y = 1\n"}})
            .size() == 1);
  CHECK(fixed({{"pkg/a.py",
                std::string("import torch\nfrom .b import y\n\nx = torch.ones(1).cuda()\n")},
               {"pkg/b.py", kTie}})
            .size() == 2);
}

TEST_CASE("a device that the package has is used") {
  const std::string choice =
      "torch.device(\"cuda\" if torch.cuda.is_available() else \"mps\" if "
      "torch.backends.mps.is_available() else \"cpu\")\n";
  const std::string user = "import torch\nfrom .b import y\n\nx = torch.ones(1).cuda()\n";
  const Texts variable = fixed({{"pkg/__init__.py", ""},
                                {"pkg/a.py", user},
                                {"pkg/b.py", "y = 1\n"},
                                {"pkg/utils/__init__.py", ""},
                                {"pkg/utils/conf.py", "import torch\n\nDEVICE = " + choice}});
  REQUIRE(variable.size() == 1);
  CHECK(variable.at("pkg/a.py") ==
        "import torch\nfrom .b import y\nfrom .utils.conf import DEVICE\n\n"
        "x = torch.ones(1, device=DEVICE)\n");
  const Texts function =
      fixed({{"pkg/__init__.py", ""},
             {"pkg/a.py", user},
             {"pkg/b.py", "y = 1\n"},
             {"pkg/conf.py", "import torch\n\ndef get_device():\n    return " + choice}});
  REQUIRE(function.size() == 1);
  CHECK(function.at("pkg/a.py") ==
        "import torch\nfrom .b import y\nfrom .conf import get_device\n\nDEVICE = get_device()\n\n"
        "x = torch.ones(1, device=DEVICE)\n");
  // One that imports the package may not be there yet when a module asks for it.
  const Texts circle =
      fixed({{"pkg/__init__.py", ""},
             {"pkg/a.py", user},
             {"pkg/b.py", "y = 1\n"},
             {"pkg/conf.py", "import torch\nfrom .a import x\n\nDEVICE = " + choice}});
  CHECK(has(circle.at("pkg/a.py"), "DEVICE = torch."));
}

TEST_CASE("a choice between CUDA and the CPU becomes the package's device") {
  const std::string choice = "\"cuda\" if torch.cuda.is_available() else \"cpu\"";
  const Texts result = fixed(
      {{"pkg/__init__.py", ""},
       {"pkg/a.py", "import torch\nfrom .b import y\n\ndevice = torch.device(" + choice + ")\n"},
       {"pkg/b.py", "import torch\n\n\ndef y(m):\n    return m.to(" + choice + ")\n"}},
      edit::Applicability::kUnsafe);
  REQUIRE(result.size() == 3);
  CHECK(has(result.at("pkg/a.py"), "device = DEVICE\n"));
  CHECK(has(result.at("pkg/b.py"), "return m.to(DEVICE.type)\n"));
}

TEST_CASE("a module that fewer than two files would use is not made") {
  const std::string branches =
      "import torch\nfrom . import z\n\nif torch.cuda.is_available():\n    device = "
      "\"cuda\"\nelse:\n"
      "    device = \"cpu\"\n";
  const Texts result = fixed({{"pkg/__init__.py", ""},
                              {"pkg/a.py", branches},
                              {"pkg/b.py", branches},
                              {"pkg/c.py", std::string("from . import z\n") + kTie}},
                             edit::Applicability::kUnsafe);
  CHECK(result.size() == 3);
  CHECK_FALSE(result.contains("pkg/_device.py"));
  CHECK(has(result.at("pkg/c.py"), "DEVICE = torch."));
}

TEST_CASE("names that are taken") {
  const Texts result =
      fixed({{"pkg/__init__.py", ""},
             {"pkg/_device.py", "import ctypes\n"},
             {"pkg/a.py", std::string("import torch\nfrom .b import y\n\nDEVICE = 3\n"
                                      "x = torch.ones(1).cuda()\n")},
             {"pkg/b.py", std::string("import torch\n\ny = torch.ones(1).cuda()\n")}});
  REQUIRE(result.contains("pkg/_torch_device.py"));
  CHECK(has(result.at("pkg/a.py"), "from ._torch_device import DEVICE as TORCH_DEVICE\n"));
  CHECK(has(result.at("pkg/a.py"), "device=TORCH_DEVICE"));
  CHECK(has(result.at("pkg/b.py"), "from ._torch_device import DEVICE\n"));
}

}  // namespace
}  // namespace torchport::project
