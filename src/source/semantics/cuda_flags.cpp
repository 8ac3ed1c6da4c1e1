#include "source/semantics/cuda_flags.h"

#include <algorithm>
#include <array>

namespace torchport::semantics {

namespace {

// The words of a name, in lower case, between underscores: "useCUDA" and "use_cuda" are alike.
std::string in_words(std::string_view name) {
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  std::string words;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (i > 0 && is_upper(name[i]) && !is_upper(name[i - 1]) && name[i - 1] != '_') words += '_';
    words += name[i];
  }
  return base::lower(words);
}

}  // namespace

bool is_cpu_flag(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kNames{
      "cpu", "use_cpu", "cpu_only", "only_cpu", "force_cpu", "run_on_cpu", "on_cpu", "usecpu"};
  return base::one_of(kNames, base::lower(name));
}

bool is_cuda_flag(std::string_view name) {
  const std::string text = in_words(name);
  // Of transformers: layers over several CUDA devices.
  if (is_cpu_flag(text) || text == "model_parallel") return true;
  static constexpr std::array<std::string_view, 10> kSubjects{
      "cuda", "gpu", "gpus", "iscuda", "usecuda", "usegpu", "ngpu", "ngpus", "multigpu", "nvtx"};
  for (const std::string_view word : base::split(text, '_')) {
    if (std::find(kSubjects.begin(), kSubjects.end(), word) != kSubjects.end()) return true;
  }
  return false;
}

bool is_negative_flag(std::string_view name) {
  const std::string text = in_words(name);
  return text.starts_with("no_") || text.starts_with("not_") || text.starts_with("disable_") ||
         text.starts_with("without_") || text == "nocuda" || text == "nogpu" || is_cpu_flag(text);
}

FlagFacts::FlagFacts(const SemanticModel& model) : model_(model) {
  for (const Node assignment : model.nodes(Kind::kAssignment)) {
    const Node target = assignment.child(Field::kLeft);
    if (target.is(Kind::kAttribute))
      attribute_values_[target.text()].push_back(assignment.child(Field::kRight));
  }
}

const std::vector<Node>& FlagFacts::values_of(Node attribute) const {
  static const std::vector<Node> kNone;
  const auto found = attribute_values_.find(attribute.text());
  return found == attribute_values_.end() ? kNone : found->second;
}

bool FlagFacts::is_given(const Binding& parameter) const {
  const auto [entry, fresh] = given_.try_emplace(&parameter);
  if (fresh) entry->second = look_for_value(parameter);
  return entry->second;
}

bool FlagFacts::look_for_value(const Binding& parameter) const {
  const Node function = syntax::function_of(parameter.target);
  const std::string_view name = function.child(Field::kName).text();
  const Node parameters = function.child(Field::kParametersPart);
  const bool bound = !model_.self_name(parameter.target).empty();
  std::size_t place = 0;
  for (Node other = parameters.first_child(); other && !other.holds(parameter.target);
       other = other.next_sibling())
    ++place;
  place -= bound && place > 0 ? 1 : 0;
  const std::vector<Node> calls = model_.calls_of(
      name == "__init__" ? syntax::class_of(function).child(Field::kName).text() : name);
  return std::any_of(calls.begin(), calls.end(), [&](Node call) {
    return syntax::has_splat(call) || syntax::keyword(call, parameter.name) ||
           syntax::positional(call, place);
  });
}

const Binding* on_by_default(const SemanticModel& model, Node name) {
  if (name.is(Kind::kAttribute)) {
    const ClassFacts* facts = model.enclosing_class(name);
    if (facts == nullptr || name.child(Field::kObject).text() != model.self_name(name))
      return nullptr;
    const auto found = facts->attributes.find(name.child(Field::kAttributeName).text());
    const bool once = found != facts->attributes.end() && found->second.size() == 1;
    if (!once || !found->second.front().value.is(Kind::kIdentifier)) return nullptr;
    name = found->second.front().value;
  }
  const auto bindings = model.scopes().reaching(name.text(), name);
  if (bindings.size() != 1 || bindings.front()->kind != BindingKind::kParameter) return nullptr;
  const Kind on = is_negative_flag(name.text()) ? Kind::kFalse : Kind::kTrue;
  const bool is_on =
      bindings.front()->value.is(on) && !model.facts<FlagFacts>().is_given(*bindings.front());
  return is_on ? bindings.front() : nullptr;
}

}  // namespace torchport::semantics
