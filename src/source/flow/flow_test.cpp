#include <doctest/doctest.h>

#include "source/flow/summary.h"

namespace torchport::flow {
namespace {

using Kind = Condition::Kind;
using Sourced = std::vector<std::pair<std::string, std::string>>;  // path, source

FileFacts facts_of(const std::string& source) {
  auto tree = syntax::Tree::parse(source);
  REQUIRE(tree);
  auto facts = collect_facts(semantics::SemanticModel(*tree));
  REQUIRE(facts);
  return std::move(*facts);
}

// Of the file's first function.
std::vector<std::string_view> parameters_of(const FileFacts& facts) {
  std::vector<std::string_view> names;
  for (const TextNumber name : FileFacts::part(facts.parameters, facts.functions.at(0).parameters))
    names.push_back(facts.text(name));
  return names;
}

Summary join(const Sourced& sources) {
  std::vector<FileOfProject> files;
  for (const auto& [path, source] : sources) files.push_back({path, facts_of(source)});
  return Summary(std::move(files));
}

bool with_cuda(const Sourced& sources, const std::string& path, const std::string& function) {
  return join(sources).holds(path, {Kind::kCalledWithCuda, function, {}});
}

bool from_cpu(const Sourced& sources, const std::string& path, const std::string& function,
              const std::vector<std::string>& parameters) {
  return join(sources).holds(path, {Kind::kFedFromCpu, function, parameters});
}

constexpr const char* kWork = "import torch\ndef work(x):\n    return x.cuda()\n";

TEST_CASE("a function is called with CUDA if all its callers check") {
  const std::string guarded =
      "import torch\nfrom pkg.gpu import work\nif torch.cuda.is_available():\n    work(1)\n";
  CHECK(with_cuda({{"pkg/gpu.py", kWork}, {"main.py", guarded}}, "pkg/gpu.py", "work"));
  CHECK(!with_cuda({{"pkg/gpu.py", kWork}}, "pkg/gpu.py", "work"));
  const std::string bare = "from pkg.gpu import work\nwork(2)\n";
  CHECK(!with_cuda({{"pkg/gpu.py", kWork}, {"main.py", guarded}, {"b.py", bare}}, "pkg/gpu.py",
                   "work"));
}

TEST_CASE("a check reaches through callers, relative imports and packages") {
  const Sourced sources{
      {"pkg/__init__.py", "from .gpu import work\n"},
      {"pkg/gpu.py", kWork},
      {"pkg/step.py", "from . import work\ndef step(x):\n    work(x)\n"},
      {"run.py",
       "import torch\nimport pkg.step as s\nuse_cuda = torch.cuda.is_available()\n"
       "if use_cuda:\n    s.step(1)\n"},
  };
  CHECK(with_cuda(sources, "pkg/gpu.py", "work"));
  CHECK(with_cuda(sources, "pkg/step.py", "step"));
}

TEST_CASE("functions that only call each other are not called with CUDA") {
  const std::string source = "def a():\n    b()\ndef b():\n    a()\n";
  CHECK(!with_cuda({{"m.py", source}}, "m.py", "a"));
  CHECK(!with_cuda({{"m.py", "def a(n):\n    a(n)\n"}}, "m.py", "a"));
  CHECK(!with_cuda({{"m.py", "class A:\n    def a(self, o):\n        o.a(o)\n"}}, "m.py", "A.a"));
  CHECK(!from_cpu({{"m.py", "def a(n):\n    a(n)\n"}}, "m.py", "a", {"n"}));
  const std::string itself =
      "import torch\ndef a(n):\n    a(n - 1)\nif torch.cuda.is_available():\n    a(3)\n";
  CHECK(with_cuda({{"m.py", itself}}, "m.py", "a"));
}

TEST_CASE("a function that calls itself needs all its inputs, whatever the order") {
  const std::string source =
      "import torch\ndef f(x, y):\n    f(y, x)\n    f(x, x)\ndef g(b):\n    f(torch.ones(2), b)\n";
  CHECK(!from_cpu({{"m.py", source}}, "m.py", "f", {"x"}));
  CHECK(!from_cpu({{"m.py", source}}, "m.py", "f", {"y"}));
  const std::string cpu = "import torch\ndef f(x, y):\n    f(x + 1, y)\nf(torch.ones(2), None)\n";
  CHECK(from_cpu({{"m.py", cpu}}, "m.py", "f", {"x", "y"}));
}

TEST_CASE("long chains of calls and names that many classes have are settled at once") {
  std::string chain = "import torch\n";
  constexpr int kLength = 20'000;
  for (int i = 0; i < kLength; ++i) {
    chain += "def f" + std::to_string(i) + "(x):\n    return " +
             (i == 0 ? std::string("x") : "f" + std::to_string(i - 1) + "(x)") + "\n";
  }
  chain +=
      "if torch.cuda.is_available():\n    f" + std::to_string(kLength - 1) + "(torch.ones(2))\n";
  const Summary summary = join({{"m.py", chain}});
  CHECK(summary.holds("m.py", {Kind::kCalledWithCuda, "f0", {}}));
  CHECK(summary.holds("m.py", {Kind::kFedFromCpu, "f0", {"x"}}));
  std::string classes = "import torch\nclass B:\n    def go(self):\n        self.go()\n";
  for (int i = 0; i < 2'000; ++i)
    classes += "class C" + std::to_string(i) + "(B):\n    def go(self):\n        B.go(self)\n";
  CHECK(!with_cuda({{"m.py", classes}}, "m.py", "C7.go"));
}

TEST_CASE("a function that is handed on counts as called there") {
  const std::string handed =
      "import torch\nimport torch.multiprocessing as mp\nfrom gpu import work\n"
      "if torch.cuda.is_available():\n    mp.spawn(work, nprocs=2)\n";
  CHECK(with_cuda({{"gpu.py", kWork}, {"m.py", handed}}, "gpu.py", "work"));
  CHECK(!with_cuda({{"gpu.py", kWork}, {"m.py", handed + "mp.spawn(work, nprocs=1)\n"}}, "gpu.py",
                   "work"));
  const std::string registered = "@register('x')\ndef f(x):\n    pass\n";
  const std::string call =
      "import torch\nfrom r import f\nif torch.cuda.is_available():\n    f(1)\n";
  CHECK(!with_cuda({{"r.py", registered}, {"m.py", call}}, "r.py", "f"));
}

TEST_CASE("methods: those of one class are known by their name, those of several are not") {
  const std::string engine =
      "import torch\nclass Engine:\n    def run(self):\n"
      "        if torch.cuda.is_available():\n            self.graph()\n"
      "    def graph(self):\n        torch.cuda.Stream()\n";
  CHECK(with_cuda({{"e.py", engine}}, "e.py", "Engine.graph"));
  CHECK(!with_cuda({{"e.py", engine}, {"u.py", "def u(e):\n    e.graph()\n"}}, "e.py",
                   "Engine.graph"));
  // The method of a derived class, by the call in its base.
  const std::string derived =
      "from e import Engine\nclass More(Engine):\n    def graph(self):\n"
      "        pass\ndef use(m):\n    m.graph()\n";
  CHECK(!with_cuda({{"e.py", engine}, {"d.py", derived}}, "d.py", "More.graph"));
  // Two classes with a method of this name, and an object of neither.
  const std::string two =
      "import torch\nclass A:\n    def go(self):\n        pass\nclass B:\n    def go(self):\n"
      "        pass\ndef use(x):\n    if torch.cuda.is_available():\n        x.go()\n";
  CHECK(!with_cuda({{"two.py", two}}, "two.py", "A.go"));
}

TEST_CASE("forward is called by torch, so nothing is known of its callers") {
  const std::string source =
      "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
      "def use(n):\n    if torch.cuda.is_available():\n        n.forward(1)\n";
  CHECK(!with_cuda({{"n.py", source}}, "n.py", "Net.forward"));
}

TEST_CASE("a parameter is on the CPU if all callers pass what is made there") {
  const std::string helper = "import torch\ndef pad(x, n=0):\n    return x\n";
  const auto by = [&](const std::string& caller, const std::vector<std::string>& parameters) {
    return from_cpu({{"h.py", helper}, {"c.py", "import torch\nfrom h import pad\n" + caller}},
                    "h.py", "pad", parameters);
  };
  CHECK(by("pad(torch.zeros(3))\n", {"x"}));
  CHECK(by("pad(torch.zeros(3))\n", {"x", "n"}));
  CHECK(by("pad(x=torch.zeros(3) + 1)\n", {"x"}));
  CHECK(by("y = torch.arange(4).view(2, 2)\npad(y, n=3)\n", {"x"}));
  CHECK(by("def g(b):\n    pad(b.cpu())\n", {"x"}));
  CHECK(by("def g(b):\n    pad(b)\ng(torch.ones(2))\n", {"x"}));
  CHECK(by("def mk():\n    return torch.ones(2)\npad(mk())\n", {"x"}));
  CHECK(
      by("class D(torch.utils.data.Dataset):\n    def __getitem__(self, i):\n"
         "        return pad(self.data[i])\n",
         {"x"}));
  CHECK(!by("pad(torch.zeros(3).cuda())\n", {"x"}));
  CHECK(!by("pad(torch.zeros(3, device='mps'))\n", {"x"}));
  CHECK(!by("def g(b):\n    pad(b)\n", {"x"}));
  CHECK(!by("def g(d):\n    pad(torch.zeros(3).to(d))\n", {"x"}));
  CHECK(!by("pad(torch.load('a.pt'))\n", {"x"}));
  CHECK(!by("args = [torch.zeros(2)]\npad(*args)\n", {"x"}));
  CHECK(!by("net = torch.nn.Linear(2, 2)\npad(net(torch.ones(2)))\n", {"x"}));
  CHECK(by("y = torch.ones(2)\nfor i in range(3):\n    y = y + 1\npad(y)\n", {"x"}));
  CHECK(
      !by("def g(d):\n    a = torch.ones(2)\n    for i in range(3):\n        b = a\n"
          "        a = torch.add(b, d)\n    pad(a)\n    pad(b)\n",
          {"x"}));
  CHECK(!by("def mk(d):\n    return torch.ones(2, device=d)\npad(mk('x'))\n", {"x"}));
}

TEST_CASE("parameters behind a star are given by name only") {
  const std::string helper = "import torch\ndef pad(n, *rest, x=None):\n    return x\n";
  const auto by = [&](const std::string& call) {
    return from_cpu({{"h.py", helper},
                     {"c.py", "import torch\nfrom h import pad\ndef g(b):\n    " + call + "\n"}},
                    "h.py", "pad", {"x"});
  };
  CHECK(by("pad(1, b, b)"));
  CHECK(by("pad(1, b, x=torch.zeros(2))"));
  CHECK(!by("pad(1, x=b)"));
  const FileFacts facts = facts_of("def f(self, a: int, *, b: int = 1, **more): pass\n");
  CHECK(parameters_of(facts) == std::vector<std::string_view>{"self", "a", "*", "b", "**more"});
}

TEST_CASE("a word in a file that was not parsed makes a function unknown again") {
  const Sourced sources{{"gpu.py", kWork},
                        {"step.py",
                         "import torch\nimport gpu\ndef step():\n    gpu.work(1)\n"
                         "if torch.cuda.is_available():\n    step()\n"}};
  Summary summary = join(sources);
  const Condition work{Kind::kCalledWithCuda, "work", {}};
  REQUIRE(summary.holds("gpu.py", work));
  const auto names = summary.settled_names();
  CHECK(std::find(names.begin(), names.end(), "step") != names.end());
  summary.doubt({"step"});
  CHECK(!summary.holds("gpu.py", work));
}

TEST_CASE("where the results of a function live") {
  const Summary summary = join({{"pkg/loader.py",
                                 "import torch, contextlib\n"
                                 "def gpu():\n    return torch.ones(2).cuda()\n"
                                 "def cpu(a):\n    if a:\n        return torch.ones(1)\n"
                                 "    return torch.ones(2)\n"
                                 "def both(a):\n    if a:\n        return torch.ones(1)\n"
                                 "    return torch.ones(2).cuda()\n"
                                 "def none(a):\n    return a\n"
                                 "async def later():\n    return torch.ones(2).cuda()\n"
                                 "@contextlib.contextmanager\n"
                                 "def held():\n    yield torch.ones(2).cuda()\n"
                                 "@wrap\ndef wrapped():\n    return torch.ones(2).cuda()\n"},
                                {"pkg/main.py", "from .loader import gpu\nimport pkg.loader\n"}});
  using semantics::DeviceState;
  const auto device = [&](const Callee& callee) {
    const auto result = summary.result_of("pkg/main.py", callee);
    return result ? result->device : DeviceState::kUnknown;
  };
  CHECK(device("@.loader.gpu") == DeviceState::kCuda);
  CHECK(device("@pkg.loader.cpu") == DeviceState::kCpu);
  CHECK(summary.result_of("pkg/main.py", "@pkg.loader.cpu")->line == 6);
  CHECK(summary.result_of("pkg/main.py", "@.loader.gpu")->path == "pkg/loader.py");
  for (const char* unknown : {"both", "none", "later", "held", "wrapped", "missing"})
    CHECK(device(std::string("@pkg.loader.") + unknown) == DeviceState::kUnknown);
  CHECK(summary.result_of("pkg/loader.py", "=gpu").has_value());
  CHECK(!summary.result_of("pkg/other.py", "=gpu").has_value());
}

TEST_CASE("traits of functions, and of those that call them") {
  const Summary summary =
      join({{"t.py",
             "import torch\n"
             "def refuse(x):\n    if x.device.type != 'cuda':\n        raise ValueError\n"
             "def demand():\n    assert torch.cuda.is_available()\n"
             "def indirect(x):\n    n = refuse(x)\n    return n\n"
             "def maybe(x):\n    if x:\n        refuse(x)\n"
             "def write(p):\n    torch.save(1, p)\n"
             "def rewrite(p):\n    if p:\n        write(p)\n"
             "def device(d):\n    if not torch.cuda.is_available():\n        return 'cpu'\n    "
             "return d\n"
             "def build():\n    m = torch.nn.Linear(1, 1)\n    return m.eval()\n"
             "def rebuild():\n    return build()\n"},
            {"u.py", "from t import *\n"}});
  const auto holds = [&](Kind kind, const char* callee) {
    return summary.holds("t.py", {kind, {}, {callee}});
  };
  CHECK(holds(Kind::kRefused, "=refuse"));
  CHECK(holds(Kind::kRefused, "=indirect"));
  CHECK(!holds(Kind::kRefused, "=demand"));
  CHECK(!holds(Kind::kRefused, "=maybe"));
  CHECK(holds(Kind::kWritten, "=rewrite"));
  CHECK(!holds(Kind::kWritten, "=device"));
  CHECK(holds(Kind::kGivesCpu, "=device"));
  CHECK(!holds(Kind::kGivesCpu, "=build"));
  CHECK(holds(Kind::kEvaluated, "=rebuild"));
  CHECK(!holds(Kind::kEvaluated, "=refuse"));
  CHECK(!holds(Kind::kEvaluated, "=missing"));
  CHECK(!summary.holds("t.py", {Kind::kGivesCpu, {}, {"=device", "=build"}}));
  CHECK(summary.holds("t.py", {Kind::kWritten, {}, {"=device", "=write"}}));
  CHECK(!summary.holds("t.py", {Kind::kGivesCpu, {}, {}}));
  CHECK(summary.holds("u.py", {Kind::kWritten, {}, {"@t.write"}}));
}

TEST_CASE("facts that take too long are none") {
  std::string source = "import torch\n";
  for (int i = 0; i < 1000; ++i) source += "f(x)\n";
  const auto tree = syntax::Tree::parse(source);
  REQUIRE(tree);
  const semantics::SemanticModel model(*tree);
  CHECK(collect_facts(model));
  CHECK(!collect_facts(model, base::ThreadClock::now()));
}

TEST_CASE("facts are read as they were written, and nothing else is") {
  const FileFacts facts = facts_of(
      "import torch\nfrom a.b import c as d\nclass N(d):\n    def m(self, x, *, k=1):\n"
      "        return self.m(x, k=torch.zeros(1))\nN().m(*[1])\nif torch.cuda.is_available():\n"
      "    d(1)\n");
  const std::string packed = *facts.packed;
  const auto back = unpack_facts(packed);
  REQUIRE(back);
  REQUIRE(back->calls.size() == facts.calls.size());
  CHECK(parameters_of(*back) == parameters_of(facts));
  CHECK(!unpack_facts(""));
  CHECK(!unpack_facts("garbage, not facts"));
  for (std::size_t size = 0; size < packed.size(); ++size)
    CHECK(!unpack_facts(packed.substr(0, size)));
  CHECK(!unpack_facts(packed + "x"));
}

TEST_CASE("what a program that sets CUDA_VISIBLE_DEVICES imports may run before") {
  const std::string setter = "\n\ndef choose(n):\n    os.environ['CUDA_VISIBLE_DEVICES'] = n\n";
  const Summary summary = join(
      {{"app/gpus.py", "import os" + setter},
       {"app/main.py", "from app import gpus, models\n\ngpus.choose('1')\n"},
       {"app/models.py", "from .layers import Layer\n"},
       {"app/layers.py", "import torch\n"},
       {"app/ops/__init__.py", ""},
       {"app/ops/add.py", "import torch\n"},
       {"app/heads.py", "import torch\n"},
       {"app/train.py",
        "import app.heads\nfrom app import gpus\n\n\ndef f():\n    import app.ops.add\n    "
        "app.ops.add.run()\n"},
       {"app/alone.py", "import torch\nfrom .layers import Layer\n"},
       {"tools/own.py", "import os\nimport shared" + setter},
       {"tools/shared.py", "import torch\nimport own\n"},
       {"other/early.py", "import os\nimport late\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\n"},
       {"other/late.py", "import torch\n"},
       {"first/main.py",
        "import os\nimport torch\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\nimport behind\n"},
       {"first/behind.py", "import torch\n"},
       {"third/main.py",
        "import os\nfrom before import x\nif x:\n    os.environ['CUDA_VISIBLE_DEVICES'] = '1'\n"},
       {"third/before.py", "import torch\n"},
       {"block/main.py",
        "import os\nfrom net import x\nif __name__ == '__main__':\n    "
        "os.environ['CUDA_VISIBLE_DEVICES'] = '1'\n"},
       {"block/net.py", "import torch\n"}});
  for (const char* late :
       {"app/gpus.py", "app/main.py", "app/models.py", "app/layers.py", "app/ops/__init__.py",
        "app/ops/add.py", "app/train.py", "app/heads.py", "tools/own.py", "tools/shared.py",
        "other/late.py", "third/before.py", "block/net.py", "block/main.py"})
    CHECK_MESSAGE(summary.chooses_devices_late(late), late);
  for (const char* never : {"app/alone.py", "other/early.py", "unknown.py", "first/behind.py",
                            "first/main.py", "third/main.py"})
    CHECK_FALSE_MESSAGE(summary.chooses_devices_late(never), never);
}

}  // namespace
}  // namespace torchport::flow
