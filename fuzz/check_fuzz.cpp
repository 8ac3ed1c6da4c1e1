// Feeds any bytes as a Python file to every rule and every fix.
#include <algorithm>
#include <cstring>

#include "property.h"
#include "source/project/check.h"
#include "source/rules/converge.h"
#include "source/rules/registry.h"

namespace torchport {
namespace {

using fuzz::require;

// The length of the input selects the settings, so that every input is a plain Python file.
edit::Settings settings_for(std::size_t size) {
  edit::Settings settings;
  switch (size % 4) {
    case 0:
      settings.min_torch = {2, 6};
      break;
    case 1:
      settings.min_torch = {1, 4};
      break;
    case 2:
      settings.idiom = edit::Idiom::kHelper;
      settings.helper = "pkg.devices:pick";
      break;
    default:
      break;
  }
  return settings;
}

const char* path_for(std::size_t size) {
  static constexpr const char* kPaths[] = {"train.py", "setup.py", "tests/test_model.py",
                                           "pkg/__init__.py", "train.py"};
  return kPaths[size % 5];
}

void check(const std::string& source) {
  project::CheckOptions options;
  for (const rules::Rule& rule : rules::all_rules()) options.selection.push_back(&rule);
  options.settings = settings_for(source.size());
  const char* path = path_for(source.size());
  static_cast<void>(project::check_source(path, source, options));

  auto tree = syntax::Tree::parse(source);
  if (!tree) return;
  const rules::SemanticModel model(*tree);
  const edit::DeviceSource devices(model, options.settings);
  fuzz::require_inside(
      rules::examine_python({path, model, devices, options.settings}, options.selection), source);

  const auto fixed = rules::converge_python(path, source, options.selection, options.settings,
                                            edit::Applicability::kUnsafe);
  require(fixed.has_value(), "what parses can be fixed", source);
  require(!fixed->reverted,
          std::string("no fix breaks the syntax: ") + std::string(fixed->reverted_by), source);
  if ((*tree)->has_syntax_error()) {
    require(fixed->text == source, "what does not parse stays as it is", source);
    return;
  }
  const auto again = rules::converge_python(path, fixed->text, options.selection, options.settings,
                                            edit::Applicability::kUnsafe);
  require(again.has_value() && again->text == fixed->text, "a second run changes nothing", source);
}

}  // namespace
}  // namespace torchport

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  torchport::check(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned int seed) {
  std::minstd_rand random(seed);
  if (random() % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string text =
      torchport::fuzz::mutate_lines({reinterpret_cast<const char*>(data), size}, random);
  const std::size_t length = std::min(text.size(), max_size);
  std::memcpy(data, text.data(), length);
  return length;
}
