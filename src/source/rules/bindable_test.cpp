#include "source/rules/bindable.h"

#include <doctest/doctest.h>

#include "source/rules/converge.h"

namespace torchport::rules {
namespace {

// The text after all fixes, or "" if nothing changed.
std::string bound_by_all(const std::string& text) {
  const edit::Settings settings;
  const auto fixed = converge_python("a.py", text, {}, settings, Applicability::kUnsafe);
  REQUIRE(fixed.has_value());
  return fixed->text == text ? std::string() : fixed->text;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("what runs above the device variable does not use it") {
  // A function that the module calls before its import of torch.
  CHECK(bound_by_all("import os\n\ndef make():\n    return torch.ones(1).cuda()\n\n"
                     "if os.name:\n    z = make()\nimport torch\n")
            .empty());
  // The same by a second function, and by a class.
  CHECK(bound_by_all("import os\n\ndef inner():\n    return torch.ones(1).cuda()\n\n"
                     "def outer():\n    return inner()\n\nclass A:\n    x = outer()\n\n"
                     "import torch\n")
            .empty());
  CHECK(bound_by_all("import os\n\nclass A:\n    def f(self):\n"
                     "        return torch.ones(1).cuda()\n\nx = A().f()\nimport torch\n")
            .empty());
  // Nothing calls it there.
  CHECK(has(bound_by_all("import os\n\ndef make():\n    return torch.ones(1).cuda()\n\n"
                         "import torch\nx = make()\n"),
            "DEVICE = "));
}

TEST_CASE("imports and what uses them in one line become two") {
  CHECK(bound_by_all("import torch; x = torch.zeros(3).cuda()\nprint(x)\n") ==
        "import torch\n\nDEVICE = torch.device(\n    \"cuda\" if torch.cuda.is_available()\n"
        "    else \"mps\" if torch.backends.mps.is_available()\n    else \"cpu\"\n)\n\n"
        "x = torch.zeros(3, device=DEVICE)\nprint(x)\n");
  CHECK(has(bound_by_all("import torch as th; import os; a = 1; x = th.ones(1).cuda()\r\n"),
            "import torch as th; import os\r\n\r\nDEVICE = th.device("));
  // Nothing in the line needs the device.
  CHECK(has(bound_by_all("import torch; a = 1\nx = torch.ones(1).cuda()\n"),
            "import torch; a = 1\n\nDEVICE = "));
  CHECK(has(bound_by_all("import torch; print(\"cuda\")\nx = torch.ones(1).cuda()\n"),
            "import torch\n\nDEVICE = "));
}

TEST_CASE("a module that does without torch on import goes on doing so") {
  const std::string checked =
      "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch\n\n";
  CHECK(bound_by_all(checked + "def f(m):\n    return m.cuda()\n").empty());
  CHECK(has(bound_by_all(checked + "def f():\n    import torch\n"
                                   "    return torch.ones(1).cuda()\n"),
            "device=torch.device(\n"));
  CHECK(bound_by_all("import os\n\ndef f(m):\n    return m.cuda()\n\n"
                     "if __name__ == \"__main__\":\n    import torch\n"
                     "    f(torch.nn.Linear(1, 1))\n")
            .empty());
  for (const std::string handler : {"    torch = None\n", "    HAS_TORCH = False\n"}) {
    const std::string fixed =
        bound_by_all("try:\n    import torch\nexcept ImportError:\n" + handler +
                     "\ndef f():\n    return torch.ones(1).cuda()\n");
    CHECK(!has(fixed, "DEVICE"));
    CHECK(has(fixed, "device=torch.device("));
  }
  const std::string needed = bound_by_all(
      "try:\n    import torch\n    from torch import nn\nexcept ImportError as e:\n"
      "    raise RuntimeError(\"no torch\") from e\nimport math\n\n"
      "def f():\n    return torch.ones(1).cuda()\n");
  CHECK(has(needed, "import math\n\nDEVICE = torch.device("));
}

TEST_CASE("a function's own name for torch is the one that is used there") {
  const std::string fixed =
      bound_by_all("def f():\n    import torch as th\n    return th.ones(1).cuda()\n");
  CHECK(fixed.starts_with("def f():\n    import torch as th\n    return th.ones("));
  CHECK(has(fixed, "if th.cuda.is_available()"));
  CHECK(!has(fixed, "torch.cuda"));
}

TEST_CASE("torch is imported where its parts are, and before the package's own modules") {
  const std::string use = "\ndef f(m):\n    return m.cuda()\n";
  CHECK(bound_by_all("import os\nimport torch.nn as nn\n" + use)
            .starts_with("import os\nimport torch\nimport torch.nn as nn\n\nDEVICE = "));
  CHECK(bound_by_all("import os\nimport numpy\n\nfrom .layers import x\n" + use)
            .starts_with("import os\nimport numpy\nimport torch\n\nfrom .layers import x\n\n"));
  CHECK(bound_by_all("\"\"\"Doc.\"\"\"\n" + use).starts_with("\"\"\"Doc.\"\"\"\n\nimport torch\n"));
}

TEST_CASE("TorchScript code gets the device of its arguments, or no fix") {
  const std::string scripted =
      "import torch\n\n@torch.jit.script\ndef f(x):\n    return x + torch.zeros(1).cuda()\n";
  CHECK(has(bound_by_all(scripted), "torch.zeros(1, device=x.device)"));
  // The variable is there already, because other code needs it.
  const std::string both =
      "import torch\n\n@torch.jit.script\ndef f(n: int):\n    return torch.zeros(n).cuda()\n\n"
      "def g():\n    return torch.zeros(3).cuda()\n";
  const std::string fixed = bound_by_all(both);
  CHECK(has(fixed, "return torch.zeros(n).cuda()"));
  CHECK(has(fixed, "return torch.zeros(3, device=DEVICE)"));
  // What compiled code calls is compiled, too: functions, methods, submodules.
  CHECK(bound_by_all("import torch\n\ndef helper():\n    return torch.ones(1).cuda()\n\n"
                     "class Part(torch.nn.Module):\n    def forward(self, x):\n"
                     "        return x + helper()\n\nclass Net(torch.nn.Module):\n"
                     "    def __init__(self):\n        super().__init__()\n"
                     "        self.part = Part()\n    def forward(self, x):\n"
                     "        return self.part(x)\n\ndef build():\n    net = Net()\n"
                     "    net = net.eval()\n    return torch.jit.script(net)\n")
            .empty());
  CHECK(bound_by_all("import torch\ndevice = torch.device(\"cpu\" if not torch.cuda.is_available() "
                     "else \"cuda\")\n@torch.jit.script_if_tracing\ndef f(n: int):\n"
                     "    return torch.zeros(n).cuda()\n")
            .find("zeros(n, device") == std::string::npos);
  // __init__ is Python's.
  CHECK(has(bound_by_all("import torch\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n"
                         "        super().__init__()\n        self.part = torch.nn.Linear(1, 1)"
                         ".cuda()\n\ns = torch.jit.script(Net())\n"),
            ".to(DEVICE)"));
}

TEST_CASE("strings in f-strings have quotes that every Python reads") {
  CHECK(has(bound_by_all("import torch\nprint(f\"{torch.load('x.pt')}\")\n"),
            "f\"{torch.load('x.pt', map_location='cpu')}\""));
  CHECK(has(bound_by_all("import torch\nprint(f'{torch.cuda.get_device_name(0)}')\n"),
            "if torch.cuda.is_available() else \"cpu\"}'"));
  // No quotes are left for it.
  CHECK(bound_by_all("import torch\nx = f\"{f'{torch.load(p)}'}\"\n").empty());
}

TEST_CASE("inserted strings have the quotes of their line, or of the file") {
  const std::string file = "import torch\nA = 'a'\nB = 'b'\n";
  CHECK(has(bound_by_all(file + "x = torch.ones(1).cuda()\n"), "'cuda' if torch.cuda.is_av"));
  CHECK(has(bound_by_all(file + "device = torch.device(\"cuda\")\n"), "\"cuda\" if torch.cuda"));
  CHECK(has(bound_by_all("import torch\nA = \"it's\"\nx = torch.ones(1).cuda()\n"),
            "\"cuda\" if torch.cuda"));
}

}  // namespace
}  // namespace torchport::rules
