// Tables of small programs, with what the semantics layer knows at a marked place.
#include <string>

#include <doctest/doctest.h>

#include "source/edit/device_source.h"
#include "source/semantics/guards.h"
#include "source/semantics/literals.h"

namespace torchport {
namespace {

using syntax::Kind;
using syntax::Node;

std::shared_ptr<const syntax::Tree> parse(const std::string& source) {
  auto tree = syntax::Tree::parse(source);
  REQUIRE(tree.has_value());
  REQUIRE_FALSE((*tree)->has_syntax_error());
  return *tree;
}

// The call of `mark(...)` or `x.mark(...)`.
Node marked(const syntax::Tree& tree) {
  for (std::uint32_t i = 0; i < tree.size(); ++i) {
    const Node node = tree.at(i);
    if (node.is(Kind::kCall) && syntax::callee(node).text().ends_with("mark")) return node;
  }
  FAIL("no mark()");
  return {};
}

TEST_CASE("guards: what holds at a place") {
  struct Row {
    std::string source;
    bool present;
    bool absent;
  };
  const Row rows[] = {
      {"import torch\nmark()\n", false, false},
      {"import torch\nif torch.cuda.is_available():\n    mark()\n", true, false},
      {"import torch\nif not torch.cuda.is_available():\n    mark()\n", false, true},
      {"import torch\nif torch.cuda.is_available():\n    pass\nelse:\n    mark()\n", false, true},
      {"import torch as th\nx = mark() if th.cuda.is_available() else 1\n", true, false},
      {"from torch.cuda import is_available\nif is_available() and y:\n    mark()\n", true, false},
      {"import torch\nif torch.cuda.is_available() or y:\n    mark()\n", false, false},
      {"import torch\nuse = torch.cuda.is_available()\nif use:\n    mark()\n", true, false},
      {"import torch\ndef f():\n    if not torch.cuda.is_available():\n        return\n    "
       "mark()\n",
       true, false},
      {"import torch\ndef f():\n    if not torch.cuda.is_available():\n        print()\n    "
       "mark()\n",
       false, false},
      // A demand is no guard.
      {"import torch\nassert torch.cuda.is_available()\nmark()\n", false, false},
      {"import torch\nif not torch.cuda.is_available():\n    raise SystemExit\nmark()\n", false,
       false},
      {"import torch\ndef f(x):\n    assert x.is_cuda\n    mark()\n", true, false},
      {"import torch\ntry:\n    f()\nexcept torch.cuda.OutOfMemoryError:\n    mark()\n", true,
       false},
      {"try:\n    f()\nexcept RuntimeError as e:\n    if 'CUDA out of memory' in str(e):\n        "
       "mark()\n",
       true, false},
      {"import torch\ndef f(args):\n    if args.no_cuda:\n        return\n    mark()\n", true,
       false},
      {"def f(device):\n    if device.type == 'cuda':\n        mark()\n", true, false},
      {"def f(device):\n    if device.type != 'cuda':\n        mark()\n", false, true},
      {"import torch\nif torch.cuda.device_count() > 1:\n    mark()\n", true, false},
      {"import unittest, torch\n@unittest.skipIf(not torch.cuda.is_available(), '')\ndef test():\n "
       "   mark()\n",
       true, false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.source);
    const auto tree = parse(row.source);
    const semantics::SemanticModel model(tree);
    const semantics::CudaKnowledge known = semantics::knowledge_at(model, marked(*tree));
    CHECK(known.present == row.present);
    CHECK(known.absent == row.absent);
  }
}

TEST_CASE("literals: the role of \"cuda\"") {
  struct Row {
    std::string source;
    std::string role;
  };
  const Row rows[] = {
      {"x.to('cuda')", "placement"},
      {"import torch\nd = torch.device('cuda:1')", "placement"},
      {"device = 'cuda'", "placement"},
      {"f(device='cuda')", "placement"},
      {"def f(x, device='cuda'): pass", "default"},
      {"p.add_argument('--device', default='cuda')", "default"},
      {"p.add_argument('--device', choices=['cuda', 'cpu'])", "dispatch"},
      {"if device == 'cuda': pass", "comparison"},
      {"ok = str(d).startswith('cuda')", "comparison"},
      {"if d in ('cuda', 'mps'): pass", "comparison"},
      {"import torch\nd = torch.device('cuda' if torch.cuda.is_available() else 'cpu')", "guarded"},
      {"print('cuda')", "message"},
      {"kernels = {'cuda': 1}", "dispatch"},
      {"import torch\ntorch.autocast('cuda')", "mode"},
      {"name = 'cudart'", "none"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.source);
    const auto tree = parse(row.source + "\n");
    const semantics::SemanticModel model(tree);
    std::string role = "none";
    for (std::uint32_t i = 0; i < tree->size(); ++i) {
      if (!tree->at(i).is(Kind::kString)) continue;
      const semantics::Literal literal = semantics::classify_literal(model, tree->at(i));
      if (literal.role != semantics::LiteralRole::kNone) role = semantics::role_name(literal.role);
    }
    CHECK(role == row.role);
  }
}

TEST_CASE("device source: what is in scope comes before anything invented") {
  struct Row {
    std::string source;
    std::string text;
    bool invented;
  };
  const std::string choice = "torch.device('cuda' if torch.cuda.is_available() else 'cpu')";
  const std::string module = "import torch\ndevice = " + choice + "\n";
  const Row rows[] = {
      {"import torch\nx.mark()\n", "DEVICE", true},
      {"import torch\nDEVICE = 3\nx.mark()\n", "TORCH_DEVICE", true},
      {"def f(device):\n    x.mark()\n", "device", false},
      {"def f(device=None):\n    x.mark()\n", "DEVICE", true},
      {"import torch\ndef f():\n    x.mark()\ndevice = torch.device('cuda')\n", "device", false},
      {"import torch\nx.mark()\ndevice = torch.device('cuda')\n", "DEVICE", true},
      {"import torch\ndevice = torch.device('cpu')\nx.mark()\n", "DEVICE", true},
      {"class A:\n    def __init__(self, d):\n        self.device = d\n    def f(self):\n        "
       "x.mark()\n",
       "self.device", false},
      {"from torch import nn\nclass A(nn.Module):\n    def forward(self, x):\n        y = "
       "x.view(1)\n        z = g().mark()\n",
       "x.device", false},
      {"from torch import nn\nclass A(nn.Module):\n    def forward(self, x):\n        x = "
       "x.mark()\n        return x.view(1)\n",
       "DEVICE", true},
      {"args = get()\nprint(args.device)\nx.mark()\n", "args.device", false},
      {"from .utils import get_device\nx.mark()\n", "get_device()", false},
  };
  const edit::Settings settings;
  for (const Row& row : rows) {
    CAPTURE(row.source);
    const auto tree = parse(row.source);
    const semantics::SemanticModel model(tree);
    const edit::DeviceSource devices(model, settings);
    const edit::DeviceRef found = devices.at(marked(*tree));
    CHECK(found.text == row.text);
    CHECK(found.module_device == row.invented);
  }
  const auto tree = parse(module + "x.mark()\n");
  const semantics::SemanticModel model(tree);
  const edit::DeviceSource devices(model, settings);
  CHECK(devices.at(marked(*tree)).certain);
}

TEST_CASE("scopes: a class body is invisible to its methods, branches join") {
  const auto tree =
      parse("a = 1\nclass C:\n    a = 2\n    def f(self):\n        return a.mark()\n");
  const semantics::SemanticModel model(tree);
  Node use = marked(*tree);
  while (!use.is(Kind::kIdentifier)) use = use.first_child();
  const auto bindings = model.scopes().reaching("a", use);
  REQUIRE(bindings.size() == 1);
  CHECK(bindings.front()->value.text() == "1");

  const auto branches = parse("if c:\n    d = 'cuda'\nelse:\n    d = 'cpu'\nd.mark()\n");
  const semantics::SemanticModel joined(branches);
  Node name = marked(*branches);
  while (!name.is(Kind::kIdentifier)) name = name.first_child();
  CHECK(joined.scopes().reaching("d", name).size() == 2);
  CHECK_FALSE(joined.constant_string(name).has_value());
}

}  // namespace
}  // namespace torchport
