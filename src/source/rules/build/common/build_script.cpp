#include "source/rules/build/common/build_script.h"

#include <array>

namespace torchport::rules {

namespace {

bool chooses(const SemanticModel& model, Node range, int depth) {
  static constexpr std::array<std::string_view, 8> kNames{
      "CUDAExtension", "ext_modules", "extensions",     "extension",
      "ext_module",    "cuda_ext",    "cuda_extension", "CudaExtension"};
  for (std::uint32_t i = range.index(); range && i < range.subtree_end(); ++i) {
    const Node node = model.tree().at(i);
    if (node.is(Kind::kString)) {
      std::string text;
      if (syntax::string_value(node, text) && text.ends_with(".cu")) return true;
    }
    if (!node.is(Kind::kIdentifier)) continue;
    for (const std::string_view name : kNames) {
      if (node.text() == name) return true;
    }
    const bool called = node.field() == Field::kFunctionPart && node.parent().is(Kind::kCall);
    if (!called || depth > 0) continue;
    const Node function = model.function_named(node.text(), node);
    if (function && !function.holds(node) && chooses(model, function, depth + 1)) return true;
  }
  return false;
}

}  // namespace

bool is_build_file(const PythonContext& context) {
  if (context.is_build_script()) return true;
  for (const Node node : context.model.nodes(Kind::kImportFrom)) {
    const std::string_view module = node.child(Field::kModuleName).text();
    if (module == "setuptools" || module == "distutils.core") return true;
    if (module == "torch.utils.cpp_extension" && base::contains_word(node.text(), "CUDAExtension"))
      return true;
  }
  return false;
}

bool chooses_extension(const SemanticModel& model, Node range) {
  return chooses(model, range, 0);
}

bool has_override(const SemanticModel& model) {
  for (const Node node : model.nodes(Kind::kString)) {
    std::string text;
    if (!syntax::string_value(node, text)) continue;
    for (const std::string_view word :
         {"FORCE_CUDA", "WITH_CUDA", "USE_CUDA", "BUILD_CUDA", "ENABLE_CUDA", "CUDA_EXT"}) {
      if (text.find(word) == std::string::npos) continue;
      const Node parent = node.parent();
      const Node holder = parent.is(Kind::kArgumentList) ? syntax::callee(parent.parent())
                          : parent.is_any(Kind::kSubscript, Kind::kComparison) ? parent
                                                                               : Node{};
      if (holder.text().find("env") != std::string_view::npos) return true;
    }
  }
  return false;
}

}  // namespace torchport::rules
