#include "source/flow/summary.h"

#include <algorithm>
#include <future>
#include <unordered_set>

#include "source/flow/joined.h"
#include "source/flow/traits.h"

namespace torchport::flow {

namespace {

constexpr int kMaxHops = 6;  // of a name that modules import from each other
// What stands between a base class and the name of a method, in a key.
constexpr char kBetween = '|';
// A call that may be of more functions says nothing about any of them.
constexpr std::size_t kMostTargets = 16;

// "a/b/c.py" -> "a.b.c", "a/b/__init__.py" -> "a.b"
std::string module_of(std::string_view path) {
  std::string name(path.substr(0, path.rfind('.')));
  if (name.ends_with("/__init__")) name.resize(name.size() - 9);
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

}  // namespace

std::string_view last_part(std::string_view name) {
  const auto at = name.find_last_of(".=@");
  return at == std::string_view::npos ? name : name.substr(at + 1);
}

void Summary::Joined::index() {
  modules.reserve(files.size());
  in_file.resize(files.size());
  imports.resize(files.size());
  for (std::uint32_t file = 0; file < files.size(); ++file) {
    by_path[files[file].path] = file;
    modules.push_back(module_of(files[file].path));
    for (const auto& [name, full] : files[file].facts.imports) imports[file][name] = full;
    for (const Function& function : files[file].facts.functions) {
      const auto number = static_cast<std::uint32_t>(functions.size());
      if (!in_file[file].try_emplace(function.name, number).second) continue;
      FunctionOfProject known;
      known.file = file;
      known.facts = &function;
      known.first_slot = slots;
      slots += static_cast<std::uint32_t>(function.parameters.size());
      functions.push_back(std::move(known));
      if (function.name.find('.') != std::string::npos)
        methods[last_part(function.name)].functions.push_back(number);
    }
    index_overrides(file);
  }
  for (std::uint32_t file = 0; file < files.size(); ++file) {
    const std::string_view module = modules[file];
    for (std::size_t start = 0; start != std::string_view::npos;
         start = module.find('.', start), start += start == std::string_view::npos ? 0 : 1)
      by_end[module.substr(start)].push_back(file);
  }
}

const std::vector<std::uint32_t>& Summary::Joined::files_of(std::string_view module) const {
  static const std::vector<std::uint32_t> kNone;
  const auto found = by_end.find(module);
  return found == by_end.end() ? kNone : found->second;
}

Summary::Joined::Module Summary::Joined::module_in(std::string_view full) const {
  for (auto end = full.size(); end != std::string_view::npos && end > 0;
       end = full.rfind('.', end - 1)) {
    const auto& owners = files_of(full.substr(0, end));
    if (!owners.empty()) return {full.substr(0, end), owners};
  }
  return {};
}

// The functions that a name means in a file: one of its own, the constructor of its own class, or
// what it imports.
std::vector<std::uint32_t> Summary::Joined::in_module(std::uint32_t file, std::string_view name,
                                                      int hops) const {
  if (const auto own = in_file[file].find(name); own != in_file[file].end()) return {own->second};
  const std::string constructor = std::string(name) + ".__init__";
  if (const auto own = in_file[file].find(constructor); own != in_file[file].end())
    return {own->second};
  const std::string_view first = name.substr(0, name.find('.'));
  const auto imported = imports[file].find(first);
  if (imported == imports[file].end() || hops >= kMaxHops) return {};
  return by_import(file, std::string(imported->second) + std::string(name.substr(first.size())),
                   hops + 1);
}

std::string Summary::Joined::full_name(std::uint32_t from, std::string_view name) const {
  if (!name.starts_with('.')) return std::string(name);
  std::string base = modules[from];
  std::size_t dots = name.find_first_not_of('.');
  if (dots == std::string_view::npos) return {};
  const std::string_view rest = name.substr(dots);
  // One dot is the folder of the file; a package's __init__ is its folder already.
  if (files[from].path.ends_with("__init__.py")) --dots;
  for (; dots > 0; --dots) {
    const auto at = base.rfind('.');
    base.resize(at == std::string::npos ? 0 : at);
  }
  return (base.empty() ? "" : base + ".") + std::string(rest);
}

std::vector<std::uint32_t> Summary::Joined::by_import(std::uint32_t from, std::string_view name,
                                                      int hops) const {
  const std::string full = full_name(from, name);
  // The longest front part that is a module decides.
  for (auto at = full.rfind('.'); at != std::string::npos && at > 0; at = full.rfind('.', at - 1)) {
    const auto& owners = files_of(std::string_view(full).substr(0, at));
    if (owners.empty()) continue;
    std::vector<std::uint32_t> found;
    for (const std::uint32_t owner : owners) {
      for (const std::uint32_t function :
           in_module(owner, std::string_view(full).substr(at + 1), hops))
        found.push_back(function);
    }
    return found;
  }
  return {};
}

std::vector<std::uint32_t> Summary::Joined::resolve(std::uint32_t file, const Callee& callee) {
  const std::string_view name = std::string_view(callee).substr(1);
  if (callee.front() == '=') return in_module(file, name, 0);
  if (callee.front() == '@' && name.starts_with('.')) return by_import(file, name, 0);
  if (callee.front() == '@') {
    const auto [known, fresh] = absolute.try_emplace(callee);
    if (fresh) known->second = by_import(file, name, 0);
    return known->second;
  }
  const auto found = methods.find(name);
  return found == methods.end() ? std::vector<std::uint32_t>{} : found->second.functions;
}

void Summary::Joined::link() {
  for (std::uint32_t file = 0; file < files.size(); ++file) {
    const FileFacts& facts = files[file].facts;
    std::vector<std::uint32_t> numbers;  // of the file's functions; two of one name count as one
    numbers.reserve(facts.functions.size());
    for (const Function& function : facts.functions)
      numbers.push_back(in_file[file].at(function.name));
    for (const Call& call : facts.calls) {
      const bool known = call.caller < numbers.size();
      link_call({file, known ? numbers[call.caller] : kNoFunction, &call});
    }
  }
  for (const auto& [name, method] : methods) {
    for (const std::uint32_t function : method.functions) {
      functions[function].by_method = &method.calls;
      functions[function].evidence |=
          method.functions.size() == 1 &&
          std::any_of(method.calls.begin(), method.calls.end(),
                      [&](const CallOf& call) { return call.caller != function; });
    }
  }
}

void Summary::Joined::link_call(const CallOf& call) {
  const Callee& callee = call.call->callee;
  if (callee.front() == '.') {
    if (const auto found = methods.find(last_part(callee)); found != methods.end())
      found->second.calls.push_back(call);
    return;
  }
  const auto targets = resolve(call.file, callee);
  for (const std::uint32_t target : targets) {
    if (targets.size() > kMostTargets)
      functions[target].ambiguous = true;
    else
      functions[target].calls.push_back(call);
    // That a function calls itself says nothing about who does otherwise.
    functions[target].evidence |= targets.size() == 1 && call.caller != target;
  }
  link_overrides(call, targets);
}

// A call of an object's own method may be one of a class that derives from its class.
void Summary::Joined::link_overrides(const CallOf& call,
                                     const std::vector<std::uint32_t>& targets) {
  const Callee& callee = call.call->callee;
  const std::string_view name = std::string_view(callee).substr(1);
  const auto dot = name.rfind('.');
  if (callee.front() != '=' || dot == std::string_view::npos) return;
  const std::string key =
      std::string(last_part(name.substr(0, dot))) + kBetween + std::string(name.substr(dot + 1));
  const auto found = overrides.find(key);
  if (found == overrides.end() || given_up.contains(key)) return;
  const bool many = found->second.size() > kMostTargets;
  if (many) given_up.insert(key);
  for (const std::uint32_t other : found->second) {
    if (many)
      functions[other].ambiguous = true;
    else if (std::find(targets.begin(), targets.end(), other) == targets.end()) {
      functions[other].calls.push_back(call);
      functions[other].evidence |= call.caller != other;
    }
  }
}

void Summary::Joined::index_overrides(std::uint32_t file) {
  std::unordered_map<std::string_view, const Class*> classes;
  for (const Class& known : files[file].facts.classes) classes[known.name] = &known;
  for (const auto& [name, number] : in_file[file]) {
    const auto dot = name.rfind('.');
    if (dot == std::string_view::npos) continue;
    const auto holder = classes.find(last_part(name.substr(0, dot)));
    if (holder == classes.end()) continue;
    for (const std::string& base : holder->second->bases)
      overrides[std::string(last_part(base)) + kBetween + std::string(name.substr(dot + 1))]
          .push_back(number);
  }
}

Summary::Summary(std::vector<FileOfProject> files) : joined_(std::make_unique<Joined>()) {
  joined_->files = std::move(files);
  joined_->index();
  // What holds of whole files has nothing to do with the calls of functions.
  std::future<void> of_files = std::async([this] {
    joined_->settle_choices();
    joined_->link_care();
    joined_->settle_care();
  });
  joined_->link();
  joined_->settle_traits();
  joined_->settle_purity();
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
  const auto found = joined_->in_file[file->second].find(condition.function);
  if (found == joined_->in_file[file->second].end()) return false;
  const FunctionOfProject& function = joined_->functions[found->second];
  if (condition.kind == Condition::Kind::kCalledWithCuda)
    return joined_->with_cuda[found->second] != 0;
  if (condition.kind == Condition::Kind::kGiven)
    return Joined::is_given(function, condition.parameters.front());
  const auto& names = function.facts->parameters;
  return std::all_of(condition.parameters.begin(), condition.parameters.end(),
                     [&](const std::string& parameter) {
                       const auto at = std::find(names.begin(), names.end(), parameter);
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
    const auto last = first + static_cast<std::ptrdiff_t>(function.facts->parameters.size());
    const bool fed = !function.facts->feeds && std::find(first, last, 1) != last;
    if (joined_->with_cuda[i] == 0 && !fed) continue;
    std::string_view name = function.facts->name;
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
  const std::string_view name = std::string_view(callee).substr(1);
  const auto targets = callee.front() == '=' ? joined_->in_module(file->second, name, 0)
                                             : joined_->by_import(file->second, name, 0);
  if (targets.size() != 1) return std::nullopt;
  const FunctionOfProject& function = joined_->functions[targets.front()];
  const Function& facts = *function.facts;
  if (facts.device == semantics::DeviceState::kUnknown) return std::nullopt;
  return Result{facts.type, facts.device, joined_->files[function.file].path, facts.line};
}

void Summary::doubt(const std::vector<std::string>& names) {
  const std::unordered_set<std::string_view> doubted(names.begin(), names.end());
  for (FunctionOfProject& function : joined_->functions) {
    std::string_view name = function.facts->name;
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
    const std::string there = joined_->full_name(file, used);
    const auto fits = [&](const std::string& wanted) {
      return wanted == there || wanted.ends_with("." + there);
    };
    return fits(full) || fits(all);
  };
  for (std::uint32_t file = 0; file < joined_->files.size(); ++file) {
    if (file == own->second) continue;
    const FileFacts& facts = joined_->files[file].facts;
    for (const auto& import : facts.imports)
      if (import.second.ends_with(name) || import.first == "*")
        if (means(file, import.second)) return true;
    for (const Call& call : facts.calls)
      if (call.callee.starts_with('@') && call.callee.ends_with(name) &&
          means(file, std::string_view(call.callee).substr(1)))
        return true;
  }
  return false;
}

bool Summary::is_prefix_dropped_elsewhere(std::string_view path) const {
  return std::any_of(joined_->files.begin(), joined_->files.end(), [&](const FileOfProject& file) {
    return file.facts.drops_prefix && file.path != path;
  });
}

}  // namespace torchport::flow
