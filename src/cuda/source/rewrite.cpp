#include "cuda/source/rewrite.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cuda/source/arithmetic.h"
#include "cuda/source/checked_memory.h"
#include "cuda/source/code.h"
#include "cuda/source/kernels.h"
#include "cuda/source/launches.h"
#include "cuda/source/parameters.h"
#include "cuda/source/places.h"
#include "cuda/source/variables.h"

namespace torchport::cuda {

namespace {

// Specifiers of CUDA that mean nothing to one thread of a host.
constexpr std::array<std::string_view, 7> kDropped{
    "__host__",          "__device__", "__managed__",    "__constant__",
    "__grid_constant__", "__tile__",   "__inline_hint__"};
// Functions of the host's library that copy, or fill.
constexpr std::array<std::string_view, 6> kCopies{
    "memcpy", "memmove", "memset", "__builtin_memcpy", "__builtin_memmove", "__builtin_memset"};

class Rewriter : CodePart {
 public:
  explicit Rewriter(Code& code)
      : CodePart(code),
        launches_(code),
        places_(code),
        variables_(code),
        checked_(code),
        kernels_(code, places_) {}

  base::Result<std::string> run() {
    for (std::size_t i = 0; i < tokens_.size() && !code_.error; ++i) {
      if (tokens_[i].kind == TokenKind::kName) {
        name(i);
      } else if (is(i, "<") && is(i + 1, "<") && is(i + 2, "<") && joined(i, 3)) {
        launches_.launch(i);
      } else if (tokens_[i].kind == TokenKind::kLine) {
        directive(i);
      }
    }
    if (code_.error) return tl::make_unexpected(*code_.error);
    return edits_.applied();
  }

 private:
  void name(std::size_t i) {
    const std::string_view it = word(i);
    if (it.size() < 3) return;
    if (options_.check && is_one_of(it, kCopies) && is(i + 1, "(") && !scopes_.is_namespace(i))
      checked_.copy(i, it);
    if (it[0] == '_' && it[1] == '_') {
      specifier(i, it);
    } else if (const std::string_view function = asked_by(it); !function.empty()) {
      places_.place(i, function);
    }
    // if target (X): see nv/target of the toolkit.
    if (it == "target" && is(i - 1, "if") && is(i + 1, "(") && is_closed(i + 1)) {
      edits_.replace(tokens_[i].begin, tokens_[i].end, fmt::format("({}runs_on", kPrefix));
      edits_.insert(tokens_[tokens_[i + 1].partner].end, ")");
    }
    if ((it == "struct" || it == "class") && is(i + 1, ":") && is(i + 2, ":") &&
        begins_class(i + 3)) {
      drop(i + 1);
      drop(i + 2);
    }
    if (it == "asm" || it == "__asm__" || it == "__asm") assembler(i);
    if (it == "clock" && calls_clock(i) && !has_own_clock())
      edits_.replace(tokens_[i].begin, tokens_[i].end, "::torchport::cuda::clock_here");
    if (options_.check && i < code_.device_end && (it == "new" || it == "delete"))
      checked_.on_heap(i, it);
  }

  // clock() of <time.h>, which counts cycles in a kernel.
  [[nodiscard]] bool calls_clock(std::size_t i) const {
    const bool is_member = is(i - 1, ".") || (is(i - 1, ">") && is(i - 2, "-"));
    const bool is_declared = i > 0 && is_name(i - 1) && !is(i - 1, "return");
    return is(i + 1, "(") && is(i + 2, ")") && !is_member && !is_declared && !is(i - 1, ":") &&
           !is_of_host(line_of(text_, tokens_[i].begin).file);
  }

  // Whether the program has a function of this name: double clock() {...}
  [[nodiscard]] bool has_own_clock() {
    if (!own_clock_) {
      own_clock_ = false;
      for (std::size_t i = 1; i < tokens_.size() && !*own_clock_; ++i)
        own_clock_ = is(i, "clock") && is_name(i - 1) && !is(i - 1, "return") && is(i + 1, "(") &&
                     !is_of_host(line_of(text_, tokens_[i].begin).file);
    }
    return *own_clock_;
  }

  // struct ::a::b<c> : d {...}; nvcc takes it, GCC refuses the first ::. Whether that is the head
  // of a class, and not a type that is named.
  [[nodiscard]] bool begins_class(std::size_t i) const {
    std::size_t depth = 0;  // of template arguments
    for (; i < tokens_.size() && !is(i, ";"); ++i) {
      if (is(i, "<")) {
        ++depth;
      } else if (is(i, ">")) {
        if (depth-- == 0) return false;
      } else if (depth > 0) {
        if (is_closed(i)) i = tokens_[i].partner;
      } else if (is(i, "{") || (is(i, ":") && !is(i + 1, ":"))) {
        return true;
      } else if (is(i, ":")) {
        ++i;
      } else if (!is_name(i) || (is_name(i + 1) && !is(i + 1, "final"))) {
        return false;  // of a variable or a function
      }
    }
    return false;
  }

  void specifier(std::size_t i, std::string_view it) {
    if (it == "__global__") {
      kernels_.kernel(i);
    } else if (it == "__shared__") {
      variables_.shared(i);
    } else if (is_one_of(it, kDropped)) {
      if (options_.check && it == "__device__") checked_.enter_device_function(i);
      std::string kept = it == "__device__" && contracts(i) ? std::string(kContract) : "";
      if (it == "__device__" && !options_.relocatable && is_of_another_file(i))
        kept += "__attribute__((weak))";
      const bool declares = it != "__host__" && it != "__grid_constant__";
      if (declares && !options_.relocatable && variables_.becomes_static(i)) {
        variables_.align_anywhere(i);
        kept += " static";
      }
      if (it == "__device__")
        kept = fmt::format("{}{}{}", kDeviceMark, kept.starts_with('_') ? " " : "", kept);
      edits_.replace(tokens_[i].begin, tokens_[i].end, std::move(kept));
      if (declares) variables_.variable(i);
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

  std::optional<bool> own_clock_;  // once it is asked
  Launches launches_;
  Places places_;
  Variables variables_;
  CheckedMemory checked_;
  Kernels kernels_;
};

}  // namespace

base::Result<std::string> rewrite(std::string_view text, const RewriteOptions& options) {
  Code code(text, options);
  return Rewriter(code).run().map(
      [&](std::string once) { return with_defined_arithmetic(std::move(once), options); });
}

}  // namespace torchport::cuda
