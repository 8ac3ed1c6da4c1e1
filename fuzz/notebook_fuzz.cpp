// Feeds any bytes as a notebook: it is read, written back, checked and fixed.
#include <nlohmann/json.hpp>

#include "property.h"
#include "source/project/notebook_check.h"
#include "source/rules/registry.h"
#include "source/syntax/notebook.h"

namespace torchport {
namespace {

using fuzz::require;

void check(const std::string& json) {
  const auto notebook = syntax::Notebook::parse(json);
  if (!notebook) return;
  const auto same = notebook->with_program(notebook->program());
  require(same.has_value() && *same == json,
          "an unchanged program gives the notebook back as it was", json);
  for (std::uint32_t offset = 0; offset <= notebook->program().size(); ++offset) {
    require(notebook->json_offset(offset) <= json.size(),
            "every byte of the program has a place in the notebook", json);
  }

  project::CheckOptions options;
  for (const rules::Rule& rule : rules::all_rules()) options.selection.push_back(&rule);
  static_cast<void>(project::check_source("a.ipynb", json, options));
  const auto fixed =
      project::converge_notebook("a.ipynb", json, options, edit::Applicability::kUnsafe);
  if (!fixed) return;
  require(!fixed->reverted, "no fix breaks the syntax", json);
  if (fixed->text == json) return;
  require(nlohmann::json::accept(fixed->text), "a fixed notebook is JSON", fixed->text);
  const auto again =
      project::converge_notebook("a.ipynb", fixed->text, options, edit::Applicability::kUnsafe);
  require(again.has_value() && again->text == fixed->text, "a second run changes nothing", json);
}

}  // namespace
}  // namespace torchport

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  torchport::check(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
