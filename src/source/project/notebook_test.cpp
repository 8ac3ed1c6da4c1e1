#include "source/syntax/notebook.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "source/project/notebook_check.h"
#include "source/rules/registry.h"

namespace torchport {
namespace {

using syntax::Notebook;

constexpr const char* kList = R"json({
 "cells": [
  {"cell_type": "markdown", "source": ["model.cuda()\n"]},
  {
   "cell_type": "code",
   "metadata": {"source": ["decoy.cuda()"]},
   "source": [
    "%matplotlib inline\n",
    "!pip install torch\n",
    "import torch\n",
    "print(\"\u00e9 \\\"quoted\\\"\")"
   ]
  },
  {"cell_type": "code", "source": ["%%bash\n", "echo .cuda()"]},
  {"cell_type": "code", "source": "net = torch.nn.Linear(1, 1).cuda()\nnet"}
 ],
 "metadata": {}, "nbformat": 4, "nbformat_minor": 2
}
)json";

project::CheckOptions options() {
  project::CheckOptions result;
  result.selection = {rules::find_rule("TP101")};
  return result;
}

TEST_CASE("a notebook's code cells are one program") {
  const auto notebook = Notebook::parse(kList);
  REQUIRE(notebook.has_value());
  CHECK(notebook->program() ==
        "# torchport:cell 0\n# torchport:ipython %matplotlib inline\n# torchport:ipython !pip "
        "install torch\nimport torch\n"
        "print(\"\xC3\xA9 \\\"quoted\\\"\")\n# torchport:cell 2\nnet = torch.nn.Linear(1, "
        "1).cuda()\nnet\n");
  const auto offset = static_cast<std::uint32_t>(notebook->program().find("net ="));
  CHECK(notebook->json().substr(notebook->json_offset(offset), 5) == "net =");
  const auto quoted = static_cast<std::uint32_t>(notebook->program().find("quoted"));
  CHECK(notebook->json().substr(notebook->json_offset(quoted), 6) == "quoted");
}

// A notebook with these cells, each one string.
std::string notebook_of(const std::vector<std::string>& cells) {
  nlohmann::json document = {{"cells", nlohmann::json::array()}, {"nbformat", 4}};
  for (const std::string& cell : cells)
    document["cells"].push_back({{"cell_type", "code"}, {"source", cell}});
  return document.dump();
}

// IPython's lines in the forms that public notebooks have them.
TEST_CASE("IPython's own lines keep no notebook from being fixed") {
  const std::vector<std::string> cells{
      "%pip install torch\n!nvidia-smi\n?torch\ntorch.cuda?\ntorch.cuda??\nnet.cuda?\n",
      "pip install -q 'torch>=2' einops",
      "  pip3 install torch==2.0\nconda install -y numpy\nls -l\ncd /content\n",
      "import torch\nif True:\n    %cd /content\n    !pip install \\\n      torch\n",
      "for i in range(2):\n    !echo {i}\n",
      "try:\n    import apex\nexcept ImportError:\n    !pip install apex\n",
      "files = !ls *.py\nout, err = !ls\nx = %timeit -o 1+1\nself.y = %env HOME\n",
      "%%time\nx = torch.ones(1)\n",
      "%%bash\nif [ -d a ]; then\n  x=$(ls)\nfi\n",
      "\n%%writefile a.py\nthis is no python (\n",
      "%%html\n<b>no</b>\n",
      "%%capture out\n!pip install torch\n",
      "%%cython\ncdef int x\n",
      "%load_ext autoreload\n%autoreload 2\n",
      "!pip install a \\\n  b \\\n  c\ny = 1\n",
      "s = '''\n%not magic\n!not shell\nwhy?\n'''\n",
      "z = (10\n     % 3)\nw = 7 \\\n  % 2\n",
      ",f a b\n;g a b\n",
  };
  for (const std::string& cell : cells) {
    CAPTURE(cell);
    const auto json = notebook_of({"import torch\n", cell, "m = torch.nn.Linear(1, 1).cuda()\n"});
    const auto found = project::check_source("a.ipynb", json, options());
    CHECK(found.problems.empty());
    const auto fixed =
        project::converge_notebook("a.ipynb", json, options(), edit::Applicability::kUnsafe);
    REQUIRE(fixed.has_value());
    const auto now = nlohmann::json::parse(fixed->text);
    CHECK(now["cells"][2]["source"] == "m = torch.nn.Linear(1, 1).to(DEVICE)\n");
    // The device variable goes behind the last import, so a cell with one may be longer.
    const auto kept = now["cells"][1]["source"].get<std::string>();
    if (cell.find("import") == std::string::npos) {
      CHECK(kept == cell);
    } else {
      const auto magic = cell.find("    !");
      CHECK(kept.find(cell.substr(magic, cell.find('\n', magic) - magic)) != std::string::npos);
      CHECK(kept.find("torchport:") == std::string::npos);
    }
  }
  const auto json = notebook_of(cells);
  const auto notebook = Notebook::parse(json);
  REQUIRE(notebook.has_value());
  CHECK(notebook->with_program(notebook->program()).value() == json);
}

TEST_CASE("what only looks like IPython is Python") {
  const auto json = notebook_of(
      {"s = '''\n%not magic\n!no\nwhy?\n'''\nz = (10\n     % 3)\nx = (\n  # why?\n  1)\n",
       "w = 7 \\\n  % 2\npip = 1\npip\nls = [1]\nls[0]\nls -l\ncat = ls\ncat + ls\n"});
  const auto notebook = Notebook::parse(json);
  REQUIRE(notebook.has_value());
  CHECK(notebook->program().find("torchport:ipython") == std::string::npos);
}

TEST_CASE("bytes of the program have places in the cells' texts, and back") {
  const auto notebook = Notebook::parse(kList);
  REQUIRE(notebook.has_value());
  const auto cells = notebook->cell_texts();
  REQUIRE(cells.size() == 3);
  CHECK(cells[0].starts_with("%matplotlib inline\n!pip install torch\n"));
  const std::string& program = notebook->program();
  for (const char* word : {"import torch\nprint", "quoted", "net =", "Linear(", "net\n"}) {
    const auto offset = static_cast<std::uint32_t>(program.find(word));
    const auto place = notebook->cell_offset(offset);
    CAPTURE(word);
    CHECK(cells[place.cell].substr(place.offset, 3) == program.substr(offset, 3));
    CHECK(notebook->program_offset(place) == offset);
  }
  // What was added to a line of IPython is its start; a cell in another language has no place.
  const auto magic =
      notebook->cell_offset(static_cast<std::uint32_t>(program.find("torchport:ip")));
  CHECK(magic.cell == 0);
  CHECK(magic.offset == 0);
  CHECK_FALSE(notebook->program_offset({1, 0}).has_value());
  CHECK_FALSE(notebook->program_offset({99, 0}).has_value());
  // The end of the last line, and what is after it, is the end.
  const auto end = notebook->program_offset({2, 9999});
  CHECK(end == static_cast<std::uint32_t>(program.size() - 1));
}

TEST_CASE("a notebook goes back as it was") {
  const auto notebook = Notebook::parse(kList);
  REQUIRE(notebook.has_value());
  CHECK(notebook->with_program(notebook->program()).value() == kList);
}

TEST_CASE("only the lines that a fix changes are other bytes") {
  // The lines of the list are indented in two ways, and one has an escape that nobody needs.
  const std::string json = R"json({"cells": [{"cell_type": "code", "source": [
    "import torch\n",
        "a = 1\n",
  "b = '\u0061'\n",  "\n",
      "x = torch.ones(1).cuda()\n",
        "c", " = 2\n",
  "x"
  ]}]})json";
  const auto fixed =
      project::converge_notebook("a.ipynb", json, options(), edit::Applicability::kUnsafe);
  REQUIRE(fixed.has_value());
  REQUIRE(fixed->text != json);
  for (const std::string_view kept :
       {"\n    \"import torch", "\n        \"a = 1\\n\",\n  \"b = '\\u0061'\\n\",  \"\\n\",\n",
        "\",\n        \"c\", \" = 2\\n\",\n  \"x\"\n  ]}"}) {
    CAPTURE(kept);
    CHECK(fixed->text.find(kept) != std::string::npos);
  }
  CHECK(nlohmann::json::accept(fixed->text));
}

TEST_CASE("lines that come first or last, and lines that go, leave a list") {
  const std::string json =
      R"json({"cells": [{"cell_type": "code", "source": ["a\n", "b\n", "c"]}]})json";
  const auto notebook = Notebook::parse(json);
  REQUIRE(notebook.has_value());
  const std::string head = "# torchport:cell 0\n";
  for (const std::string text : {"x\na\nb\nc", "a\nb\nc\nx", "b\nc", "a\nb", "b", "", "x\n",
                                 "a\nx\nc", "a\nc\nb", "c\nx\na"}) {
    const auto changed = notebook->with_program(head + text);
    CAPTURE(text);
    REQUIRE(changed.has_value());
    REQUIRE(nlohmann::json::accept(*changed));
    std::string joined;
    const auto document = nlohmann::json::parse(*changed);
    for (const auto& line : document["cells"][0]["source"]) joined += line.get<std::string>();
    CHECK(joined + "\n" == (text.ends_with('\n') ? text : text + "\n"));
  }
}

TEST_CASE("a string of the list that does not end its line goes on in the next one") {
  const std::string json =
      R"json({"cells": [{"cell_type": "code", "source": ["%matplotlib inline", "  !ls\n", "x = 1"]}]})json";
  const auto notebook = Notebook::parse(json);
  REQUIRE(notebook.has_value());
  CHECK(notebook->program() ==
        "# torchport:cell 0\n# torchport:ipython %matplotlib inline  !ls\nx = 1\n");
  CHECK(notebook->with_program(notebook->program()).value() == json);
}

TEST_CASE("lines that look like the program's own markers stay what they are") {
  const std::string json =
      R"json({"cells": [{"cell_type": "code", "source": "# torchport:cell 1\nimport torch\nx = torch.ones(1).cuda()"},)json"
      R"json( {"cell_type": "code", "source": ["  # torchport:ipython %x\n", "# torchport:cell 0\n", "y.cuda()"]}], "nbformat": 4})json";
  const auto notebook = Notebook::parse(json);
  REQUIRE(notebook.has_value());
  CHECK(notebook->with_program(notebook->program()).value() == json);
  const auto fixed =
      project::converge_notebook("a.ipynb", json, options(), edit::Applicability::kUnsafe);
  REQUIRE(fixed.has_value());
  CHECK(fixed->text.find("\"# torchport:cell 1\\nimport torch\\n") != std::string::npos);
  CHECK(fixed->text.find("[\"  # torchport:ipython %x\\n\", \"# torchport:cell 0\\n\", ") !=
        std::string::npos);
}

TEST_CASE("fixing a notebook touches nothing but the changed lines") {
  const auto fixed =
      project::converge_notebook("a.ipynb", kList, options(), edit::Applicability::kUnsafe);
  REQUIRE(fixed.has_value());
  std::string expected = kList;
  const auto import = expected.find("    \"import torch\\n\",\n") +
                      std::string("    \"import torch\\n\",\n").size();
  const auto replace = [&](const std::string& from, const std::string& to) {
    const auto at = expected.find(from);
    REQUIRE(at != std::string::npos);
    expected.replace(at, from.size(), to);
  };
  expected.insert(import,
                  "    \"\\n\",\n    \"DEVICE = torch.device(\\n\",\n    \"    \\\"cuda\\\" if "
                  "torch.cuda.is_available()\\n\",\n"
                  "    \"    else \\\"mps\\\" if torch.backends.mps.is_available()\\n\",\n    \"   "
                  " else \\\"cpu\\\"\\n\",\n"
                  "    \")\\n\",\n    \"\\n\",\n");
  replace("Linear(1, 1).cuda()", "Linear(1, 1).to(DEVICE)");
  CHECK(fixed->text == expected);
}

TEST_CASE("findings of a notebook are placed in the file") {
  const auto found = project::check_source("a.ipynb", kList, options());
  REQUIRE(found.diagnostics.size() == 1);
  CHECK(found.diagnostics[0].line == 15);
  CHECK(found.diagnostics[0].source_line.find(".cuda()") != std::string::npos);
}

TEST_CASE("what is no notebook is refused in words") {
  CHECK_FALSE(Notebook::parse("{\"cells\": [").has_value());
  CHECK_FALSE(Notebook::parse(std::string("6\0{\"cells\": []}", 15)).has_value());
  CHECK(Notebook::parse("[]").value().program().empty());
  CHECK(Notebook::parse(R"json({"cells":[{"cell_type":"code","source":[]}]})json")
            .value()
            .program()
            .empty());
  CHECK(
      Notebook::parse(
          R"json({"cells":[{"cell_type":"code","source":["library(torch)"]}],"metadata":{"kernelspec":{"language":"R"}}})json")
          .value()
          .program()
          .empty());
}

}  // namespace
}  // namespace torchport
