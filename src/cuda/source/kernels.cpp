#include "cuda/source/kernels.h"

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cuda/source/arithmetic.h"
#include "cuda/source/parameters.h"
#include "cuda/source/phases.h"

namespace torchport::cuda {

void Kernels::kernel(std::size_t i) {
  edits_.replace(tokens_[i].begin, tokens_[i].end, std::string(kDeviceMark));
  const std::size_t open = parameters_of(i);
  if (open == 0) return;  // a typedef, or nothing that the compiler will take
  const std::size_t close = tokens_[open].partner;
  std::size_t body = close + 1;
  while (body < tokens_.size() && !is(body, "{") && !is(body, ";")) ++body;
  if (!is(body, "{") || !is_closed(body)) return;
  const std::size_t end = tokens_[body].partner;
  std::string loads;
  std::string notes;
  const std::vector<Parameter> parameters = parameters_between(text_, tokens_, open, close);
  for (const Parameter& one : parameters) {
    loads += ", ";
    loads += one.name.empty() ? fmt::format("{}Unnamed()", kPrefix) : one.name;
    if (one.is_pack) loads += "...";
    if (one.name.empty()) continue;
    notes += fmt::format("{0}{1}noted(\"{2}\", {2}){3}", notes.empty() ? "" : ", ", kPrefix,
                         one.name, one.is_pack ? "..." : "");
  }
  if (!notes.empty()) notes = fmt::format("{}note_arguments({}); ", kPrefix, notes);
  if (!options_.check) notes.clear();
  std::size_t named = open - 1;
  while (named > i && tokens_[named].kind != TokenKind::kName) --named;
  edits_.insert(tokens_[body].end,
                fmt::format(" if (void** torchport_values = {0}waiting_arguments()) "
                            "{0}load_arguments(torchport_values{1}); {2}struct "
                            "torchport_kernel {{}}; ",
                            kPrefix, loads, notes));
  const std::string_view contract = options_.contract ? kContract : "";
  // A checker has to hear of the barriers.
  std::optional<std::vector<PhaseEdit>> phases;
  if (options_.split && !options_.check)
    phases = phases_of(
        text_, tokens_, scopes_, {i, open, close, body, end, contract},
        [&](std::size_t token) { return !is_of_host(line_of(text_, tokens_[token].begin).file); });
  if (phases) {
    edits_.insert(
        tokens_[body].end,
        fmt::format("{0}run_kernel_in_phases<torchport_kernel>(\"{1}\", [=](const ::uint3 "
                    "blockIdx, const ::dim3 blockDim, const ::dim3 gridDim, {0}Walk* "
                    "__restrict__ torchport_walk) {2} {{ (void)blockIdx, (void)blockDim, "
                    "(void)gridDim; {{ ",
                    kPrefix, word(named), contract));
    for (PhaseEdit& edit : *phases) {
      if (edit.begin == edit.end)
        edits_.insert(edit.begin, std::move(edit.with));
      else
        edits_.replace(edit.begin, edit.end, std::move(edit.with));
    }
  } else {
    edits_.insert(
        tokens_[body].end,
        fmt::format("{0}run_kernel<torchport_kernel>(\"{1}\", [=](const ::uint3 threadIdx, "
                    "const ::uint3 blockIdx, const ::dim3 blockDim, const ::dim3 gridDim) mutable "
                    "{2} {{ (void)threadIdx, (void)blockIdx, (void)blockDim, (void)gridDim; {{ ",
                    kPrefix, word(named), contract));
  }
  edits_.insert(tokens_[end].begin, fmt::format("}}}}{});", bounds_of(i, open)));
  code_.kernel_end = end;
  code_.device_end = std::max(code_.device_end, end);
  places_.enter_kernel(body, end);
}

std::size_t Kernels::parameters_of(std::size_t i) const {
  for (std::size_t at = i + 1; at < tokens_.size(); ++at) {
    if (is(at, ";") || is(at, "{") || is(at, "}")) return 0;
    if (!is(at, "(")) continue;
    const std::string_view before = word(at - 1);
    if (is_one_of(before, kDroppedCalls) || before == "__attribute__" || before == "alignas" ||
        before == "decltype" || before == "__align__") {
      if (!is_closed(at)) return 0;
      at = tokens_[at].partner;
      continue;
    }
    return is_closed(at) ? at : 0;
  }
  return 0;
}

std::string Kernels::bounds_of(std::size_t i, std::size_t open) {
  std::string bounds = fmt::format("{}Bounds()", kPrefix);
  std::string cluster;
  for (std::size_t at = scopes_.declaration(i).begin; at < open; ++at) {
    const bool is_bounds = is(at, "__launch_bounds__");
    if ((!is_bounds && !is(at, "__cluster_dims__")) || !is(at + 1, "(") || !is_closed(at + 1))
      continue;
    const std::size_t first = tokens_[at + 1].end;
    const std::size_t last = tokens_[tokens_[at + 1].partner].begin;
    const std::string values = without_lines(text_.substr(first, last - first));
    if (is_bounds)
      bounds = fmt::format("{}launch_bounds({})", kPrefix, values);
    else
      cluster = fmt::format(", {}cluster_dims({})", kPrefix, values);
  }
  return fmt::format(", {}{}", bounds, cluster);
}

}  // namespace torchport::cuda
