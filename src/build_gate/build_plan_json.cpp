#include <utility>

#include <fmt/format.h>

#include "build_gate/build_plan.h"
#include "host/facts/facts_members.h"
#include "json/members.h"

namespace torchport::build_gate {

template <class Visit>
void members(BuildToolkit& toolkit, Visit&& visit) {
  visit("path", toolkit.path);
  visit("from", toolkit.from);
  visit("nvcc", toolkit.nvcc);
  visit("headers", toolkit.headers);
  visit("archs", toolkit.archs);
  visit("newest_gcc", toolkit.newest_gcc);
  visit("newest_clang", toolkit.newest_clang);
  visit("lacks", toolkit.lacks);
  visit("include", toolkit.include);
  visit("libraries", toolkit.libraries);
  visit("versioned_runtime", toolkit.versioned_runtime);
}

template <class Visit>
void members(HostCompiler& compiler, Visit&& visit) {
  visit("path", compiler.path);
  visit("family", compiler.family);
  visit("version", compiler.version);
}

template <class Visit>
void members(DeviceCompiler& compiler, Visit&& visit) {
  visit("kind", compiler.kind);
  visit("path", compiler.path);
  visit("from", compiler.from);
  visit("version", compiler.version);
  visit("lacks", compiler.lacks);
}

template <class Visit>
void members(BuildInputs& inputs, Visit&& visit) {
  visit("torch", inputs.torch);
  visit("toolkits", inputs.toolkits);
  visit("compiler", inputs.compiler);
  visit("headers", inputs.headers);
  visit("packaged_headers", inputs.packaged_headers);
  visit("compilers", inputs.compilers);
  visit("environment", inputs.environment);
}

std::string to_json(const BuildInputs& inputs, const BuildPlan& plan) {
  BuildInputs copy = inputs;
  json::Json whole{{"outcome", to_text(plan.outcome)},
                   {"code", plan.code},
                   {"reason", plan.reason},
                   {"remedy", plan.remedy},
                   {"notes", plan.notes}};
  if (plan.outcome == BuildOutcome::kCuda) {
    whole["cuda_home"] = plan.toolkit.path;
    whole["nvcc"] = plan.toolkit.path + "/bin/nvcc";
    whole["nvcc_version"] = plan.toolkit.nvcc;
    whole["archs"] = to_text(plan.archs);
    whole["gencode"] = releases::gencode(plan.archs);
    whole["cmake_architectures"] = releases::cmake_architectures(plan.archs);
  }
  if (!plan.compiler.path.empty()) {
    whole["compiler"] = plan.compiler.path;
    whole["compiler_version"] = plan.compiler.version;
    whole["archs"] = fmt::format("{}", fmt::join(plan.device_archs, ";"));
  }
  whole["environment"] = plan.environment;
  whole["inputs"] = json::written(copy);
  return json::text_of(whole, 2) + "\n";
}

base::Result<BuildInputs> build_inputs_from_json(std::string_view text) {
  return json::read_document<BuildInputs>(text, "inputs", "a build's inputs");
}

}  // namespace torchport::build_gate
