#include "source/rules/unused.h"

#include <doctest/doctest.h>

#include "source/rules/converge.h"

namespace torchport::rules {
namespace {

std::string tidied(const std::string& text, std::string_view path = "a.py",
                   const flow::Summary* project = nullptr) {
  const edit::Settings settings;
  const auto fixed =
      converge_python(path, text, {}, settings, Applicability::kUnsafe, nullptr, project);
  REQUIRE(fixed.has_value());
  REQUIRE(fixed->text != text);
  return fixed->text;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

const std::string kUse =
    "\ndef f(m, x):\n    x = Variable(x.cuda(), volatile=True)\n    return m(x)\n";
const std::string kImport = "import torch\nfrom torch.autograd import Variable\n";
const std::string kHead = kImport + kUse;
const std::string kListed = "__all__ = [\"Variable\"]\n" + kUse;

TEST_CASE("an import that the fix made unused goes, and no other") {
  CHECK(!contains(tidied(kHead), "Variable"));
  CHECK(contains(tidied("import os\n" + kHead), "import os\n"));
  const std::string several = tidied(
      "import torch\nfrom torch.autograd import (\n    Function,\n    Variable,\n    grad,\n)\n"
      "print(Function, grad)\n" +
      kUse);
  CHECK(contains(several, "import (\n    Function,\n    grad,\n)\n"));
  CHECK(contains(tidied("import torch\nfrom torch.autograd import Function, Variable\n"
                        "print(Function)\n" +
                        kUse),
                 "import Function\n"));
}

TEST_CASE("what the file did not read before its fixes stays") {
  // Methods with one name, of which one read the variable.
  const std::string text = tidied(
      "import torch\n\nclass A:\n    def f(self):\n        n = self.a * 2\n        self.x = n\n\n"
      "    def g(self):\n        return torch.ones(1).cuda()\n\nclass B:\n    def f(self):\n"
      "        n = self.a * 2\n        self.x = 1\n");
  CHECK(contains(text, "        n = self.a * 2\n        self.x = 1\n"));
  // And two functions with one name.
  CHECK(contains(
      tidied("import torch\nif torch.x:\n    def f(a):\n        n = a.b\n        return n\n"
             "else:\n    def f(a):\n        n = a.b\n        return torch.ones(1).cuda()\n"),
      "        n = a.b\n        return torch.ones"));
}

TEST_CASE("an import in a branch goes, with the branch if that has nothing else") {
  const std::string text = tidied(
      "import torch\n\ndef f(self, m, x):\n    if self.half:\n"
      "        from torch.autograd import Variable\n    if self.half:\n"
      "        x = Variable(x, volatile=True)\n    return m(x)\n");
  CHECK(text.starts_with("import torch\n\ndef f(self, m, x):\n    if self.half:\n        "));
  CHECK(!contains(text, "Variable"));
}

TEST_CASE("an import that others may use stays") {
  CHECK(contains(tidied(kHead, "pkg/__init__.py"), "import Variable"));
  CHECK(contains(tidied(kImport + kListed), "import Variable"));
  CHECK(contains(tidied("import torch\nfrom torch.autograd import Variable  # noqa: F401\n" + kUse),
                 "import Variable"));
  CHECK(contains(tidied("import torch\ntry:\n    from torch.autograd import Variable\n"
                        "except ImportError:\n    Variable = None\n" +
                        kUse),
                 "import Variable"));
  for (const char* import : {"from a import Variable\n", "from .a import *\n"}) {
    std::vector<flow::FileOfProject> files;
    for (const auto& [path, text] :
         {std::pair<std::string, std::string>{"pkg/a.py", kImport + kUse}, {"pkg/b.py", import}}) {
      const auto tree = syntax::Tree::parse(text);
      REQUIRE(tree.has_value());
      files.push_back({path, *flow::collect_facts(SemanticModel(*tree))});
    }
    const flow::Summary project(std::move(files));
    CHECK(contains(tidied(kHead, "pkg/a.py", &project), "import Variable"));
  }
}

TEST_CASE("a local variable that the fix made unused goes, if its value does nothing") {
  const std::string indexed =
      "import torch\n\ndef load(path):\n    gpu = VALUE\n"
      "    return torch.load(path, map_location=lambda storage, loc: storage.cuda(gpu))\n";
  const auto with = [&](const std::string& value) {
    std::string text = indexed;
    return tidied(text.replace(text.find("VALUE"), 5, value));
  };
  CHECK(!contains(with("torch.cuda.current_device()"), "gpu"));
  CHECK(contains(with("next_free_device()"), "gpu = next_free_device()\n"));
}

TEST_CASE("what strings say to people keeps no import") {
  const std::string import = "import torch\nfrom torch import cuda\n\n";
  const std::string use = "cuda.manual_seed(0)\n";
  const auto text = [&](const std::string& more) {
    const std::string code =
        std::string(import).append("torch.manual_seed(0)\n").append(use).append(more);
    const auto fixed = converge_python("a.py", code, {}, edit::Settings{}, Applicability::kSafe);
    REQUIRE(fixed.has_value());
    CHECK(!contains(fixed->text, use));
    return fixed->text;
  };
  CHECK(!contains(text("print(\"emptying the cuda cache\")\n"), "import cuda"));
  CHECK(contains(text("__all__ = [\"cuda\"]\n"), "import cuda"));
  CHECK(contains(text("x: \"dict[str, cuda.Stream]\" = {}\n"), "import cuda"));
  CHECK(contains(text("exec(\"x = cuda.device_count()\")\n"), "import cuda"));
}

}  // namespace
}  // namespace torchport::rules
