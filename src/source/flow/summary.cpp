#include "source/flow/summary.h"

#include <algorithm>
#include <unordered_set>

namespace torchport::flow {

namespace {

constexpr int kMaxHops = 6;  // of a name that modules import from each other

std::string_view last_part(std::string_view name) {
  const auto at = name.find_last_of(".=@");
  return at == std::string_view::npos ? name : name.substr(at + 1);
}

// "a/b/c.py" -> "a.b.c", "a/b/__init__.py" -> "a.b"
std::string module_of(std::string_view path) {
  std::string name(path.substr(0, path.rfind('.')));
  if (name.ends_with("/__init__")) name.resize(name.size() - 9);
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

// Methods that are called by other means than their name.
bool is_called_by_name(std::string_view method) {
  return method == "__init__" || (method != "forward" && !method.starts_with("__"));
}

}  // namespace

// What stands between a base class and the name of a method, in a key.
constexpr char kBetween = '|';

// Who calls a function: a place with its facts.
struct CallOf {
  std::uint32_t file = 0;
  const Call* call = nullptr;
};

struct FunctionOfProject {
  std::uint32_t file = 0;
  const Function* facts = nullptr;
  std::vector<CallOf> calls;                       // that name this function
  const std::vector<CallOf>* by_method = nullptr;  // those of any method with this name
  bool evidence = false;  // one of the calls is certainly one of this function
  bool doubted = false;   // there are calls that nothing is known about
  bool with_cuda = false;
  bool pure = true;            // its results come from its arguments, or are made on the CPU
  std::vector<bool> from_cpu;  // for each parameter
};

struct Summary::Joined {
  std::vector<FileOfProject> files;
  std::vector<std::string> modules;  // of the files
  std::unordered_map<std::string_view, std::uint32_t> by_path;
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> by_last_part;  // of the module
  std::vector<FunctionOfProject> functions;
  // By file and name in it; by the name of the method.
  std::vector<std::unordered_map<std::string_view, std::uint32_t>> in_file;
  struct Method {
    std::vector<std::uint32_t> functions;
    std::vector<CallOf> calls;  // of objects that nothing is known about
  };
  std::unordered_map<std::string_view, Method> methods;
  // By the last parts of the names of a base class and of a method.
  std::unordered_map<std::string, std::vector<std::uint32_t>> overrides;
  std::vector<std::unordered_map<std::string_view, std::string_view>> imports;

  void index();
  [[nodiscard]] std::vector<std::uint32_t> files_of(std::string_view module) const;
  [[nodiscard]] std::vector<std::uint32_t> in_module(std::uint32_t file, std::string_view name,
                                                     int hops) const;
  [[nodiscard]] std::vector<std::uint32_t> by_import(std::uint32_t from, std::string_view name,
                                                     int hops) const;
  [[nodiscard]] std::vector<std::uint32_t> resolve(std::uint32_t file, const Callee& callee) const;
  void link();
  void link_overrides(std::uint32_t file, const Call& call,
                      const std::vector<std::uint32_t>& targets);
  void index_overrides(std::uint32_t file);
  template <class Test>
  [[nodiscard]] static bool all_calls(const FunctionOfProject& function, const Test& test);
  // Whether its calls are known well enough to say anything about it.
  [[nodiscard]] static bool is_settled_by_calls(const FunctionOfProject& function);
  void settle();
  void settle_cuda();
  void settle_purity();
  void settle_inputs();
  [[nodiscard]] bool is_on_cpu(const CallOf& call, const Sources& sources) const;
  [[nodiscard]] const FunctionOfProject* caller_of(const CallOf& call) const;
  [[nodiscard]] bool passes_cpu(const FunctionOfProject& function, std::size_t parameter,
                                const CallOf& call) const;
};

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
      known.from_cpu.assign(function.parameters.size(), false);
      functions.push_back(std::move(known));
      if (function.name.find('.') != std::string::npos)
        methods[last_part(function.name)].functions.push_back(number);
    }
    index_overrides(file);
  }
  for (std::uint32_t file = 0; file < files.size(); ++file)
    by_last_part[last_part(modules[file])].push_back(file);
}

std::vector<std::uint32_t> Summary::Joined::files_of(std::string_view module) const {
  std::vector<std::uint32_t> found;
  const auto candidates = by_last_part.find(last_part(module));
  if (candidates == by_last_part.end()) return found;
  for (const std::uint32_t file : candidates->second) {
    const std::string_view full = modules[file];
    if (full.ends_with(module) &&
        (full.size() == module.size() || full[full.size() - module.size() - 1] == '.'))
      found.push_back(file);
  }
  return found;
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

std::vector<std::uint32_t> Summary::Joined::by_import(std::uint32_t from, std::string_view name,
                                                      int hops) const {
  std::string full(name);
  if (name.starts_with('.')) {
    std::string base = modules[from];
    std::size_t dots = name.find_first_not_of('.');
    if (dots == std::string_view::npos) return {};
    // One dot is the folder of the file; a package's __init__ is its folder already.
    if (files[from].path.ends_with("__init__.py")) --dots;
    for (; dots > 0; --dots) {
      const auto at = base.rfind('.');
      base.resize(at == std::string::npos ? 0 : at);
    }
    full = (base.empty() ? "" : base + ".") + std::string(name.substr(name.find_first_not_of('.')));
  }
  // The longest front part that is a module decides.
  for (auto at = full.rfind('.'); at != std::string::npos && at > 0; at = full.rfind('.', at - 1)) {
    const auto owners = files_of(std::string_view(full).substr(0, at));
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

std::vector<std::uint32_t> Summary::Joined::resolve(std::uint32_t file,
                                                    const Callee& callee) const {
  const std::string_view name = std::string_view(callee).substr(1);
  if (callee.front() == '=') return in_module(file, name, 0);
  if (callee.front() == '@') return by_import(file, name, 0);
  const auto found = methods.find(name);
  return found == methods.end() ? std::vector<std::uint32_t>{} : found->second.functions;
}

void Summary::Joined::link() {
  for (std::uint32_t file = 0; file < files.size(); ++file) {
    for (const Call& call : files[file].facts.calls) {
      if (call.callee.front() == '.') {
        if (const auto found = methods.find(last_part(call.callee)); found != methods.end())
          found->second.calls.push_back({file, &call});
        continue;
      }
      const auto targets = resolve(file, call.callee);
      for (const std::uint32_t target : targets) {
        functions[target].calls.push_back({file, &call});
        functions[target].evidence |= targets.size() == 1;
      }
      link_overrides(file, call, targets);
    }
  }
  for (const auto& [name, method] : methods) {
    for (const std::uint32_t function : method.functions) {
      functions[function].by_method = &method.calls;
      functions[function].evidence |= method.functions.size() == 1 && !method.calls.empty();
    }
  }
}

// A call of an object's own method may be one of a class that derives from its class.
void Summary::Joined::link_overrides(std::uint32_t file, const Call& call,
                                     const std::vector<std::uint32_t>& targets) {
  const std::string_view name = std::string_view(call.callee).substr(1);
  const auto dot = name.rfind('.');
  if (call.callee.front() != '=' || dot == std::string_view::npos) return;
  const auto found = overrides.find(std::string(last_part(name.substr(0, dot))) + kBetween +
                                    std::string(name.substr(dot + 1)));
  if (found == overrides.end()) return;
  for (const std::uint32_t other : found->second) {
    if (std::find(targets.begin(), targets.end(), other) == targets.end())
      functions[other].calls.push_back({file, &call});
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

template <class Test>
bool Summary::Joined::all_calls(const FunctionOfProject& function, const Test& test) {
  return std::all_of(function.calls.begin(), function.calls.end(), test) &&
         (function.by_method == nullptr ||
          std::all_of(function.by_method->begin(), function.by_method->end(), test));
}

const FunctionOfProject* Summary::Joined::caller_of(const CallOf& call) const {
  if (call.call->caller == kModuleCode) return nullptr;
  const auto& known = files[call.file].facts.functions;
  if (call.call->caller >= known.size()) return nullptr;
  const auto found = in_file[call.file].find(known[call.call->caller].name);
  return found == in_file[call.file].end() ? nullptr : &functions[found->second];
}

bool Summary::Joined::is_settled_by_calls(const FunctionOfProject& function) {
  return function.evidence && !function.doubted &&
         is_called_by_name(last_part(function.facts->name));
}

// Grows from the calls that are guarded themselves, so functions that call only each other stay
// unknown.
void Summary::Joined::settle_cuda() {
  for (bool changed = true; changed;) {
    changed = false;
    for (FunctionOfProject& function : functions) {
      if (function.with_cuda || !is_settled_by_calls(function)) continue;
      function.with_cuda = all_calls(function, [&](const CallOf& call) {
        const FunctionOfProject* caller = caller_of(call);
        return call.call->guarded ||
               (caller != nullptr && (caller->with_cuda || caller == &function));
      });
      changed |= function.with_cuda;
    }
  }
}

// Shrinks: a function is pure until something says otherwise.
void Summary::Joined::settle_purity() {
  for (FunctionOfProject& function : functions) function.pure = !function.facts->results.elsewhere;
  for (bool changed = true; changed;) {
    changed = false;
    for (FunctionOfProject& function : functions) {
      if (!function.pure) continue;
      const auto& results = function.facts->results.results;
      const bool impure = std::any_of(results.begin(), results.end(), [&](const Callee& callee) {
        const auto targets = resolve(function.file, callee);
        return std::any_of(targets.begin(), targets.end(), [&](std::uint32_t target) {
          return !functions[target].pure || last_part(functions[target].facts->name) == "__init__";
        });
      });
      if (!impure) continue;
      function.pure = false;
      changed = true;
    }
  }
}

bool Summary::Joined::is_on_cpu(const CallOf& call, const Sources& sources) const {
  if (sources.elsewhere) return false;
  const FunctionOfProject* caller = caller_of(call);
  for (const std::uint16_t input : sources.inputs) {
    if (caller == nullptr || input >= caller->from_cpu.size() || !caller->from_cpu[input])
      return false;
  }
  return std::all_of(sources.results.begin(), sources.results.end(), [&](const Callee& callee) {
    const auto targets = resolve(call.file, callee);
    return std::all_of(targets.begin(), targets.end(), [&](std::uint32_t target) {
      return functions[target].pure && last_part(functions[target].facts->name) != "__init__";
    });
  });
}

bool Summary::Joined::passes_cpu(const FunctionOfProject& function, std::size_t parameter,
                                 const CallOf& call) const {
  if (call.call->unknown_arguments) return false;
  const auto& parameters = function.facts->parameters;
  for (const auto& [name, sources] : call.call->keywords) {
    if (name == parameters[parameter]) return is_on_cpu(call, sources);
  }
  // Its place among the positional arguments. A call through an object has no self.
  const bool bound = !parameters.empty() && (parameters[0] == "self" || parameters[0] == "cls");
  std::size_t place = 0;
  for (std::size_t i = bound ? 1 : 0; i < parameter; ++i) {
    if (parameters[i].starts_with('*')) return true;  // keyword only: absent
    place += parameters[i] == "/" ? 0 : 1;
  }
  // A default, which is a constant or None.
  return place >= call.call->positional.size() || is_on_cpu(call, call.call->positional[place]);
}

void Summary::Joined::settle_inputs() {
  for (bool changed = true; changed;) {
    changed = false;
    for (FunctionOfProject& function : functions) {
      if (!is_settled_by_calls(function)) continue;
      for (std::size_t i = 0; i < function.from_cpu.size(); ++i) {
        if (function.from_cpu[i]) continue;
        if (!all_calls(function, [&](const CallOf& call) { return passes_cpu(function, i, call); }))
          continue;
        function.from_cpu[i] = true;
        changed = true;
      }
    }
  }
}

void Summary::Joined::settle() {
  for (FunctionOfProject& function : functions) {
    function.with_cuda = false;
    function.from_cpu.assign(function.facts->parameters.size(), function.facts->feeds);
  }
  settle_cuda();
  settle_inputs();
}

Summary::Summary(std::vector<FileOfProject> files) : joined_(std::make_unique<Joined>()) {
  joined_->files = std::move(files);
  joined_->index();
  joined_->link();
  joined_->settle_purity();
  joined_->settle();
}

Summary::~Summary() = default;

bool Summary::holds(std::string_view path, const Condition& condition) const {
  const auto file = joined_->by_path.find(path);
  if (file == joined_->by_path.end()) return false;
  const auto found = joined_->in_file[file->second].find(condition.function);
  if (found == joined_->in_file[file->second].end()) return false;
  const FunctionOfProject& function = joined_->functions[found->second];
  if (condition.kind == Condition::Kind::kCalledWithCuda) return function.with_cuda;
  const auto& names = function.facts->parameters;
  return std::all_of(
      condition.parameters.begin(), condition.parameters.end(), [&](const std::string& parameter) {
        const auto at = std::find(names.begin(), names.end(), parameter);
        return at != names.end() && function.from_cpu[static_cast<std::size_t>(at - names.begin())];
      });
}

std::vector<std::string> Summary::settled_names() const {
  std::unordered_set<std::string> names;
  for (const FunctionOfProject& function : joined_->functions) {
    const bool fed = std::find(function.from_cpu.begin(), function.from_cpu.end(), true) !=
                     function.from_cpu.end();
    if (!function.with_cuda && (!fed || function.facts->feeds)) continue;
    std::string_view name = function.facts->name;
    if (name.ends_with(".__init__")) name.remove_suffix(9);
    names.emplace(last_part(name));
  }
  return {names.begin(), names.end()};
}

void Summary::doubt(const std::vector<std::string>& names) {
  const std::unordered_set<std::string_view> doubted(names.begin(), names.end());
  for (FunctionOfProject& function : joined_->functions) {
    std::string_view name = function.facts->name;
    if (name.ends_with(".__init__")) name.remove_suffix(9);
    function.doubted |= doubted.contains(last_part(name));
  }
  joined_->settle();
}

}  // namespace torchport::flow
