// Feeds any bytes as each of the other files that torchport reads: Dockerfile, requirements, CMake,
// TOML settings, ignore lists.
#include "property.h"
#include "source/project/config.h"
#include "source/project/discover.h"
#include "source/project/glob.h"
#include "source/rules/converge.h"
#include "source/rules/registry.h"

namespace torchport {
namespace {

using fuzz::require;

void check_rules(const std::string& text) {
  rules::Selection all;
  for (const rules::Rule& rule : rules::all_rules()) all.push_back(&rule);
  const edit::Settings settings;
  for (const char* path :
       {"Dockerfile", "requirements.txt", "environment.yml", "CMakeLists.txt", "pyproject.toml"}) {
    const rules::FileKind kind = rules::kind_of_path(path);
    const base::LineIndex lines(text);
    fuzz::require_inside(rules::examine_text({path, kind, text, lines, settings}, all), text);
    const auto fixed =
        rules::converge_text(path, kind, text, all, settings, edit::Applicability::kUnsafe);
    const auto again =
        rules::converge_text(path, kind, fixed.text, all, settings, edit::Applicability::kUnsafe);
    require(again.text == fixed.text, std::string("a second run changes nothing in ") + path, text);
  }
}

void check_settings(const std::string& text) {
  base::MemoryFileSystem fs;
  for (const char* path : {"/p/pyproject.toml", "/p/requirements.txt", "/p/setup.cfg",
                           "/p/setup.py", "/q/torchport.toml"})
    fs.add(path, text);
  static_cast<void>(project::load_config(fs, "/p"));
  if (const auto config = project::load_config(fs, "/q")) {
    static_cast<void>(project::select_rules(config->select, config->ignore));
  }
}

void check_ignores(const std::string& text) {
  base::MemoryFileSystem fs;
  fs.add("/p/.gitignore", text);
  for (const char* path : {"/p/a.py", "/p/sub/b.py", "/p/sub/deep/er/c.ipynb", "/p/[x]!#.py"})
    fs.add(path, "");
  project::DiscoveryOptions walk;
  walk.root = "/p";
  walk.exclude.add_lines(text);
  const auto found = project::discover(fs, {"/p"}, walk);
  require(found.files.size() <= 4, "what is found is there", text);
  require(project::discover(fs, {"/p/a.py"}, {}).files.size() == 1, "a file named outright is read",
          text);
}

}  // namespace
}  // namespace torchport

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  torchport::check_rules(text);
  torchport::check_settings(text);
  torchport::check_ignores(text);
  return 0;
}
