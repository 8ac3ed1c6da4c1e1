// The joined facts behind a Summary, for summary.cpp and settle.cpp only.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "source/flow/summary.h"

namespace torchport::flow {

constexpr std::uint32_t kNoFunction = ~0U;
constexpr std::uint32_t kNoMethod = ~0U;

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
  std::uint32_t first_slot = 0;      // the number of its first parameter
  std::uint32_t method = kNoMethod;  // the number of its name among those of methods
  bool evidence = false;             // one of the calls is certainly one of this function
  bool ambiguous = false;            // there are calls that may be of too many functions
  bool doubted = false;              // there are calls that nothing is known about
  unsigned traits = 0;               // of its body and of what that calls; see traits.h
  bool pure = true;                  // its results come from its arguments, or are made on the CPU
};

// Many lists in one piece of memory.
template <class Item>
class Lists {
 public:
  // Adds an item to the list `of`; the lists are there after build().
  void add(std::uint32_t of, Item item) { links_.emplace_back(of, std::move(item)); }
  void build(std::size_t count) {
    parts_.assign(count, {});
    for (const auto& [of, item] : links_) ++parts_[of].count;
    std::uint32_t first = 0;
    for (Range& part : parts_) {
      part.first = first;
      first += std::exchange(part.count, 0);
    }
    items_.resize(links_.size());
    for (auto& [of, item] : links_) items_[parts_[of].first + parts_[of].count++] = std::move(item);
    links_ = {};
  }
  [[nodiscard]] std::span<const Item> operator[](std::uint32_t of) const {
    return std::span(items_).subspan(parts_[of].first, parts_[of].count);
  }

 private:
  std::vector<std::pair<std::uint32_t, Item>> links_;
  std::vector<Range> parts_;
  std::vector<Item> items_;
};

// Two names, as one key.
using NamePair = std::pair<std::string_view, std::string_view>;
struct NamePairHash {
  [[nodiscard]] std::size_t operator()(const NamePair& names) const {
    const std::hash<std::string_view> hash;
    return hash(names.first) * 31 + hash(names.second);
  }
};

struct Summary::Joined {
  std::vector<FileOfProject> files;
  std::vector<std::string> modules;  // of the files
  std::unordered_map<std::string_view, std::uint32_t> by_path;
  // By the module's name and each end of it: a.b.c, b.c, c.
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> by_end;
  std::unordered_set<std::string_view>
      parts;                                 // a, b and c: what no module has begins no name of one
  std::vector<FunctionOfProject> functions;  // all of the first file, then those of the next
  std::vector<std::uint32_t> first_function;  // of each file
  std::uint32_t slots = 0;                    // the parameters of all functions
  std::vector<char> with_cuda;                // for each function
  std::vector<char> from_cpu;                 // for each slot
  Lists<CallOf> calls;                        // of each function, by its own name
  // By the number of a method's name:
  std::unordered_map<std::string_view, std::uint32_t> method_numbers;
  Lists<std::uint32_t> methods;   // the functions
  Lists<CallOf> calls_by_method;  // of objects that nothing is known about
  // By the last parts of the names of a base class and of a method.
  std::unordered_map<NamePair, std::vector<std::uint32_t>, NamePairHash> overrides;
  std::unordered_set<const std::vector<std::uint32_t>*> given_up;  // overrides that are ambiguous
  std::vector<std::uint32_t> first_call;  // of each file, among the calls of all
  std::vector<char> refused;              // for each call: it runs only with what is on CUDA

  // What texts that are Callees mean, by file and text.
  struct Meaning {
    static constexpr std::uint32_t kUnknown = ~0U;
    static constexpr std::uint32_t kMethod = ~0U - 1;
    std::uint32_t first = 0;  // of `targets`; the number of a method's name
    std::uint32_t count = kUnknown;
  };
  std::vector<std::vector<Meaning>> meanings;
  std::vector<std::uint32_t> targets;
  std::unordered_map<std::string_view, Meaning> absolute;  // of what names by imports mean

  std::vector<char> chosen_late;               // for each file; see late_choice.cpp
  std::vector<char> keeps_cuda_or_cpu;         // for each file: it, or a file of its program, does
  std::vector<char> chooses_cuda_or_cpu;       // (semantics::CudaOrCpu)
  bool own_cuda_method = false;                // of any class
  bool scripts = false;                        // any file
  std::unordered_set<std::string_view> stars;  // last parts of the modules that files import by `*`
  // For each file; see file_conditions.cpp.
  std::vector<char> with_care;
  Edges careless_imports;           // by imports that the importer cannot do without
  std::vector<char> any_import;     // whether any import leads to it
  std::vector<char> caught_import;  // whether one does that its importer can do without
  std::vector<char> doubted;        // files that nothing is known about may import it
  // See kernels.cpp.
  std::vector<std::string> kernel_folders;
  std::vector<std::string> kernel_tests;

  void index_files();
  void index_functions();
  void index_overrides(std::uint32_t file);
  [[nodiscard]] std::string_view name_of(const FunctionOfProject& function) const {
    return files[function.file].facts.text(function.facts->name);
  }
  [[nodiscard]] const std::vector<std::uint32_t>& files_of(std::string_view module) const;
  // The longest front part of a dotted name that is a module, and the files that it may be.
  struct Module {
    std::string_view name;
    std::span<const std::uint32_t> files;
  };
  [[nodiscard]] Module module_in(std::string_view full) const;
  // Remembers the modules of names that stand in many files. For one thread.
  class KnownModules {
   public:
    explicit KnownModules(const Joined& joined) : joined_(joined) {}
    // module_in(full_name(from, name)); the name outlives this. Valid until the next question.
    [[nodiscard]] Module of(std::uint32_t from, std::string_view name);

   private:
    const Joined& joined_;
    std::unordered_map<std::string_view, Module> known_;
    std::string own_;
  };
  // The functions that a name means in a file are added to `found`: one of its own, the constructor
  // of its own class, or what it imports.
  void in_module(std::uint32_t file, std::string_view name, int hops,
                 std::vector<std::uint32_t>& found) const;
  void by_import(std::uint32_t from, std::string_view name, int hops,
                 std::vector<std::uint32_t>& found) const;
  // The same for a Callee that is not a method of an unknown object.
  void named(std::uint32_t file, std::string_view callee, std::vector<std::uint32_t>& found) const;
  // The dotted name of what a file imports by a relative or absolute name. `own` holds it if it is
  // not the name itself.
  [[nodiscard]] std::string_view full_name(std::uint32_t from, std::string_view name,
                                           std::string& own) const;
  // The functions that a Callee of a file may be. Valid until the next question.
  [[nodiscard]] std::span<const std::uint32_t> resolve(std::uint32_t file, TextNumber callee);
  [[nodiscard]] Meaning meaning_of(std::uint32_t file, TextNumber callee);
  [[nodiscard]] Meaning find_meaning(std::uint32_t file, std::string_view callee);
  void link();
  void link_call(const CallOf& call);
  void link_overrides(const CallOf& call, std::span<const std::uint32_t> meant);
  // The calls of a function, one list after the other.
  [[nodiscard]] std::size_t call_count(std::uint32_t function) const;
  [[nodiscard]] const CallOf& call(std::uint32_t function, std::size_t index) const;
  // Whether the calls are known well enough to say anything about the function.
  [[nodiscard]] bool is_settled_by_calls(const FunctionOfProject& function) const;

  // A function that returns what another one returns, and whether that can be no third.
  struct Return {
    std::uint32_t by = 0;
    bool surely = false;
  };

  // Whether what a Condition names is a flag that is true only with CUDA.
  [[nodiscard]] bool is_flag(std::uint32_t file, std::string_view name) const;
  [[nodiscard]] bool has_flag(std::uint32_t file, std::string_view name, int hops) const;
  [[nodiscard]] bool imports_flag(std::uint32_t from, std::string_view name, int hops) const;
  [[nodiscard]] bool is_given(std::uint32_t function, std::string_view parameter) const;

  // Whether a call of this name runs a function that has the trait.
  [[nodiscard]] bool has_trait(std::uint32_t file, const Callee& callee, unsigned trait) const;
  [[nodiscard]] bool have_trait(std::span<const std::uint32_t> meant, unsigned trait) const;
  void settle_traits(const Lists<Return>& returns);
  void settle_refusals();
  void settle_choices();
  void find_cuda_or_cpu();
  void find_own_cuda_methods();

  // Which files each file imports, directly. Made at the first question.
  [[nodiscard]] const Edges& imports_between() const;
  [[nodiscard]] Edges make_edges() const;
  mutable std::once_flag edges_made;
  mutable Edges import_edges;

  // Of whole files; see file_conditions.cpp.
  void link_care();
  void settle_care();
  [[nodiscard]] bool imports_start_cuda(std::uint32_t file) const;
  [[nodiscard]] bool is_saved_from_cpu(std::string_view name) const;
  [[nodiscard]] bool is_alone(std::uint32_t file) const;
  void find_kernels();

  // The functions that return what each function returns.
  [[nodiscard]] Lists<Return> link_results();
  void settle_purity(const Lists<Return>& returns);
  void settle();
  // Whether nothing but arguments and the CPU is behind these results.
  [[nodiscard]] bool are_pure(std::uint32_t file, std::span<const TextNumber> results);
  // What a call has to wait for so that it passes what is on the CPU: a slot other than `own`,
  // kFine or kNever.
  [[nodiscard]] std::uint32_t waits_for_slot(const CallOf& call, const Origins& origins,
                                             std::uint32_t own);
  [[nodiscard]] std::uint32_t waits_for_slot(const FunctionOfProject& function,
                                             std::uint32_t parameter, const CallOf& call);
};

}  // namespace torchport::flow
