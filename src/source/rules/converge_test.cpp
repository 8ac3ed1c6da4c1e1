#include "source/rules/converge.h"

#include <doctest/doctest.h>

#include "source/rules/registry.h"

namespace torchport::rules {
namespace {

const std::string kTie = "import torch\n\nx = torch.ones(1).cuda()\n";

TEST_CASE("what takes too long is left alone and says so") {
  const edit::Settings settings;
  Deadline past{base::ThreadClock::now() - std::chrono::seconds(1)};
  const auto fixed =
      converge_python("a.py", kTie, {find_rule("TP101")}, settings, Applicability::kSafe, &past);
  REQUIRE(!fixed.has_value());
  CHECK(fixed.error().code == base::ErrorCode::kBudget);
}

TEST_CASE("what is left is known of the text as it will be") {
  const edit::Settings settings;
  const std::string text = kTie + "y = x.cuda(1)\n";
  const auto fixed =
      converge_python("a.py", text, {find_rule("TP101")}, settings, Applicability::kSafe);
  REQUIRE(fixed.has_value());
  REQUIRE(fixed->left.has_value());
  const auto left = fixed->left.value_or(std::vector<Finding>{});
  REQUIRE(left.size() == 1);
  const base::Span span = left.front().span;
  CHECK(fixed->text.substr(span.start, span.size()).starts_with("cuda(1"));
}

TEST_CASE("a text that does not parse comes back as it was") {
  const edit::Settings settings;
  const std::string broken = kTie + "def f(:\n";
  const auto fixed =
      converge_python("a.py", broken, {find_rule("TP101")}, settings, Applicability::kUnsafe);
  REQUIRE(fixed.has_value());
  CHECK(fixed->text == broken);
  CHECK(fixed->applied.empty());
  CHECK(!fixed->reverted);
}

TEST_CASE("tiers: an unsafe fix waits to be asked for") {
  const edit::Settings settings;
  const std::string text = "import torch\nx = torch.ones(1).cuda(1)\n";
  const auto fix = [&](Applicability tier) {
    return converge_python("a.py", text, {find_rule("TP101")}, settings, tier)->text;
  };
  CHECK(fix(Applicability::kSafe) == text);
  CHECK(fix(Applicability::kUnsafe).find(".cuda(1)") == std::string::npos);
}

bool holds_text(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// The text after all fixes, or "" if nothing changed.
std::string fixed_by_all(const std::string& text) {
  const edit::Settings settings;
  const auto fixed = converge_python("a.py", text, {}, settings, Applicability::kUnsafe);
  REQUIRE(fixed.has_value());
  return fixed->text == text ? std::string() : fixed->text;
}

TEST_CASE("what a fix inserts is bound where it is used") {
  // The module's device comes after the import of torch, wherever that is.
  const std::string late = "import math\n\nN = 3\nimport torch\nx = torch.ones(N).cuda()\n";
  const std::string fixed = fixed_by_all(late);
  CHECK(fixed.find("import torch\n\nDEVICE = ") != std::string::npos);
  CHECK(fixed.find("DEVICE = ") < fixed.find("device=DEVICE"));
  // At import time the class runs before the import; its method does not.
  const std::string early =
      "class A:\n    def f(self):\n        return torch.ones(3).cuda()\nimport torch\n";
  CHECK(fixed_by_all(early).find("DEVICE = ") > early.find("import torch"));
}

// The text after the safe fixes, or "" if nothing changed.
std::string fixed_safely(const std::string& text) {
  const auto fixed = converge_python("a.py", text, {}, edit::Settings{}, Applicability::kSafe);
  REQUIRE(fixed.has_value());
  return fixed->text == text ? std::string() : fixed->text;
}

TEST_CASE("what could break a program that runs is not safe") {
  // CUDA reads the variable once, so asking for a device before it is set would undo it.
  const std::string late =
      "import os\nimport torch\n\n\ndef main(n):\n    os.environ[\"CUDA_VISIBLE_DEVICES\"] = n\n"
      "    print(torch.ones(1).cuda())\n";
  CHECK(fixed_safely(late).empty());
  CHECK(fixed_by_all(late).find("device=DEVICE") != std::string::npos);
  const std::string early =
      "import os\nos.environ[\"CUDA_VISIBLE_DEVICES\"] = \"1\"\nimport torch\n\n\n"
      "def main():\n    print(torch.ones(1).cuda())\n";
  CHECK(fixed_safely(early).find("device=DEVICE") != std::string::npos);
  // On the CPU it would compute in bfloat16: other numbers, and NumPy does not have the type.
  const std::string half =
      "import torch\n\n\ndef f(m, x):\n    with torch.cuda.amp.autocast(enabled=%):\n"
      "        return m(x)\n";
  const auto with = [&](const std::string& value) {
    std::string text = half;
    return text.replace(text.find('%'), 1, value);
  };
  CHECK(fixed_safely(with("m.half")).empty());
  CHECK(!fixed_by_all(with("m.half")).empty());
  // The GPU of a Mac is unknown to an autocast before torch 2.5, also if that is off.
  CHECK(fixed_safely(with("False")).empty());
  edit::Settings newer;
  newer.min_torch = {2, 5};
  const auto off = converge_python("a.py", with("False"), {}, newer, Applicability::kSafe);
  REQUIRE(off.has_value());
  CHECK(off->text != with("False"));
  // What it makes goes to CUDA anyway.
  const std::string flagged =
      "import torch\nfrom m import Sequence\n\n\ndef trial():\n    x = torch.randn(3).cuda()\n"
      "    return Sequence(x, use_cuda=True)\n";
  CHECK(fixed_safely(flagged).empty());
  CHECK(!fixed_by_all(flagged).empty());
  // It finds out whether CUDA works.
  CHECK(fixed_by_all("import torch\n\n\ndef works():\n    try:\n        torch.ones(1).cuda()\n"
                     "        return True\n    except Exception:\n        return False\n")
            .empty());
}

TEST_CASE("a comment goes with the seed that it speaks of") {
  CHECK(fixed_by_all("import torch\n\ntorch.manual_seed(1)\n# the GPUs\ntorch.cuda.manual_seed(1)\n"
                     "torch.cuda.manual_seed_all(1)\n\nx = 1\n") ==
        "import torch\n\ntorch.manual_seed(1)\n\nx = 1\n");
  // It may speak of what follows, or of more.
  CHECK(fixed_by_all("import torch\n\ntorch.manual_seed(1)\n# CUDA\ntorch.cuda.manual_seed(1)\n"
                     "x = 1\n") == "import torch\n\ntorch.manual_seed(1)\n# CUDA\nx = 1\n");
  CHECK(fixed_by_all(
            "import torch\n\ntorch.manual_seed(1)\n# noqa: gpu\ntorch.cuda.manual_seed(1)\n") ==
        "import torch\n\ntorch.manual_seed(1)\n# noqa: gpu\n");
  CHECK(
      fixed_by_all("import torch\n\ntorch.manual_seed(1)\n# again\ntorch.cuda.manual_seed(1)\n") ==
      "import torch\n\ntorch.manual_seed(1)\n# again\n");
}

TEST_CASE("what DataParallel splits goes to CUDA or stays on the CPU") {
  const auto text = [](Applicability tier, const std::string& input) {
    edit::Settings settings;
    settings.extends_choices = tier == Applicability::kUnsafe;
    const std::string code =
        "import torch\nfrom torch import nn\n\nnet = nn.DataParallel(nn.Linear(4, 2)).cuda()\n"
        "print(net(" +
        input + ").sum())\n";
    const auto fixed = converge_python("a.py", code, {}, settings, tier);
    REQUIRE(fixed.has_value());
    CHECK(holds_text(fixed->text, ".to(DEVICE)"));
    return fixed->text;
  };
  const std::string moved = "torch.ones(8, 4).cuda()";
  const std::string left = "torch.ones(8, 4)";
  CHECK(!holds_text(text(Applicability::kSafe, moved), "mps"));
  CHECK(!holds_text(text(Applicability::kSafe, left), "mps"));
  // Wrapped only where there are several CUDA devices, it does not matter elsewhere.
  CHECK(holds_text(text(Applicability::kUnsafe, moved), "mps"));
  CHECK(holds_text(text(Applicability::kUnsafe, moved), "if torch.cuda.device_count() > 1:"));
  // Nothing else moves these inputs.
  CHECK(!holds_text(text(Applicability::kUnsafe, left), "mps"));
  CHECK(holds_text(text(Applicability::kUnsafe, left), "if torch.cuda.is_available():"));
}

TEST_CASE("findings that need the same edit are all fixed by it, and counted") {
  const std::string code =
      "import torch\nfrom torch.cuda.amp import GradScaler, autocast\n\nscaler = GradScaler()\n\n\n"
      "def step(net, x):\n    with autocast():\n        y = net(x)\n    with autocast():\n"
      "        z = net(y)\n    return scaler.scale(z.sum())\n";
  const auto fixed =
      converge_python("a.py", code, {find_rule("TP503")}, edit::Settings{}, Applicability::kUnsafe);
  REQUIRE(fixed.has_value());
  CHECK(fixed->applied.at("TP503") == 3);
  CHECK(fixed->passes == 1);
}

TEST_CASE("what only the program binds is not what its functions take") {
  const std::string text = fixed_by_all(
      "import torch\n\n\nclass Trainer:\n    def __init__(self, cfg):\n"
      "        self.net = torch.nn.Linear(2, 1).to(cfg.device)\n\n    def fit(self):\n"
      "        return self.net(torch.ones(4, 2).cuda())\n\n\nif __name__ == '__main__':\n"
      "    cfg = load()\n    Trainer(cfg).fit()\n");
  CHECK(holds_text(text, "device=DEVICE"));
}

TEST_CASE("what keeps the loaded tensors gets them on the device") {
  const std::string head = "import torch\n\n\ndef resume(net, path):\n    net.load_state_dict(";
  CHECK(holds_text(fixed_by_all(head + "torch.load(path), assign=True)\n"), "map_location=DEVICE"));
  CHECK(holds_text(fixed_by_all(head + "torch.load(path))\n"), "map_location='cpu'") !=
        holds_text(fixed_by_all(head + "torch.load(path))\n"), "map_location=\"cpu\""));
}

TEST_CASE("a demand goes when the last tie of its file has gone") {
  const std::string demand =
      "import sys\n\nimport torch\n\n\ndef main():\n    if not torch.cuda.is_available():\n"
      "        sys.exit(1)\n    torch.backends.cudnn.benchmark = True\n";
  const std::string fixed = fixed_by_all(demand + "    return torch.ones(1).cuda()\n");
  CHECK(fixed.find("sys.exit") == std::string::npos);
  CHECK(fixed.find(".cuda()") == std::string::npos);
  // Safe fixes leave it, and so does a tie that has no fix.
  const auto safe = converge_python("a.py", demand + "    return torch.ones(1).cuda()\n", {},
                                    edit::Settings{}, Applicability::kSafe);
  REQUIRE(safe.has_value());
  CHECK(safe->text.find("sys.exit") != std::string::npos);
  CHECK(fixed_by_all(demand + "    return torch.cuda.CUDAGraph()\n").empty());
  // The demand may be for what the file imports.
  CHECK(fixed_by_all("import gather_cuda\n" + demand + "    return gather_cuda.run()\n").empty());
}

TEST_CASE("a name that the file has already may be used before the end of its imports") {
  const std::string fixed = fixed_by_all(
      "import torch\ntorch.set_default_tensor_type(\"torch.cuda.FloatTensor\")\nimport math\n");
  CHECK(fixed.find("if torch.cuda.is_available():\n    torch.set_default_tensor_type") !=
        std::string::npos);
}

TEST_CASE("a module that imports torch only in functions goes on doing so") {
  const std::string lazy =
      "import math\n\ndef f():\n    import torch\n    return torch.ones(3).cuda() * math.pi\n";
  const std::string fixed = fixed_by_all(lazy);
  CHECK(fixed.starts_with("import math\n\ndef f():\n    import torch\n    return torch.ones(\n"));
  CHECK(fixed.find("device=torch.device(\n") != std::string::npos);
}

TEST_CASE("code that leaves its module gains no global") {
  CHECK(fixed_by_all("import torch\n@torch.jit.script\ndef f(n: int):\n"
                     "    return torch.ones(n).cuda()\n")
            .empty());
  CHECK(fixed_by_all("import torch\nclass M(torch.nn.Module):\n    def go(self):\n"
                     "        return torch.ones(2).cuda()\nm = M()\ns = torch.jit.script(m)\n")
            .empty());
  CHECK(fixed_by_all("import inspect\nimport torch\ndef f():\n    return torch.ones(2).cuda()\n"
                     "source = inspect.getsource(f)\n")
            .empty());
}

TEST_CASE("two fixes of one program agree whether there is a wrapper") {
  const std::string fixed = fixed_by_all(
      "import torch\nmodel = torch.nn.DataParallel(torch.nn.Linear(2, 2)).cuda()\n"
      "torch.save(model.state_dict(), \"a.pt\")\n");
  CHECK(fixed.find("if torch.cuda.device_count() > 1:") != std::string::npos);
  CHECK(fixed.find("hasattr(model, \"module\")") != std::string::npos);
  const std::string exported = fixed_by_all(
      "import torch\nmodel = torch.nn.DataParallel(torch.nn.Linear(2, 2)).cuda()\n"
      "traced = torch.jit.trace(model, torch.ones(1, 2))\n");
  CHECK(exported.find("if torch.cuda.device_count() > 1:") != std::string::npos);
  CHECK(exported.find("model.module") == std::string::npos);
  CHECK(exported.find("getattr(model, \"module\", model)") != std::string::npos);
}

}  // namespace
}  // namespace torchport::rules
