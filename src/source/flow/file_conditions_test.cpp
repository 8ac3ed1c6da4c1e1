// Tests what is said about whole files: imports with care, early CUDA, saved files.
#include <doctest/doctest.h>

#include "source/flow/saved_files.h"
#include "source/flow/summary.h"

namespace torchport::flow {
namespace {

using FileKindOf = Condition::Kind;

struct SourceOfFile {
  const char* path;
  const char* text;
};

bool file_holds(std::initializer_list<SourceOfFile> sources, FileKindOf kind,
                const std::string& name = {}) {
  std::vector<FileOfProject> files;
  for (const SourceOfFile& source : sources) {
    auto tree = syntax::Tree::parse(source.text);
    REQUIRE(tree);
    auto facts = collect_facts(semantics::SemanticModel(*tree));
    REQUIRE(facts);
    files.push_back({source.path, std::move(*facts)});
  }
  return Summary(std::move(files)).holds(sources.begin()->path, {kind, name, {}});
}

constexpr const char* kKernel = "import torch\nimport ops_cuda\n";

TEST_CASE("a file of kernels whose importers go on without it") {
  const auto careful = [](std::initializer_list<SourceOfFile> files) {
    return file_holds(files, FileKindOf::kImportedWithCare);
  };
  const char* caught = "try:\n    from .ops import f\nexcept ImportError:\n    f = None\n";
  CHECK(careful({{"p/ops.py", kKernel}, {"p/net.py", caught}}));
  CHECK(!careful({{"p/ops.py", kKernel}}));
  CHECK(!careful({{"p/ops.py", kKernel}, {"p/net.py", "from .ops import f\n"}}));
  CHECK(!careful({{"p/ops.py", kKernel},
                  {"p/net.py", caught},
                  {"p/other.py", "import torch\nfrom p import ops\n"}}));
  CHECK(careful(
      {{"p/k/ops.py", kKernel},
       {"p/k/modules.py", "from .ops import f\n"},
       {"p/net.py", "try:\n    from .k.modules import f\nexcept Exception:\n    f = None\n"}}));
  CHECK(!careful({{"p/ops.py", kKernel},
                  {"p/net.py", "try:\n    from .ops import f\nexcept ImportError:\n    raise\n"}}));
  CHECK(!careful({{"p/ops.py", kKernel},
                  {"p/net.py", "try:\n    from .ops import f\nexcept ValueError:\n    f = 1\n"}}));
  CHECK(careful(
      {{"p/ops.py", kKernel},
       {"p/net.py", "import torch\nif torch.cuda.is_available():\n    from .ops import f\n"}}));
  // The same name in another folder is another file.
  CHECK(!careful({{"q/ops.py", kKernel}, {"p/ops.py", "x = 1\n"}, {"p/net.py", caught}}));
  // Two files that only import each other.
  CHECK(!careful({{"p/a.py", "import p.b\n"}, {"p/b.py", "import p.a\n"}}));
}

TEST_CASE("whether an import starts CUDA") {
  const auto idle = [](const char* imported) {
    return file_holds({{"p/main.py", "import torch\nfrom p.net import f\n"},
                       {"p/net.py", "from .deep import g\n"},
                       {"p/deep.py", imported}},
                      FileKindOf::kStartedByNoImport);
  };
  CHECK(idle("import torch\ndef g(x):\n    return x.cuda()\n"));
  CHECK(idle("import torch\ntorch.cuda.manual_seed(1)\n"));
  CHECK(idle("import torch\nif __name__ == '__main__':\n    torch.zeros(1).cuda()\n"));
  CHECK(!idle("import torch\nx = torch.zeros(1).cuda()\n"));
  CHECK(!idle("import torch\nHAS = torch.cuda.is_available()\n"));
  CHECK(!idle("import torch\nclass G:\n    n = torch.cuda.current_device()\n"));
  CHECK(!idle("import torch\ndef g(d=torch.cuda.current_device()):\n    return d\n"));
  CHECK(!idle("import torch\ndef find():\n    return torch.cuda.is_available()\nD = find()\n"));
  CHECK(idle("import torch\ndef find():\n    return torch.cuda.is_available()\n"));
}

TEST_CASE("files that the project saves from the CPU only") {
  const auto saved = [](const char* writer, const char* name = "embedding/emb.pth") {
    const std::string text = std::string("import os, torch\n") + writer;
    return file_holds({{"load.py", "import torch\n"}, {"save.py", text.c_str()}},
                      FileKindOf::kSavedFromCpu, name);
  };
  CHECK(saved("def f(x, d):\n    torch.save(x.cpu(), os.path.join(d, 'embedding', 'emb.pth'))\n"));
  CHECK(!saved("def f(x, d):\n    torch.save(x, os.path.join(d, 'embedding', 'emb.pth'))\n"));
  CHECK(!saved("def f(x, d):\n    torch.save(x.cpu(), os.path.join(d, 'emb.pth'))\n"));
  CHECK(!saved("def f(x, d):\n    torch.save(x.cpu(), d)\n"));
  CHECK(
      !saved("def f(x, d):\n    torch.save(x.cpu(), 'embedding/emb.pth')\n"
             "def g(x, d):\n    torch.save(x, 'embedding/emb.pth')\n"));
  CHECK(
      saved("def f(m):\n    s = {k: v.cpu() for k, v in m.items()}\n"
            "    torch.save({'m': s, 'n': 1}, 'm.pt')\n",
            "m.pt"));
  const char* path = "os.path.join(d, 'embedding', 'emb.pth')";
  const std::string loaded = std::string(
      "def f(d, raw):\n    m = transformers.AutoModel.from_pretrained(raw)\n"
      "    if raw:\n        m = peft.PeftModel.from_pretrained(m, raw)\n        m = m.merge()\n");
  CHECK(saved((loaded + "    torch.save(m.embed_tokens, " + path + ")\n").c_str()));
  CHECK(!saved((loaded + "    m.cuda()\n    torch.save(m.embed_tokens, " + path + ")\n").c_str()));
  CHECK(!saved(
      (loaded + "    Trainer(model=m).train()\n    torch.save(m.state_dict(), " + path + ")\n")
          .c_str()));
  CHECK(
      !saved("def f(d, raw):\n"
             "    m = transformers.AutoModel.from_pretrained(raw, device_map='auto')\n"
             "    torch.save(m.state_dict(), d + '/embedding/emb.pth')\n"));
}

TEST_CASE("what lies beside a build script") {
  CHECK(file_holds({{"k/setup.py", "import torch\n"}, {"k/sub/a.py", "import torch\n"}},
                   FileKindOf::kAloneInFolder));
  CHECK(!file_holds({{"k/setup.py", "import torch\n"}, {"k/a.py", "import torch\n"}},
                    FileKindOf::kAloneInFolder));
}

TEST_CASE("the literal end of a path") {
  const auto end_of = [](const std::string& path) {
    const std::string text =
        "import os\nimport torch\nfrom pathlib import Path\nNAME = 'w.pt'\n"
        "def f(a, b):\n    p = Path(a) / 'x' / NAME\n    torch.save(b, " +
        path + ")\n";
    const auto tree = syntax::Tree::parse(text);
    REQUIRE(tree);
    const semantics::SemanticModel model(*tree);
    return literal_end(model, syntax::positional(model.calls_of("save").front(), 1));
  };
  CHECK(end_of("'a/b.pt'") == "a/b.pt");
  CHECK(end_of("NAME") == "w.pt");
  CHECK(end_of("p") == "x/w.pt");
  CHECK(end_of("str(p)") == "x/w.pt");
  CHECK(end_of("os.path.join(a, 'x', NAME)") == "x/w.pt");
  CHECK(end_of("os.path.join(a, b)").empty());
  CHECK(end_of("a + '/w.pt'") == "w.pt");
  CHECK(end_of("a + '.pt'").empty());
  CHECK(end_of("a").empty());
}

}  // namespace
}  // namespace torchport::flow
