#include "cuda/source/rewrite.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cuda/source/edits.h"
#include "cuda/source/parameters.h"
#include "cuda/source/phases.h"
#include "cuda/source/scopes.h"
#include "cuda/source/tokens.h"

namespace torchport::cuda {

namespace {

constexpr std::string_view kNames = "::torchport::cuda::";

// GCC contracts after it has inlined, by the flag of the function that it inlines into.
constexpr std::string_view kContract = "__attribute__((optimize(\"fp-contract=fast\")))";

// Specifiers of CUDA that mean nothing to one thread of a host.
constexpr std::array<std::string_view, 7> kDropped{
    "__host__",          "__device__", "__managed__",    "__constant__",
    "__grid_constant__", "__tile__",   "__inline_hint__"};
// Functions of the host's library that copy, or fill.
constexpr std::array<std::string_view, 6> kCopies{
    "memcpy", "memmove", "memset", "__builtin_memcpy", "__builtin_memmove", "__builtin_memset"};
// These have an argument.
constexpr std::array<std::string_view, 5> kDroppedCalls{
    "__launch_bounds__", "__maxnreg__", "__cluster_dims__", "__block_size__", "__local_maxnreg__"};

template <std::size_t kCount>
bool is_one_of(std::string_view word, const std::array<std::string_view, kCount>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// A name that a place of the grid has, and the function that answers for it outside of kernels.
std::string_view asked_by(std::string_view name) {
  if (name == "threadIdx") return "thread_index()";
  if (name == "blockIdx") return "block_index()";
  if (name == "blockDim") return "block_size()";
  if (name == "gridDim") return "grid_size()";
  return {};
}

struct Region {
  std::size_t begin;  // tokens
  std::size_t end;
};

class Rewriter {
 public:
  Rewriter(std::string_view text, const RewriteOptions& options)
      : text_(text),
        options_(options),
        tokens_(tokens_of(text)),
        scopes_(text, tokens_),
        edits_(text) {}

  base::Result<std::string> run() {
    for (std::size_t i = 0; i < tokens_.size() && !error_; ++i) {
      if (tokens_[i].kind == TokenKind::kName) {
        name(i);
      } else if (is(i, "<") && is(i + 1, "<") && is(i + 2, "<") && joined(i, 3)) {
        launch(i);
      } else if (tokens_[i].kind == TokenKind::kLine) {
        directive(i);
      }
    }
    if (error_) return tl::make_unexpected(*error_);
    return edits_.applied();
  }

 private:
  [[nodiscard]] std::string_view word(std::size_t i) const {
    return i < tokens_.size() ? text_.substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin)
                              : std::string_view();
  }
  [[nodiscard]] bool is(std::size_t i, std::string_view what) const { return word(i) == what; }
  [[nodiscard]] bool is_name(std::size_t i) const {
    return i < tokens_.size() && tokens_[i].kind == TokenKind::kName;
  }
  // Whether `count` tokens follow each other without a space.
  [[nodiscard]] bool joined(std::size_t i, std::size_t count) const {
    return i + count <= tokens_.size() &&
           tokens_[i + count - 1].end - tokens_[i].begin == static_cast<std::uint32_t>(count);
  }
  [[nodiscard]] bool is_closed(std::size_t i) const {
    return i < tokens_.size() && tokens_[i].partner > i;
  }

  void fail(std::size_t token, std::string message) {
    SourceLine where = line_of(text_, tokens_[token].begin);
    error_ = base::Error{base::ErrorCode::kSyntax, std::move(message), std::move(where.file),
                         where.line};
  }

  void drop(std::size_t token) { edits_.replace(tokens_[token].begin, tokens_[token].end, ""); }

  void name(std::size_t i) {
    const std::string_view it = word(i);
    if (it.size() < 3) return;
    if (options_.check && is_one_of(it, kCopies) && is(i + 1, "(") && !scopes_.is_namespace(i))
      copy(i, it);
    if (it[0] == '_' && it[1] == '_') {
      specifier(i, it);
    } else if (const std::string_view function = asked_by(it); !function.empty()) {
      place(i, function);
    }
    // if target (X): see nv/target of the toolkit.
    if (it == "target" && is(i - 1, "if") && is(i + 1, "(") && is_closed(i + 1)) {
      edits_.replace(tokens_[i].begin, tokens_[i].end, fmt::format("({}runs_on", kNames));
      edits_.insert(tokens_[tokens_[i + 1].partner].end, ")");
    }
    if (it == "asm" || it == "__asm__" || it == "__asm") assembler(i);
    if (options_.check && i < device_end_ && (it == "new" || it == "delete")) on_heap(i, it);
  }

  // A function of the host's library that uses memory: a checker is told before. Not in the headers
  // of the host.
  void copy(std::size_t i, std::string_view it) {
    if (is(i - 1, ".") || (is(i - 1, ">") && is(i - 2, "-"))) return;
    if (i >= device_end_ && !is_of_toolkit(line_of(text_, tokens_[i].begin).file)) return;
    std::size_t begin = i;
    if (is(i - 1, ":") && is(i - 2, ":")) begin = is(i - 3, "std") ? i - 3 : i - 2;
    if (begin < i && begin >= 2 && is(begin - 1, ":") && is(begin - 2, ":")) begin -= 2;
    const std::string_view name = it.starts_with("__builtin_") ? it.substr(10) : it;
    edits_.replace(tokens_[begin].begin, tokens_[i].end, fmt::format("{}checked_{}", kNames, name));
  }
  [[nodiscard]] bool is_of_toolkit(const std::string& file) const {
    if (file.ends_with("torchport/kernel.h")) return false;  // it has the checked ones
    return std::any_of(options_.toolkit_folders.begin(), options_.toolkit_folders.end(),
                       [&](const std::string& folder) { return file.starts_with(folder); });
  }

  // new and delete of a device's function, so that a checker knows of their memory.
  void on_heap(std::size_t i, std::string_view it) {
    if (is(i - 1, "operator")) return;
    if (it == "new") {
      if (!is(i + 1, "(")) edits_.insert(tokens_[i].end, fmt::format(" ({}KernelHeap())", kNames));
      return;
    }
    std::size_t begin = i + 1;
    if (is(begin, "[") && is(begin + 1, "]")) begin += 2;
    std::size_t end = begin;
    while (end < tokens_.size() && !is(end, ";"))
      end = is_closed(end) ? tokens_[end].partner + 1 : end + 1;
    if (end >= tokens_.size() || end == begin) return;
    const std::string what = without_lines(
        text_.substr(tokens_[begin].begin, tokens_[end].begin - tokens_[begin].begin));
    edits_.insert(tokens_[i].begin,
                  fmt::format("{{ const volatile void* torchport_gone = {}; ", what));
    edits_.insert(tokens_[end].end, fmt::format(" {}forget_new(torchport_gone); }}", kNames));
  }

  // The body of a function that only a device calls.
  void enter_device_function(std::size_t i) {
    const Declaration declared = scopes_.declaration(i);
    if (!declared.is_function || scopes_.has(declared, "__host__")) return;
    std::size_t at = declared.end;
    while (at < tokens_.size() && !is(at, "{") && !is(at, ";"))
      at = is(at, "(") && is_closed(at) ? tokens_[at].partner + 1 : at + 1;
    if (is(at, "{") && is_closed(at))
      device_end_ = std::max(device_end_, std::size_t{tokens_[at].partner});
  }

  // static alignas(16) is not C++, and __shared__ alignas(16) is CUDA's: an attribute may stand
  // anywhere.
  void align_anywhere(std::size_t i) {
    const Declaration declared = scopes_.declaration(i);
    for (std::size_t at = i; at < declared.end; ++at) {
      if (!is(at, "alignas") || !is(at + 1, "(") || !is_closed(at + 1) || at <= aligned_) continue;
      aligned_ = at;
      edits_.replace(tokens_[at].begin, tokens_[at].end, "__attribute__((aligned");
      edits_.insert(tokens_[tokens_[at + 1].partner].end, "))");
    }
  }

  void specifier(std::size_t i, std::string_view it) {
    if (it == "__global__") {
      kernel(i);
    } else if (it == "__shared__") {
      shared(i);
    } else if (is_one_of(it, kDropped)) {
      if (options_.check && it == "__device__") enter_device_function(i);
      std::string kept = it == "__device__" && contracts(i) ? std::string(kContract) : "";
      if (it == "__device__" && !options_.relocatable && is_of_another_file(i))
        kept += "__attribute__((weak))";
      const bool declares = it != "__host__" && it != "__grid_constant__";
      if (declares && !options_.relocatable && becomes_static(i)) {
        align_anywhere(i);
        kept += " static";
      }
      edits_.replace(tokens_[i].begin, tokens_[i].end, std::move(kept));
      if (declares) variable(i);
    } else if (is_one_of(it, kDroppedCalls) && is(i + 1, "(") && is_closed(i + 1)) {
      edits_.replace(tokens_[i].begin, tokens_[tokens_[i + 1].partner].end, "");
    } else if (it == "__forceinline__") {
      edits_.replace(tokens_[i].begin, tokens_[i].end, "inline");
    } else if (it == "__noinline__" && !is(i - 1, "(") && !is(i - 1, ",")) {
      edits_.replace(tokens_[i].begin, tokens_[i].end, "__attribute__((__noinline__))");
    }
  }

  // Gives a function that only a device calls the rounding of a device.
  [[nodiscard]] bool contracts(std::size_t i) const {
    if (!options_.contract || is(i - 1, "]") || is(i - 1, ">")) return false;
    const Declaration declared = scopes_.declaration(i);
    if (!declared.is_function || scopes_.has(declared, "__host__")) return false;
    // [[nodiscard]] may not follow an attribute of GCC's.
    for (std::size_t at = declared.begin; at + 1 < declared.end; ++at)
      if (is(at, "[") && is(at + 1, "[")) return false;
    return true;
  }

  // extern "C" __device__ void f(); without -rdc a GPU's code has no such function, and code that
  // calls it is only there for targets that nobody asked for. The host's linker is not to miss it.
  [[nodiscard]] bool is_of_another_file(std::size_t i) const {
    if (!scopes_.is_namespace(i)) return false;
    const Declaration declared = scopes_.declaration(i);
    return declared.is_function && scopes_.has(declared, "extern") &&
           !scopes_.has(declared, "__host__") && is(declared.end, "(") && is_closed(declared.end) &&
           is(tokens_[declared.end].partner + 1, ";");
  }

  // nvcc's device code has internal linkage: each file may have its own function of one name.
  bool becomes_static(std::size_t i) {
    if (!scopes_.is_namespace(i)) return false;
    const Declaration declared = scopes_.declaration(i);
    if (declared.begin == done_ || declared.is_member || declared.is_template) return false;
    for (const std::string_view word : {"static", "extern", "inline", "constexpr", "friend",
                                        "__global__", "__forceinline__", "typedef", "using"})
      if (scopes_.has(declared, word)) return false;
    // What the host may call, too, has the linkage that the host's code has.
    if (declared.is_function && scopes_.has(declared, "__host__")) return false;
    done_ = declared.begin;
    return true;
  }

  void directive(std::size_t i) {
    const std::string_view line = word(i);
    const std::size_t hash = line.find("pragma");
    if (hash == std::string_view::npos || line.find_first_not_of("# \t") != hash) return;
    const std::size_t what = line.find_first_not_of(" \t", hash + 6);
    if (what == std::string_view::npos) return;
    const std::string_view rest = line.substr(what);
    for (const std::string_view own : {"unroll", "nounroll", "nv_", "hd_warning_disable"})
      if (rest.starts_with(own)) drop(i);
  }

  // Whether `a.NAME`, `a->NAME` or a declaration: not CUDA's variable.
  [[nodiscard]] bool is_other(std::size_t i) const {
    if (is(i - 1, ".") || (is(i - 1, ">") && is(i - 2, "-"))) return true;
    if (is(i + 1, ".")) return false;
    static constexpr std::array<std::string_view, 6> kBefore{"return", "else",     "case",
                                                             "throw",  "co_yield", "do"};
    return i > 0 && tokens_[i - 1].kind == TokenKind::kName && !is_one_of(word(i - 1), kBefore);
  }

  // Whether a declaration names token `i`: `dim3 NAME`, `const dim3& NAME`, `dim3 other, NAME`.
  [[nodiscard]] bool is_declared(std::size_t i) const {
    if (i < 2 || is(i + 1, ".") || is(i - 1, ".") || is(i - 1, ":")) return false;
    if (is(i - 1, ">") && is(i - 2, "-")) return false;
    if (is_other(i)) return true;
    static constexpr std::array<std::string_view, 7> kBehind{",", ";", "=", "(", "{", "[", ")"};
    if (!is_one_of(word(i + 1), kBehind)) return false;
    // Places are classes: where one is a whole operand, & * > are parts of a type.
    if (is(i - 1, "&") || is(i - 1, "*") || is(i - 1, ">"))
      return tokens_[i - 2].kind == TokenKind::kName || is(i - 2, ">") || is(i - 2, "*");
    if (!is(i - 1, ",") || is(i + 1, ")")) return false;
    // The first variable of the list follows its type.
    const std::size_t first = scopes_.declaration(i).begin;
    for (std::size_t at = first; at + 1 < i; ++at) {
      if (tokens_[at].kind != TokenKind::kName || is(at, "return")) return false;
      if (tokens_[at + 1].kind == TokenKind::kName && at + 2 < tokens_.size() &&
          tokens_[at + 2].kind != TokenKind::kName && !is(at + 2, ":") && !is(at + 2, "<"))
        return is_one_of(word(at + 2), kBehind);
      while (at + 2 < i && is(at + 1, ":")) ++at;
    }
    return false;
  }

  // The tokens that see what token `i` declares: up to the end of its block, or of the body behind
  // the parentheses that it is in.
  [[nodiscard]] Region seen_by(std::size_t i) const {
    std::size_t at = i;
    bool in_parentheses = false;
    for (; at < tokens_.size(); ++at) {
      if (is(at, "}")) return {i, at};
      // A variable of a namespace is another than CUDA's, which is in the global one.
      if (!in_parentheses && is(at, ";") && scopes_.is_namespace(i)) return {i, i};
      if (is(at, ")")) {
        in_parentheses = true;
      } else if (in_parentheses && is(at, ";")) {
        return {i, at};  // a function without a body, a loop of one statement
      } else if (in_parentheses && is(at, "{") && is_closed(at)) {
        return {i, tokens_[at].partner};
      } else if (is_closed(at)) {
        at = tokens_[at].partner;
      }
    }
    return {i, i};
  }

  // Whether the program has declared a variable of this name, which hides CUDA's.
  [[nodiscard]] bool is_hidden(std::size_t i) const {
    return std::any_of(declared_.begin(), declared_.end(), [&](const Region& seen) {
      return seen.begin < i && i < seen.end && word(seen.begin) == word(i);
    });
  }

  void place(std::size_t i, std::string_view function) {
    std::size_t begin = i;
    if (is(i - 1, ":") && is(i - 2, ":")) begin = i - 2;
    if (begin == i && is_declared(i)) {
      declared_.push_back(seen_by(i));
      return;
    }
    if (is_other(i) || (begin == i && is_hidden(i))) return;
    const bool in_kernel = i < kernel_end_ && !is_inside_other(i);
    if (in_kernel && begin == i) return;
    edits_.replace(tokens_[begin].begin, tokens_[i].end, fmt::format("({}{})", kNames, function));
  }

  // Parts of the kernel that do not see the parameters of its lambda: lambdas that name what they
  // capture, and classes.
  [[nodiscard]] bool is_inside_other(std::size_t i) const {
    return std::any_of(others_.begin(), others_.end(),
                       [&](const Region& other) { return other.begin < i && i < other.end; });
  }

  void find_others(std::size_t begin, std::size_t end) {
    others_.clear();
    for (std::size_t i = begin; i < end; ++i) {
      if (is(i, "[") && is_closed(i) && i > begin) {
        const std::size_t close = tokens_[i].partner;
        const bool is_lambda = !(tokens_[i - 1].kind == TokenKind::kName && !is(i - 1, "return")) &&
                               !is(i - 1, ")") && !is(i - 1, "]") && !is(i - 1, ">") &&
                               !is(i - 1, "[") && !is(i + 1, "[");
        if (!is_lambda) continue;
        const bool by_default =
            (is(i + 1, "&") || is(i + 1, "=")) && (close == i + 2 || is(i + 2, ","));
        std::size_t body = close + 1;
        while (body < end && !is(body, "{") && !is(body, ";")) {
          body = is_closed(body) ? tokens_[body].partner + 1 : body + 1;
        }
        if (is(body, "{") && is_closed(body) && !by_default)
          others_.push_back({i, tokens_[body].partner});
      } else if ((is(i, "struct") || is(i, "class") || is(i, "union")) && i + 2 < end) {
        std::size_t body = i + 1;
        while (body < end && !is(body, "{") && !is(body, ";") && !is(body, ")")) ++body;
        if (is(body, "{") && is_closed(body)) others_.push_back({body, tokens_[body].partner});
      }
    }
  }

  // The `(` of a kernel's parameters, and its name before.
  [[nodiscard]] std::size_t parameters_of(std::size_t i) const {
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

  void kernel(std::size_t i) {
    drop(i);
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
      loads += one.name.empty() ? fmt::format("{}Unnamed()", kNames) : one.name;
      if (one.is_pack) loads += "...";
      if (one.name.empty()) continue;
      notes += fmt::format("{0}{1}noted(\"{2}\", {2}){3}", notes.empty() ? "" : ", ", kNames,
                           one.name, one.is_pack ? "..." : "");
    }
    if (!notes.empty()) notes = fmt::format("{}note_arguments({}); ", kNames, notes);
    if (!options_.check) notes.clear();
    std::size_t named = open - 1;
    while (named > i && tokens_[named].kind != TokenKind::kName) --named;
    edits_.insert(tokens_[body].end,
                  fmt::format(" if (void** torchport_values = {0}waiting_arguments()) "
                              "{0}load_arguments(torchport_values{1}); {2}struct "
                              "torchport_kernel {{}}; ",
                              kNames, loads, notes));
    const std::string_view contract = options_.contract ? kContract : "";
    // A checker has to hear of the barriers.
    std::optional<std::vector<PhaseEdit>> phases;
    if (options_.split && !options_.check)
      phases = phases_of(text_, tokens_, scopes_, {i, open, close, body, end, contract},
                         [&](std::size_t token) {
                           return !is_of_host(line_of(text_, tokens_[token].begin).file);
                         });
    if (phases) {
      edits_.insert(
          tokens_[body].end,
          fmt::format("{0}run_kernel_in_phases<torchport_kernel>(\"{1}\", [=](const ::uint3 "
                      "blockIdx, const ::dim3 blockDim, const ::dim3 gridDim, {0}Walk* "
                      "__restrict__ torchport_walk) {2} {{ (void)blockIdx, (void)blockDim, "
                      "(void)gridDim; {{ ",
                      kNames, word(named), contract));
      for (PhaseEdit& edit : *phases) {
        if (edit.begin == edit.end)
          edits_.insert(edit.begin, std::move(edit.with));
        else
          edits_.replace(edit.begin, edit.end, std::move(edit.with));
      }
    } else {
      edits_.insert(
          tokens_[body].end,
          fmt::format(
              "{0}run_kernel<torchport_kernel>(\"{1}\", [=](const ::uint3 threadIdx, "
              "const ::uint3 blockIdx, const ::dim3 blockDim, const ::dim3 gridDim) mutable "
              "{2} {{ (void)threadIdx, (void)blockIdx, (void)blockDim, (void)gridDim; {{ ",
              kNames, word(named), contract));
    }
    edits_.insert(tokens_[end].begin, fmt::format("}}}}{});", bounds_of(i, open)));
    kernel_end_ = end;
    device_end_ = std::max(device_end_, end);
    find_others(body, end);
  }

  // What is said of a kernel's launches before its parameters.
  std::string bounds_of(std::size_t i, std::size_t open) {
    std::string bounds = fmt::format("{}Bounds()", kNames);
    std::string cluster;
    for (std::size_t at = scopes_.declaration(i).begin; at < open; ++at) {
      const bool is_bounds = is(at, "__launch_bounds__");
      if ((!is_bounds && !is(at, "__cluster_dims__")) || !is(at + 1, "(") || !is_closed(at + 1))
        continue;
      const std::size_t first = tokens_[at + 1].end;
      const std::size_t last = tokens_[tokens_[at + 1].partner].begin;
      const std::string values = without_lines(text_.substr(first, last - first));
      if (is_bounds)
        bounds = fmt::format("{}launch_bounds({})", kNames, values);
      else
        cluster = fmt::format(", {}cluster_dims({})", kNames, values);
    }
    return fmt::format(", {}{}", bounds, cluster);
  }

  // Tells the runtime of a variable of the device, so that symbols have an address and a size.
  void variable(std::size_t i) {
    if (!scopes_.is_namespace(i)) return;
    const Declaration declared = scopes_.declaration(i);
    if (declared.begin == told_ || declared.is_function || declared.is_member ||
        declared.is_template || declared.end == 0)
      return;
    for (const std::string_view word :
         {"extern", "typedef", "using", "constexpr", "struct", "class", "union", "enum", "friend"})
      if (scopes_.has(declared, word)) return;
    std::size_t named = declared.end - 1;
    if (tokens_[named].kind != TokenKind::kName) return;
    std::size_t end = declared.end;
    while (end < tokens_.size() && !is(end, ";")) {
      if (is(end, ",")) return;  // several; those are known when they are used
      end = is_closed(end) ? tokens_[end].partner + 1 : end + 1;
    }
    if (end >= tokens_.size()) return;
    told_ = declared.begin;
    std::string_view memory = "kDevice";
    if (scopes_.has(declared, "__constant__")) memory = "kConstant";
    if (scopes_.has(declared, "__managed__")) memory = "kManaged";
    edits_.insert(tokens_[end].end,
                  fmt::format(" static const bool torchport_variable_{0} [[maybe_unused]] = "
                              "{1}add_variable(&reinterpret_cast<const volatile char&>({2}), "
                              "sizeof({2}), \"{2}\", {1}Memory::{3});",
                              named, kNames, word(named), memory));
  }

  // extern __shared__ T name[]; in a function, of which a template forgets the name for the linker:
  // a reference to the dynamic shared memory.
  bool dynamic_in_function(std::size_t begin, std::size_t i, std::size_t end) {
    std::size_t bracket = i;
    while (bracket < end && !is(bracket, "["))
      bracket = is_closed(bracket) ? tokens_[bracket].partner + 1 : bracket + 1;
    if (bracket >= end || end >= tokens_.size() || tokens_[bracket - 1].kind != TokenKind::kName)
      return false;
    const std::size_t name = bracket - 1;
    for (std::size_t k = begin; k < name; ++k)
      if (is(k, "extern") || k == i) drop(k);
    edits_.insert(tokens_[name].begin, "(&");
    edits_.insert(tokens_[name].end, ")");
    edits_.insert(tokens_[end].begin,
                  fmt::format(" = reinterpret_cast<decltype({})>({}torchport_cuda_dynamic_shared)",
                              word(name), kNames));
    return true;
  }

  void shared(std::size_t i) {
    align_anywhere(i);
    const Declaration declared = scopes_.declaration(i);
    if (scopes_.has(declared, "extern")) {
      std::size_t end = i;
      while (end < tokens_.size() && !is(end, ";")) ++end;
      if (!scopes_.is_namespace(i) && dynamic_in_function(declared.begin, i, end)) return;
      edits_.replace(tokens_[i].begin, tokens_[i].end, "__thread");
      if (end < tokens_.size())
        edits_.insert(tokens_[end].begin, " __asm__(\"torchport_cuda_dynamic_shared\")");
      return;
    }
    const bool is_static = scopes_.has(declared, "static");
    edits_.replace(tokens_[i].begin, tokens_[i].end,
                   is_static ? "thread_local" : "static thread_local");
    note_shared(i, declared);
  }

  // The bytes of __shared__ variables belong to the kernel; a checker has their addresses.
  void note_shared(std::size_t i, const Declaration& declared) {
    // A type that is defined here has its name behind the braces.
    std::size_t end = declared.end;
    std::size_t name = end - 1;
    if (is(end, "{") && is_closed(end)) name = end = tokens_[end].partner + 1;
    std::string notes;
    const auto note = [&](std::size_t which) {
      if (i < kernel_end_)
        notes +=
            fmt::format(" (void)&{0}SharedVariable<torchport_kernel, {1}, sizeof({2})>::counted;",
                        kNames, which, word(which));
      if (options_.check && !scopes_.is_namespace(i))
        notes += fmt::format(" {0}note_shared({1}, \"{1}\");", kNames, word(which));
    };
    // Those before, of `int a, b[2], c;`.
    for (std::size_t at = name; at > i + 2 && is(at - 1, ",") && is_name(at - 2); at -= 2)
      note(at - 2);
    while (end < tokens_.size() && is_name(name)) {
      while (end < tokens_.size() && !is(end, ";") && !is(end, ","))
        end = is_closed(end) ? tokens_[end].partner + 1 : end + 1;
      note(name);
      if (!is(end, ",")) break;
      for (name = ++end; is(name, "*") || is(name, "&");) ++name;
      end = name + 1;
    }
    if (is(end, ";")) edits_.insert(tokens_[end].end, notes);
  }

  // ---- launches ----

  // The first token of the expression that ends before token `end`: a name with its scopes and
  // template arguments, or an expression in parentheses.
  [[nodiscard]] std::optional<std::size_t> callee_begin(std::size_t end) const {
    std::size_t at = end;
    while (at > 0) {
      --at;
      if (is(at, ">")) {
        const auto open = template_open(at);
        if (!open || *open == 0) return std::nullopt;
        at = *open - 1;
      }
      while ((is(at, "]") || is(at, ")")) && tokens_[at].partner < at) {
        at = tokens_[at].partner;
        // f(x)<<<...>>>: what a function returns. (f)<<<...>>>: only that.
        if (at == 0 || (tokens_[at - 1].kind != TokenKind::kName && !is(at - 1, ")"))) return at;
        if (is(at - 1, "return") || is(at - 1, "else") || ends_condition(at - 1)) return at;
        --at;
      }
      if (tokens_[at].kind != TokenKind::kName) return std::nullopt;
      if (is(at - 1, "template") && at > 0) --at;
      const bool scope = at > 1 && is(at - 1, ":") && is(at - 2, ":");
      const bool arrow = at > 1 && is(at - 1, ">") && is(at - 2, "-");
      const bool dot = at > 0 && is(at - 1, ".");
      if (!scope && !arrow && !dot) return at;
      at -= dot ? 1 : 2;
      const bool global =
          scope && (at == 0 || (tokens_[at - 1].kind != TokenKind::kName && !is(at - 1, ">")));
      if (global || (scope && (is(at - 1, "return") || is(at - 1, "else")))) return at;
    }
    return std::nullopt;
  }

  // Whether token `at` is the `)` of if (...), after which a statement begins.
  [[nodiscard]] bool ends_condition(std::size_t at) const {
    const std::size_t open = tokens_[at].partner;
    return is(at, ")") && open > 0 && open < at &&
           (is(open - 1, "if") || is(open - 1, "while") || is(open - 1, "for") ||
            is(open - 1, "switch"));
  }

  // The `<` of template arguments that token `close` ends.
  [[nodiscard]] std::optional<std::size_t> template_open(std::size_t close) const {
    std::size_t depth = 0;
    for (std::size_t at = close + 1; at-- > 0;) {
      if (is(at, ";") || is(at, "{")) return std::nullopt;
      if ((is(at, ")") || is(at, "]") || is(at, "}")) && tokens_[at].partner < at) {
        at = tokens_[at].partner;
      } else if (is(at, ">") && !(at > 0 && is(at - 1, "-"))) {
        ++depth;
      } else if (is(at, "<") && --depth == 0) {
        return at;
      }
    }
    return std::nullopt;
  }

  void launch(std::size_t i) {
    if (i > 0 && is(i - 1, "operator")) return;
    std::size_t close = i + 3;
    while (close < tokens_.size() &&
           !(is(close, ">") && joined(close, 3) && is(close + 1, ">") && is(close + 2, ">"))) {
      if (is(close, ";")) return fail(i, "the launch `<<<` has no `>>>`");
      close = is_closed(close) ? tokens_[close].partner + 1 : close + 1;
    }
    if (close >= tokens_.size()) return fail(i, "the launch `<<<` has no `>>>`");
    const std::size_t open = close + 3;
    if (!is(open, "(") || !is_closed(open))
      return fail(i, "the launch has no arguments in parentheses behind `>>>`");
    const auto begin = callee_begin(i);
    if (!begin) return fail(i, "there is no kernel before the launch `<<<`");
    const std::size_t last = tokens_[close - 1].end;
    const std::size_t first = tokens_[i + 3].begin;
    std::string configuration(text_.substr(first, first < last ? last - first : 0));
    // A line marker cannot stand within a line.
    configuration = without_lines(configuration);
    edits_.insert(tokens_[*begin].begin,
                  fmt::format("(!{}configure({}) ? (void)0 : (void)", kNames, configuration));
    edits_.replace(tokens_[i].begin, tokens_[close + 2].end, "");
    edits_.insert(tokens_[tokens_[open].partner].end, ")");
  }

  static std::string without_lines(std::string_view text) {
    std::string result;
    bool marker = false;
    bool begins = false;
    for (const char c : text) {
      if (c == '\n') {
        marker = false;
        begins = true;
        result += ' ';
        continue;
      }
      if (begins && c == '#') marker = true;
      if (c != ' ') begins = false;
      if (!marker) result += c;
    }
    return result;
  }

  // ---- assembler ----

  // The preprocessor names a file as it found it: by a path from this folder on, or by a link.
  [[nodiscard]] bool is_of_host(const std::string& file) const {
    std::error_code error;
    const std::string path = std::filesystem::weakly_canonical(file, error).string();
    return std::any_of(
        options_.host_folders.begin(), options_.host_folders.end(),
        [&](const std::string& folder) { return (error ? file : path).starts_with(folder); });
  }

  void assembler(std::size_t i) {
    std::size_t open = i + 1;
    while (is(open, "volatile") || is(open, "__volatile__") || is(open, "goto") ||
           is(open, "inline"))
      ++open;
    if (!is(open, "(") || !is_closed(open)) return;
    const std::size_t close = tokens_[open].partner;
    // A name for the linker: int x asm("y").
    const bool after_name =
        i > 0 && tokens_[i - 1].kind == TokenKind::kName && !is(i - 1, "else") && !is(i - 1, "do");
    if (after_name || is(i - 1, "]") || scopes_.is_namespace(i)) return;
    const std::optional<AsmStatement> statement = asm_between(text_, tokens_, open, close);
    if (!statement) return;
    if (statement->text.find_first_not_of(" \t\n;") == std::string::npos) return;
    if (is_of_host(line_of(text_, tokens_[i].begin).file)) return;
    if (!options_.translate_asm) return fail(i, "inline PTX is not supported");
    auto translated = options_.translate_asm(*statement);
    if (!translated) return fail(i, translated.error().message);
    edits_.replace(tokens_[i].begin, tokens_[close].end, without_lines(*translated));
  }

  std::string_view text_;
  const RewriteOptions& options_;
  std::vector<Token> tokens_;
  Scopes scopes_;
  Edits edits_;
  std::optional<base::Error> error_;
  std::size_t kernel_end_ = 0;
  std::size_t device_end_ = 0;  // of the function of a device that the tokens are in
  std::size_t aligned_ = 0;
  std::size_t done_ = static_cast<std::size_t>(-1);
  std::size_t told_ = static_cast<std::size_t>(-1);  // a declaration of a variable
  std::vector<Region> others_;
  std::vector<Region> declared_;  // variables with the names of CUDA's, from their names on
};

}  // namespace

base::Result<std::string> rewrite(std::string_view text, const RewriteOptions& options) {
  return Rewriter(text, options).run();
}

}  // namespace torchport::cuda
