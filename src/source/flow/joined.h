// The joined facts behind a Summary, for summary.cpp and settle.cpp only.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "source/flow/summary.h"

namespace torchport::flow {

constexpr std::uint32_t kNoFunction = ~0U;

// The last name in a dotted name or a Callee.
[[nodiscard]] std::string_view last_part(std::string_view name);

using Edges = std::vector<std::vector<std::uint32_t>>;  // between files, by the first one

// Marks everything that the edges lead to from what is marked.
void spread(const Edges& edges, std::vector<char>& marked);

// Who calls a function: a place with its facts.
struct CallOf {
  std::uint32_t file = 0;
  std::uint32_t caller = kNoFunction;  // an index into Joined::functions
  const Call* call = nullptr;
};

struct FunctionOfProject {
  std::uint32_t file = 0;
  const Function* facts = nullptr;
  std::uint32_t first_slot = 0;                    // the number of its first parameter
  std::vector<CallOf> calls;                       // that name this function
  const std::vector<CallOf>* by_method = nullptr;  // those of any method with this name
  bool evidence = false;   // one of the calls is certainly one of this function
  bool ambiguous = false;  // there are calls that may be of too many functions
  bool doubted = false;    // there are calls that nothing is known about
  unsigned traits = 0;     // of its body and of what that calls; see traits.h
  bool pure = true;        // its results come from its arguments, or are made on the CPU

  // Its calls, one list after the other.
  [[nodiscard]] std::size_t call_count() const {
    return calls.size() + (by_method == nullptr ? 0 : by_method->size());
  }
  [[nodiscard]] const CallOf& call(std::size_t index) const {
    return index < calls.size() ? calls[index] : (*by_method)[index - calls.size()];
  }
  // Whether its calls are known well enough to say anything about it.
  [[nodiscard]] bool is_settled_by_calls() const;
};

struct Summary::Joined {
  std::vector<FileOfProject> files;
  std::vector<std::string> modules;  // of the files
  std::unordered_map<std::string_view, std::uint32_t> by_path;
  // By the module's name and each end of it: a.b.c, b.c, c.
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> by_end;
  std::vector<FunctionOfProject> functions;
  std::uint32_t slots = 0;      // the parameters of all functions
  std::vector<char> with_cuda;  // for each function
  std::vector<char> from_cpu;   // for each slot
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
  std::unordered_map<std::string, std::vector<std::uint32_t>> absolute;  // what names resolve to
  std::unordered_set<std::string> given_up;  // overrides that are ambiguous
  std::unordered_set<const Call*> refused;   // they run only with what is on CUDA

  std::vector<char> chosen_late;  // for each file; see late_choice.cpp
  // For each file; see file_conditions.cpp.
  std::vector<char> with_care;
  Edges careless_imports;           // by imports that the importer cannot do without
  std::vector<char> any_import;     // whether any import leads to it
  std::vector<char> caught_import;  // whether one does that its importer can do without
  std::vector<char> doubted;        // files that nothing is known about may import it

  void index();
  void index_overrides(std::uint32_t file);
  [[nodiscard]] const std::vector<std::uint32_t>& files_of(std::string_view module) const;
  // The longest front part of a dotted name that is a module, and the files that it may be.
  struct Module {
    std::string_view name;
    std::vector<std::uint32_t> files;
  };
  [[nodiscard]] Module module_in(std::string_view full) const;
  [[nodiscard]] std::vector<std::uint32_t> in_module(std::uint32_t file, std::string_view name,
                                                     int hops) const;
  // The dotted name of what a file imports by a relative or absolute name.
  [[nodiscard]] std::string full_name(std::uint32_t from, std::string_view name) const;
  [[nodiscard]] std::vector<std::uint32_t> by_import(std::uint32_t from, std::string_view name,
                                                     int hops) const;
  [[nodiscard]] std::vector<std::uint32_t> resolve(std::uint32_t file, const Callee& callee);
  void link();
  void link_call(const CallOf& call);
  void link_overrides(const CallOf& call, const std::vector<std::uint32_t>& targets);

  // Whether what a Condition names is a flag that is true only with CUDA.
  [[nodiscard]] bool is_flag(std::uint32_t file, std::string_view name) const;
  [[nodiscard]] bool has_flag(std::uint32_t file, std::string_view name, int hops) const;
  [[nodiscard]] bool imports_flag(std::uint32_t from, std::string_view name, int hops) const;
  [[nodiscard]] static bool is_given(const FunctionOfProject& function, std::string_view parameter);

  [[nodiscard]] std::vector<std::uint32_t> targets_of(std::uint32_t file,
                                                      const Callee& callee) const;
  // Whether a call of this name runs a function that has the trait.
  [[nodiscard]] bool has_trait(std::uint32_t file, const Callee& callee, unsigned trait) const;
  void settle_traits();
  void settle_refusals();
  void settle_choices();

  // Which files each file imports, directly. Made at the first question.
  [[nodiscard]] const Edges& imports_between() const;
  [[nodiscard]] Edges make_edges() const;
  mutable std::once_flag edges_made;
  mutable Edges import_edges;

  // Of whole files; see file_conditions.cpp.
  [[nodiscard]] std::vector<std::uint32_t> run_by_import(std::uint32_t from,
                                                         std::string_view name) const;
  void link_care();
  void settle_care();
  [[nodiscard]] bool imports_start_cuda(std::uint32_t file) const;
  [[nodiscard]] bool is_saved_from_cpu(std::string_view name) const;
  [[nodiscard]] bool is_alone(std::uint32_t file) const;

  void settle_purity();
  void settle();
  // Whether nothing but arguments and the CPU is behind these results.
  [[nodiscard]] bool are_pure(std::uint32_t file, const std::vector<Callee>& results);
  // What a call has to wait for so that it passes what is on the CPU: a slot other than `own`,
  // kFine or kNever.
  [[nodiscard]] std::uint32_t waits_for_slot(const CallOf& call, const Sources& sources,
                                             std::uint32_t own);
  [[nodiscard]] std::uint32_t waits_for_slot(const FunctionOfProject& function,
                                             std::size_t parameter, const CallOf& call);
};

}  // namespace torchport::flow
