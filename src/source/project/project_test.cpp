// Tests the project layer on a file system in memory.
#include <doctest/doctest.h>

#include "source/project/baseline.h"
#include "source/project/config.h"
#include "source/project/discover.h"
#include "source/project/glob.h"
#include "source/project/required_torch.h"
#include "source/project/undo.h"
#include "source/syntax/encoding.h"

namespace torchport::project {
namespace {

TEST_CASE("globs as gitignore(5) has them") {
  struct Row {
    const char* pattern;
    const char* path;
    bool folder;
    bool matches;
  };
  const Row rows[] = {
      {"*.py", "a/b/c.py", false, true},
      {"/a.py", "a.py", false, true},
      {"/a.py", "b/a.py", false, false},
      {"build/", "x/build", true, true},
      {"build/", "x/build", false, false},
      {"a/*.py", "a/b/c.py", false, false},
      {"a/**/c.py", "a/c.py", false, true},
      {"a/**/c.py", "a/x/y/c.py", false, true},
      {"**/t", "x/y/t", false, true},
      {"a/**", "a/b/c", false, true},
      {"# no", "# no", false, false},
      {"\\#yes", "#yes", false, true},
      {"trailing  ", "trailing", false, true},
      {"[ab].py", "b.py", false, true},
      {"", "a", false, false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.pattern);
    CAPTURE(row.path);
    CHECK(Glob(row.pattern).matches(row.path, row.folder) == row.matches);
  }
  GlobList list;
  list.add_lines("*.py\n!keep.py\n");
  CHECK(list.decide("a.py", false) == 1);
  CHECK(list.decide("keep.py", false) == -1);
  CHECK(list.decide("a.txt", false) == 0);
}

TEST_CASE("a full disk, a changed file and a lost journal harm nothing") {
  base::MemoryFileSystem fs;
  fs.add("a.py", "old a");
  fs.add("b.py", "changed meanwhile");
  const std::vector<Change> changes{{"a.py", "old a", "new a", 0644},
                                    {"b.py", "old b", "new b", 0644}};
  auto written = write_changes(fs, ".torchport", changes);
  REQUIRE(written.has_value());
  CHECK(written->files == std::vector<std::string>{"a.py"});
  REQUIRE(written->problems.size() == 1);
  CHECK(written->problems[0].path == "b.py");
  CHECK(fs.read("b.py").value() == "changed meanwhile");
  auto undone = undo(fs, ".torchport");
  REQUIRE(undone.has_value());
  CHECK(fs.read("a.py").value() == "old a");

  for (int n = 1; n <= 2; ++n) {
    base::MemoryFileSystem full;
    full.add("a.py", "old a");
    full.fail_writes_from(n);
    auto result = write_changes(full, ".torchport", {{"a.py", "old a", "new a", 0644}});
    CHECK(full.read("a.py").value() == "old a");
    CHECK((!result.has_value() || result->problems.size() == 1));
  }
}

TEST_CASE("settings come from the nearest file, the torch floor from the project") {
  base::MemoryFileSystem fs;
  fs.add("p/pyproject.toml",
         "[project]\ndependencies = [\"torch>=2.1,<3\", \"torchvision>=0.5\"]\n");
  fs.add("p/a.py", "");
  auto config = load_config(fs, "p/a.py");
  REQUIRE(config.has_value());
  CHECK(config->root == "p");
  CHECK((config->settings.min_torch == edit::TorchVersion{2, 1}));
  fs.add("p/torchport.toml", "min-torch = \"2.7\"\n");
  CHECK(load_config(fs, "p/a.py")->settings.uses_accelerator());
  fs.add("p/torchport.toml", "mintorch = \"2.7\"\n");
  const auto broken = load_config(fs, "p/a.py");
  REQUIRE_FALSE(broken.has_value());
  CHECK(broken.error().message == "unknown key \"mintorch\"; did you mean \"min-torch\"?");
  CHECK(broken.error().line == 1);
  CHECK((torch_version("1.13.1+cu117") == edit::TorchVersion{1, 13}));
  CHECK_FALSE(torch_version("newest").has_value());
}

TEST_CASE("the torch floor is what the project requires, with its place") {
  struct Row {
    const char* name;
    const char* text;
    const char* from;  // nullptr: nothing is required
  };
  const Row rows[] = {
      {"requirements.txt", "numpy\ntorch>=2.1,<3\n", "requirements.txt:2"},
      {"requirements.txt", "# torch>=2.1\nnumpy  # not torch>=2.1\ntorchvision>=2.1\n", nullptr},
      {"requirements.txt", "torch>=2.1 ; extra == 'gpu'\n", nullptr},
      {"requirements.txt", "torch>=2.1 ; python_version >= '3.8' \\\n  --hash=sha256:1\n",
       "requirements.txt:1"},
      {"requirements.txt", "numpy\n-r base.txt\n", "base.txt:1"},
      {"requirements.txt", "-r dev.txt\n-r requirements.txt\n", nullptr},
      {"requirements-dev.txt", "torch>=2.1\n", nullptr},
      {"pyproject.toml", "[project]\ndependencies = [\n 'numpy',\n 'torch>=2.1', # torch>=1.0\n]\n",
       "pyproject.toml:4"},
      {"pyproject.toml",
       "[project]\ndescription = 'torch>=2.1'\n[project.optional-dependencies]\n"
       "gpu = ['torch>=2.1']\n[dependency-groups]\ndev = ['torch>=2.1']\n"
       "[build-system]\nrequires = ['torch>=2.1']\n",
       nullptr},
      {"pyproject.toml", "[tool.poetry.dependencies]\ntorch = '^2.1'\n", "pyproject.toml:2"},
      {"pyproject.toml", "[tool.poetry.dependencies]\ntorch = {version = '2.1', source = 'x'}\n",
       "pyproject.toml:2"},
      {"pyproject.toml",
       "[tool.poetry.dependencies]\ntorch = {version = '2.1', optional = true}\n"
       "[tool.poetry.group.dev.dependencies]\ntorch = '2.1'\n",
       nullptr},
      {"setup.cfg", "[options]\ninstall_requires =\n  numpy\n  torch>=2.1\n", "setup.cfg:4"},
      {"setup.cfg", "[options.extras_require]\ninstall_requires = torch>=2.1\ngpu = torch>=2.1\n",
       nullptr},
      {"setup.py", "from setuptools import setup\nsetup(install_requires=['torch>=2.1'])\n",
       "setup.py:2"},
      {"setup.py",
       "import setuptools\nBASE = ['torch>=2.1']\nREQUIRED = BASE + ['numpy']\n"
       "setuptools.setup(install_requires=REQUIRED)\n",
       "setup.py:2"},
      {"setup.py",
       "from setuptools import setup\n# torch>=2.1\nprint('torch>=2.1')\nD = {'torch': "
       "'torch>=2.1'}\n"
       "setup(install_requires=['numpy'], extras_require={'all': ['torch>=2.1']},\n"
       "  tests_require=['torch>=2.1'])\n",
       nullptr},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CAPTURE(row.text);
    base::MemoryFileSystem fs;
    fs.add(row.name, row.text);
    fs.add("base.txt", "torch>=2.1\n");
    fs.add("dev.txt", "torch>=2.1\n");
    const auto floor = required_torch(fs, ".");
    CHECK((floor ? floor->from : "nothing") == (row.from == nullptr ? "nothing" : row.from));
    if (floor) CHECK((floor->version == edit::TorchVersion{2, 1}));
  }
}

TEST_CASE("encodings: the parser's view has the same length, and Python's own limits") {
  for (const std::string source :
       {"x = 1\r", "# coding: latin-1\ns = '\xE9'\n", "# coding: gbk\ns = '\x95\x5C'\n"}) {
    const auto view = syntax::parser_view(source);
    REQUIRE(view.has_value());
    CHECK(view->size() == source.size());
  }
  CHECK(syntax::parser_view("# coding: gbk\ns = '\x95\x5C'\n")->find('\\') == std::string::npos);
  CHECK_FALSE(syntax::parser_view("s = '\xE9'\n").has_value());
  CHECK_FALSE(syntax::parser_view(std::string("a\0b", 3)).has_value());
  CHECK_FALSE(syntax::parser_view("\xFF\xFEx").has_value());
  CHECK_FALSE(syntax::parser_view("# coding: klingon\n").has_value());
  CHECK(syntax::encoding_cookie("#!/bin/python\n# -*- coding: UTF-8 -*-\n") == "utf-8");
  CHECK(syntax::encoding_cookie("x = 1\n# coding: latin-1\n").empty());
}

TEST_CASE("lines and columns") {
  const std::string text =
      "a\r\nb\xC3\xA9"
      "c\rd\n";
  const base::LineIndex lines(text);
  CHECK(lines.line_count() == 4);
  CHECK(lines.line(2) ==
        "b\xC3\xA9"
        "c");
  const auto c = lines.at(static_cast<std::uint32_t>(text.find('c')));
  CHECK(c.line == 2);
  CHECK(c.column == 3);
  CHECK(lines.at(999).line == 4);
}

}  // namespace
}  // namespace torchport::project
