#include "source/flow/summary.h"

#include <algorithm>
#include <future>
#include <unordered_set>

#include "source/flow/joined.h"
#include "source/flow/traits.h"

namespace torchport::flow {

const std::vector<std::string>& Summary::kernel_folders() const {
  return joined_->kernel_folders;
}

const std::vector<std::string>& Summary::kernel_tests() const {
  return joined_->kernel_tests;
}

Summary::Summary(std::vector<FileOfProject> files) : joined_(std::make_unique<Joined>()) {
  joined_->files = std::move(files);
  joined_->index_files();
  // What holds of whole files has nothing to do with the calls of functions.
  std::future<void> of_files = std::async([this] {
    joined_->settle_choices();
    joined_->find_cuda_or_cpu();
    joined_->find_own_cuda_methods();
    joined_->link_care();
    joined_->settle_care();
    joined_->find_kernels();
  });
  joined_->index_functions();
  joined_->link();
  const Lists<Joined::Return> returns = joined_->link_results();
  joined_->settle_traits(returns);
  joined_->settle_purity(returns);
  joined_->settle();
  of_files.get();
}

Summary::~Summary() = default;

bool Summary::holds(std::string_view path, const Condition& condition) const {
  const auto file = joined_->by_path.find(path);
  if (file == joined_->by_path.end()) return false;
  if (condition.kind == Condition::Kind::kFlagOfCuda)
    return joined_->is_flag(file->second, condition.function);
  const auto has = [&](unsigned trait) {
    return [this, file, trait](const Callee& callee) {
      return joined_->has_trait(file->second, callee, trait);
    };
  };
  const auto& callees = condition.parameters;
  switch (condition.kind) {
    case Condition::Kind::kSavedFromCpu:
      return joined_->is_saved_from_cpu(condition.function);
    case Condition::Kind::kStartedByNoImport:
      return !joined_->imports_start_cuda(file->second);
    case Condition::Kind::kImportedWithCare:
      return joined_->with_care[file->second] != 0;
    case Condition::Kind::kAloneInFolder:
      return joined_->is_alone(file->second);
    case Condition::Kind::kKeptToCuda:
      return cuda_or_cpu(path).keeps;
    case Condition::Kind::kPrefixKnown:
      return is_prefix_known_elsewhere(path);
    case Condition::Kind::kUsedElsewhere:
      return is_used_elsewhere(path, condition.function);
    case Condition::Kind::kChoosesLate:
      return chooses_devices_late(path);
    case Condition::Kind::kOwnMoves:
      return has_own_cuda_method();
    case Condition::Kind::kScriptsCode:
      return scripts_code();
    case Condition::Kind::kRefused:
      return std::any_of(callees.begin(), callees.end(), has(kRefuses));
    case Condition::Kind::kWritten:
      return std::any_of(callees.begin(), callees.end(), has(kWrites));
    case Condition::Kind::kGivesCpu:
      return !callees.empty() && std::all_of(callees.begin(), callees.end(), has(kGivesCpu));
    case Condition::Kind::kEvaluated:
      return !callees.empty() && std::all_of(callees.begin(), callees.end(), has(kEvaluates));
    default:
      break;
  }
  const FileFacts& facts = joined_->files[file->second].facts;
  const auto index = facts.function_named(condition.function);
  if (!index) return false;
  const std::uint32_t number = joined_->first_function[file->second] + *index;
  const FunctionOfProject& function = joined_->functions[number];
  if (condition.kind == Condition::Kind::kCalledWithCuda) return joined_->with_cuda[number] != 0;
  if (condition.kind == Condition::Kind::kGiven)
    return joined_->is_given(number, condition.parameters.front());
  const auto names = FileFacts::part(facts.parameters, function.facts->parameters);
  return std::all_of(
      condition.parameters.begin(), condition.parameters.end(), [&](const std::string& parameter) {
        const auto at = std::find_if(names.begin(), names.end(), [&](TextNumber name) {
          return facts.text(name) == parameter;
        });
        return at != names.end() &&
               joined_->from_cpu[function.first_slot +
                                 static_cast<std::size_t>(at - names.begin())] != 0;
      });
}

std::vector<std::string> Summary::settled_names() const {
  std::unordered_set<std::string> names;
  for (std::size_t i = 0; i < joined_->functions.size(); ++i) {
    const FunctionOfProject& function = joined_->functions[i];
    const auto first = joined_->from_cpu.begin() + function.first_slot;
    const auto last = first + static_cast<std::ptrdiff_t>(function.facts->parameters.count);
    const bool fed = !function.facts->feeds && std::find(first, last, 1) != last;
    if (joined_->with_cuda[i] == 0 && !fed) continue;
    std::string_view name = joined_->name_of(function);
    if (name.ends_with(".__init__")) name.remove_suffix(9);
    names.emplace(last_part(name));
  }
  for (std::size_t file = 0; file < joined_->files.size(); ++file)
    if (joined_->with_care[file] != 0) names.emplace(last_part(joined_->modules[file]));
  return {names.begin(), names.end()};
}

std::optional<Result> Summary::result_of(std::string_view path, const Callee& callee) const {
  const auto file = joined_->by_path.find(path);
  if (file == joined_->by_path.end() || callee.empty() || callee.front() == '.')
    return std::nullopt;
  std::vector<std::uint32_t> targets;
  joined_->named(file->second, callee, targets);
  if (targets.size() != 1) return std::nullopt;
  const FunctionOfProject& function = joined_->functions[targets.front()];
  const Function& facts = *function.facts;
  if (facts.device == semantics::DeviceState::kUnknown) return std::nullopt;
  return Result{facts.type, facts.device, joined_->files[function.file].path, facts.line};
}

void Summary::doubt(const std::vector<std::string>& names) {
  const std::unordered_set<std::string_view> doubted(names.begin(), names.end());
  for (FunctionOfProject& function : joined_->functions) {
    std::string_view name = joined_->name_of(function);
    if (name.ends_with(".__init__")) name.remove_suffix(9);
    function.doubted |= doubted.contains(last_part(name));
  }
  joined_->doubted.assign(joined_->files.size(), 0);
  for (std::size_t file = 0; file < joined_->files.size(); ++file)
    joined_->doubted[file] = doubted.contains(last_part(joined_->modules[file])) ? 1 : 0;
  joined_->settle();
  joined_->settle_care();
}

bool Summary::is_used_elsewhere(std::string_view path, std::string_view name) const {
  const auto own = joined_->by_path.find(path);
  if (own == joined_->by_path.end()) return false;
  const std::string full = joined_->modules[own->second] + "." + std::string(name);
  const std::string all = joined_->modules[own->second] + ".*";
  const auto means = [&](std::uint32_t file, std::string_view used) {
    std::string buffer;
    const std::string_view there = joined_->full_name(file, used, buffer);
    const auto fits = [&](std::string_view wanted) {
      return wanted.ends_with(there) &&
             (wanted.size() == there.size() || wanted[wanted.size() - there.size() - 1] == '.');
    };
    return fits(full) || fits(all);
  };
  for (std::uint32_t file = 0; file < joined_->files.size(); ++file) {
    if (file == own->second) continue;
    const FileFacts& facts = joined_->files[file].facts;
    for (const Import& import : facts.imports) {
      const bool may = import.full.ends_with(name) || import.name == "*";
      if (may && means(file, import.full)) return true;
    }
    for (const Call& call : facts.calls) {
      const std::string_view callee = facts.text(call.callee);
      if (callee.starts_with('@') && callee.ends_with(name) && means(file, callee.substr(1)))
        return true;
    }
  }
  return false;
}

bool Summary::is_prefix_known_elsewhere(std::string_view path) const {
  return std::any_of(joined_->files.begin(), joined_->files.end(), [&](const FileOfProject& file) {
    return file.facts.knows_prefix && file.path != path;
  });
}

}  // namespace torchport::flow
