#include "cuda/source/phases.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cuda/source/kernel_body.h"

namespace torchport::cuda {

namespace {

constexpr std::size_t kMostThreads = 1024;
constexpr std::size_t kMostKept = std::size_t{96} << 10U;  // bytes of a stack

class Splitter : KernelBody {
 public:
  Splitter(std::string_view text, const std::vector<Token>& tokens, const Scopes& scopes,
           const KernelTokens& kernel, const IsOfUser& is_of_user)
      : KernelBody(text, tokens, kernel.body, kernel.end),
        scopes_(scopes),
        kernel_(kernel),
        is_of_user_(is_of_user) {}

  std::vector<PhaseEdit> run() {
    for (std::size_t p = 0; p < at_.size(); ++p)
      if (is(p, "__syncthreads")) last_barrier_ = p;
    require(last_barrier_ > 0);
    template_types();
    parameters();
    look_for_what_waits();
    for (std::size_t p = 1; p <= last_barrier_; p = behind_statement(p))
      early_end_ = behind_statement(p);
    may_leave_ = has(0, early_end_, "return");
    compound(0, at_.size() - 1);
    require(barriers_ == 0 && kept_bytes_ <= kMostKept);
    if (may_leave_)
      edits_.push_back({end_of(0), end_of(0),
                        "bool torchport_gone[1024] = {}; unsigned torchport_left = blockDim.x * "
                        "blockDim.y * blockDim.z; "});
    std::stable_sort(edits_.begin(), edits_.end(), [](const PhaseEdit& a, const PhaseEdit& b) {
      return a.begin != b.begin ? a.begin < b.begin : (a.end == a.begin) > (b.end == b.begin);
    });
    return std::move(edits_);
  }

 private:
  // What a thread knows of itself.
  struct Local {
    std::string_view name;
    std::size_t begin;  // the token of its declaration
    bool is_again;      // declared anew in each phase; else kept
    bool is_uniform;    // the same for all threads, and declared outside of the phases
    std::string text;   // what declares it in a phase
  };

  void replace(std::size_t from, std::size_t to, std::string with) {
    edits_.push_back({begin_of(from), end_of(to), std::move(with)});
  }
  void insert(std::size_t at, std::string what) { edits_.push_back({at, at, std::move(what)}); }

  // ---- what the whole kernel must be ----

  // template <typename T, class U> before the kernel.
  void template_types() {
    std::size_t i = kernel_.first;
    while (i > 0 && raw(i - 1) != ";" && raw(i - 1) != "{" && raw(i - 1) != "}") --i;
    for (; i + 2 < kernel_.first; ++i)
      if ((raw(i) == "typename" || raw(i) == "class") &&
          (raw(i + 2) == "," || raw(i + 2) == ">" || raw(i + 2) == "="))
        types_.insert(raw(i + 1));
  }
  [[nodiscard]] bool is_type(std::string_view word) const {
    return is_number_type(word) || types_.count(word) != 0;
  }

  void parameters() {
    std::size_t begin = kernel_.open + 1;
    for (std::size_t i = begin; i <= kernel_.close; ++i) {
      if (raw(i) == "(" || raw(i) == "[" || raw(i) == "<" || raw(i) == "&" || raw(i) == "." ||
          tokens_[i].kind == TokenKind::kLine)
        require(i == kernel_.close);
      if (raw(i) != "," && i != kernel_.close) continue;
      if (i > begin) parameter(begin, i);
      begin = i + 1;
    }
  }

  void parameter(std::size_t begin, std::size_t end) {
    const std::string_view name = raw(end - 1);
    require(tokens_[end - 1].kind == TokenKind::kName && end - begin > 1 && !is_number_type(name));
    bool is_pointer = false;
    bool is_scalar = true;
    for (std::size_t i = begin; i + 1 < end; ++i) {
      require(raw(i) != "volatile");
      if (raw(i) == "*") is_pointer = true;
      if (raw(i) != "const" && !is_type(raw(i))) is_scalar = false;
    }
    require(is_pointer || is_scalar);
    require(!is_changed(name, 0, at_.size()));
    for (std::size_t i = begin; i + 1 < end && !is_pointer; ++i)
      if (types_.count(raw(i)) != 0) unchanging_members(name);
    (is_pointer ? pointers_ : scalars_).insert(name);
    for (std::size_t i = begin; i + 1 < end; ++i)
      if (raw(i) != "const" && integer_types().count(raw(i)) == 0) floats_.insert(name);
  }

  // An argument that may be a class: its members could be changed.
  void unchanging_members(std::string_view name) const {
    for (std::size_t p = 0; p < at_.size(); ++p)
      require(!is_name(p) || !is(p, name) || (!is(p + 1, ".") && !is(p + 1, "[")));
  }

  void look_for_what_waits() {
    for (std::size_t p = 1; p + 1 < at_.size(); ++p) {
      const std::string_view it = word(p);
      if (is_name(p)) {
        require(!is_forbidden(it) && it.substr(0, 9) != "torchport");
        if (it.substr(0, 2) == "__") {
          const bool known = never_waits(it) || it == "__shared__" || it == "__restrict__" ||
                             it == "__restrict" || it == "__syncthreads";
          require(known);
        }
        if (it == "__syncthreads") ++barriers_;
        if (is_place(it)) require(is(p + 1, ".") && !is_member(p) && !is(p - 1, ":"));
      }
      if (it == "(") call(p);
      if (it == "[")
        require((is_name(p - 1) && !is(p - 1, "return")) || is(p - 1, "]") || is(p - 1, ")"));
      if (it == "{")
        require(is(p - 1, ")") || is(p - 1, ";") || is(p - 1, "{") || is(p - 1, "}") ||
                is(p - 1, "else") || is(p - 1, "do") || is(p - 1, "=") || is(p - 1, ",") ||
                is(p - 1, ":"));
      if (it == "&") reference(p);
    }
  }

  // Whether what a parenthesis follows may be there.
  void call(std::size_t p) {
    const std::string_view name = word(p - 1);
    if (is(p - 1, "]")) throw Refused();
    if (is(p - 1, ")")) {
      // A cast, (float)(x), or a condition and a statement.
      const std::size_t open = partner(p - 1);
      if (open > 0 && (is(open - 1, "if") || is(open - 1, "for") || is(open - 1, "while"))) return;
      for (std::size_t q = open + 1; q < p - 1; ++q)
        require(is_type(word(q)) || is(q, "*") || is(q, "const"));
      return;
    }
    if (is(p - 1, ">")) {
      // static_cast<...>(x). What looks like a comparison may be a call, f<N - 1>(x).
      std::size_t q = p - 1;
      while (q > 0 && (is_name(q - 1) || is_number(q - 1) || is(q - 1, "*") || is(q - 1, ",") ||
                       is(q - 1, ":")))
        --q;
      require(
          q > 1 && is(q - 1, "<") &&
          (is(q - 2, "static_cast") || is(q - 2, "reinterpret_cast") || is(q - 2, "const_cast")));
      return;
    }
    if (!is_name(p - 1)) return;
    static const Words kKeywords{"if",     "for",    "while",         "switch",
                                 "return", "sizeof", "static_assert", "constexpr"};
    if (kKeywords.count(name) != 0 || is_type(name)) return;
    require(!is_member(p - 1));
    if (name == "__syncthreads") return;
    require(never_waits(name) && scalars_.count(name) == 0 && pointers_.count(name) == 0);
    if (functions_.insert(name).second) require(!is_users_function(name));
    if (p > 2 && is_two(p - 3, "::")) require(p == 3 || !is_name(p - 4) || is(p - 4, "std"));
    require(!(p > 1 && is_name(p - 2) && !is(p - 2, "return") && !is(p - 2, "else") &&
              !is(p - 2, "do")));  // T min(x)
  }

  // Whether the program has a function of this name for devices, which may do anything.
  [[nodiscard]] bool is_users_function(std::string_view name) const {
    for (std::size_t i = 1; i + 1 < tokens_.size(); ++i) {
      if (tokens_[i].kind != TokenKind::kName || raw(i) != name || raw(i + 1) != "(") continue;
      if (i > kernel_.body && i < kernel_.end) continue;
      if (!scopes_.is_namespace(i)) {
        if (is_of_user_(i) && is_friend(i)) return true;
        continue;
      }
      const Declaration declared = scopes_.declaration(i);
      if (declared.is_function && scopes_.has(declared, "__device__") && is_of_user_(i))
        return true;
    }
    return false;
  }

  // Whether a class declares the function that it names as a friend.
  [[nodiscard]] bool is_friend(std::size_t i) const {
    while (i > 0 && raw(i - 1) != ";" && raw(i - 1) != "{" && raw(i - 1) != "}")
      if (raw(--i) == "friend") return true;
    return false;
  }

  // References may rename what a thread has.
  void reference(std::size_t p) const {
    const bool behind_type = p > 0 && (is_type(word(p - 1)) || is(p - 1, "auto") ||
                                       is(p - 1, "const") || is(p - 1, ">"));
    require(!behind_type);
    if (is_two(p, "&&") || (p > 0 && is_two(p - 1, "&&")) || is_two(p, "&=")) return;
    if (!is_name(p + 1)) return;
    const bool is_assigned = is(p + 2, "=") && !is_two(p + 2, "==");
    require(!(is_behind_value(p) && (is_assigned || is(p + 2, ":") || is(p + 2, "{"))));
  }

  // ---- expressions ----

  [[nodiscard]] const Local* local(std::string_view name) const {
    for (const Local& one : locals_)
      if (one.name == name) return &one;
    return nullptr;
  }

  // A number or parameter of the template, or a constant of a namespace.
  [[nodiscard]] bool is_constant(std::string_view name) {
    const auto known = constants_.find(name);
    if (known != constants_.end()) return true;
    if (unknown_.count(name) != 0) return false;
    bool found = false;
    for (std::size_t i = 1; i + 1 < tokens_.size(); ++i) {
      if (tokens_[i].kind != TokenKind::kName || raw(i) != name) continue;
      if (i > kernel_.body && i < kernel_.end) continue;
      if (!is_number_type(raw(i - 1))) {
        // A variable of another type, which may be one of a number under another name.
        if (tokens_[i - 1].kind != TokenKind::kName || !scopes_.is_namespace(i) || !is_of_user_(i))
          continue;
        found = false;
        break;
      }
      if (is_template_parameter(i)) {
        found = true;
        continue;
      }
      if (!scopes_.is_namespace(i)) continue;
      const Declaration declared = scopes_.declaration(i);
      if (raw(i + 1) != "=" || declared.is_function || scopes_.has(declared, "*") ||
          !(scopes_.has(declared, "const") || scopes_.has(declared, "constexpr"))) {
        found = false;
        break;
      }
      found = true;
    }
    (found ? constants_ : unknown_).insert(name);
    return found;
  }

  [[nodiscard]] bool is_template_parameter(std::size_t i) const {
    if (i > kernel_.first) return false;
    // Between `template <` and the kernel there is no body.
    for (std::size_t k = i; k < kernel_.first; ++k)
      if (raw(k) == ";" || raw(k) == "{" || raw(k) == "}") return false;
    return raw(i + 1) == "," || raw(i + 1) == ">" || raw(i + 1) == "=";
  }

  // Whether an expression of integers and addresses has the same value whenever this thread asks.
  [[nodiscard]] bool is_pure(std::size_t begin, std::size_t end, bool& uniform) {
    for (std::size_t p = begin; p < end; ++p) {
      const std::string_view it = word(p);
      if (is_number(p)) {
        const bool hexadecimal = it.substr(0, 2) == "0x" || it.substr(0, 2) == "0X";
        if (!hexadecimal && it.find_first_of(".eEfF") != std::string_view::npos) return false;
        continue;
      }
      if (is_name(p)) {
        if (is_place(it)) {
          if (!is(p + 1, ".") || !(is(p + 2, "x") || is(p + 2, "y") || is(p + 2, "z")))
            return false;
          if (it == "threadIdx") uniform = false;
          p += 2;
          continue;
        }
        if (integer_types().count(it) != 0 || it == "static_cast") continue;
        if (it == "min" || it == "max") {
          if (!is(p + 1, "(")) return false;
          continue;
        }
        if (const Local* one = local(it)) {
          if (!one->is_again) return false;
          uniform = uniform && one->is_uniform;
          continue;
        }
        if (loops_.count(it) != 0) continue;  // it is declared in the loop's body
        if (floats_.count(it) != 0 && scalars_.count(it) != 0) return false;
        if (scalars_.count(it) != 0 || pointers_.count(it) != 0 || is_constant(it)) continue;
        return false;
      }
      static constexpr std::string_view kMarks = "+-/%()<>?:|^~!,";
      if (it == "*" || it == "&") {
        if (!is_behind_value(p)) return false;
      } else if (it == "=") {
        // Only in ==, !=, <=, >=.
        const bool compares =
            is_two(p, "==") ||
            (p > begin && joined(p - 1) &&
             (is(p - 1, "=") || is(p - 1, "!") || is(p - 1, "<") || is(p - 1, ">")));
        if (!compares) return false;
      } else if (it.size() != 1 || kMarks.find(it[0]) == std::string_view::npos) {
        return false;
      }
      if (is_two(p, "->") || is_two(p, "++") || is_two(p, "--") || is_two(p, "::")) return false;
    }
    return true;
  }

  // Whether all threads that run a part of a loop's head do the same.
  [[nodiscard]] bool is_uniform(std::size_t begin, std::size_t end) const {
    for (std::size_t p = begin; p < end; ++p) {
      const std::string_view it = word(p);
      if (opens(p) && !is(p, "(") && !is(p, "[")) return false;
      if (!is_name(p) || is_member(p)) continue;
      if (it == "threadIdx") return false;
      if (const Local* one = local(it); one != nullptr && !(one->is_again && one->is_uniform))
        return false;
      if (is(p + 1, "(") && it != "min" && it != "max" && !is_number_type(it)) return false;
    }
    return true;
  }

  // ---- statements ----

  void compound(std::size_t open, std::size_t close) {
    std::size_t p = open + 1;
    while (p < close) {
      if (is(p, ";")) {
        ++p;
        continue;
      }
      if (is(p, "__syncthreads")) {
        require(is(p + 1, "(") && is(p + 2, ")") && is(p + 3, ";"));
        close_phase(begin_of(p));
        replace(p, p + 2, "");
        --barriers_;
        p += 4;
        continue;
      }
      const std::size_t end = behind_statement(p);
      require(end <= close);
      if (has(p, end, "__syncthreads") && is(p, "if"))
        choice(p, end);
      else if (has(p, end, "__syncthreads"))
        loop(p, end);
      else if (has(p, end, "__shared__"))
        shared(p, end);  // refuses what is no declaration
      else if (is_type(word(p)) || is(p, "const") || is(p, "constexpr"))
        declaration(p, end, close);
      else
        plain(p, end);
      p = end;
    }
    close_phase(begin_of(close));
  }

  // for (int k = 0; k < n; ++k) { ... } with barriers in it.
  void loop(std::size_t p, std::size_t end) {
    require(is(p, "for") && is(p + 1, "("));
    const std::size_t last = partner(p + 1);
    require(is(last + 1, "{") && partner(last + 1) + 1 == end);
    std::size_t name = p + 2;
    while (integer_types().count(word(name)) != 0) ++name;
    require(name > p + 2 && is_name(name) && is(name + 1, "=") && !is_two(name + 1, "=="));
    const std::string_view it = word(name);
    require(local(it) == nullptr && scalars_.count(it) == 0 && pointers_.count(it) == 0 &&
            loops_.count(it) == 0 && !is_constant(it));
    std::size_t depth = 0;
    for (std::size_t q = name + 1; !is(q, ";"); ++q) {
      require(q < last && !is(q, "{"));
      if (opens(q)) ++depth;
      if (is(q, ")") || is(q, "]")) --depth;
      require(!is(q, ",") || depth > 0);
    }
    close_phase(begin_of(p));
    require(is_uniform(name + 1, last));
    // Only the loop changes its variable.
    require(!is_changed(it, last, end));
    loops_.insert(it);
    compound(last + 1, end - 1);
    loops_.erase(it);
  }

  // if (blockDim.x >= 512) { ... } with barriers in it.
  void choice(std::size_t p, std::size_t end) {
    std::size_t open = p + 1;
    if (is(open, "constexpr")) ++open;
    const std::size_t last = partner(open);
    require(is_uniform(open + 1, last));
    for (std::size_t q = open + 1; q < last; ++q) {
      const bool compares =
          is_two(q, "==") ||
          (joined(q - 1) && (is(q - 1, "=") || is(q - 1, "!") || is(q - 1, "<") || is(q - 1, ">")));
      require(!is(q, ";") && (!is(q, "=") || compares));
    }
    close_phase(begin_of(p));
    std::size_t begin = last + 1;
    while (true) {
      if (is(begin, "if") && begin > last + 1) return choice(begin, end);
      require(is(begin, "{"));
      const std::size_t stop = partner(begin);
      compound(begin, stop);
      if (!is(stop + 1, "else") || stop + 1 >= end) {
        require(stop + 1 == end);
        return;
      }
      begin = stop + 2;
    }
  }

  void shared(std::size_t p, std::size_t end) {
    // It has to be known in all phases; what it splits are declarations.
    require(only_declared_ && !has(p, end, "{") && !has(p, end, "("));
    require(is(p, "__shared__") || is(p, "extern") || is(p, "static") || is(p, "const") ||
            is_type(word(p)));
    close_phase(begin_of(p));
    for (std::size_t q = p; q < end; ++q)
      if (const Local* one = is_name(q) && !is_member(q) ? local(word(q)) : nullptr)
        require(one->is_uniform);
  }

  void plain(std::size_t p, std::size_t end) {
    const bool is_loop = is(p, "for") || is(p, "while") || is(p, "do");
    require(is_loop || !(has(p, end, "break") || has(p, end, "continue")));
    for (std::size_t q = p; q < end; ++q) {
      if (!is(q, "return")) continue;
      require(is(q + 1, ";"));
      open_phase(p);
      // A thread that leaves before a barrier is not there in the phases behind it.
      const bool early = p < early_end_;
      replace(q, q,
              fmt::format("{}goto torchport_next_{}",
                          early ? "{ torchport_gone[torchport_t] = true; --torchport_left; " : "",
                          phase_begin_));
      if (early) replace(q + 1, q + 1, "; }");
      returns_ = true;
      early_ = early_ || early;
    }
    static const Words kStatements{"if", "for", "while", "do", "switch", "return", "static_assert"};
    if (is_name(p) && kStatements.count(word(p)) == 0) {
      // Not a declaration: of a type that is not known here, nothing could be kept.
      const std::size_t q = p + 1;
      const bool changes = is(q, "=") || is_two(q, "++") || is_two(q, "--") ||
                           (joined(q) && is(q + 1, "=")) ||
                           ((is_two(q, "<<") || is_two(q, ">>")) && is(q + 2, "="));
      require(changes || is(q, "[") || is(q, ".") || is_two(q, "->") || is(q, "("));
    } else if (!is_name(p)) {
      require(is(p, "*") || is(p, "(") || is_two(p, "++") || is_two(p, "--") || is(p, "{"));
    }
    open_phase(p);
    only_declared_ = false;
  }

  // ---- declarations ----

  struct Type {
    std::string name;  // without const
    bool is_const = false;
    bool is_constexpr = false;
    bool is_integer = true;
    bool is_class = false;  // or may be one
    std::size_t bytes = 4;  // at most
  };
  // The type that begins at q, which is behind it then.
  [[nodiscard]] Type type_at(std::size_t& q) const {
    Type type;
    for (; is_type(word(q)) || is(q, "const") || is(q, "constexpr"); ++q) {
      const std::string_view it = word(q);
      type.is_const = type.is_const || it == "const";
      type.is_constexpr = type.is_constexpr || it == "constexpr";
      if (it == "const" || it == "constexpr") continue;
      type.is_integer = type.is_integer && integer_types().count(it) != 0;
      type.is_class = type.is_class || types_.count(it) != 0;
      if (!type.name.empty()) type.name += ' ';
      type.name += it;
      if (it != "int" && it != "float" && it != "bool" && it != "char") type.bytes = 8;
    }
    if (type.is_class) type.bytes = 16;
    require(!type.name.empty());
    return type;
  }

  // What declarations leave of their statement: before the phases, and in their own.
  struct Left {
    std::string outside;
    std::string inside;
    bool keeps = false;
  };

  void declaration(std::size_t p, std::size_t end, std::size_t scope_end) {
    std::size_t q = p;
    const Type type = type_at(q);
    Left left;
    while (true) {
      q = declarator(type, q, end, scope_end, left);
      if (is(q, ";")) break;
      ++q;
    }
    require(q + 1 == end);
    if (left.keeps) open_phase(p);
    if (is_open_) before_ += std::exchange(left.outside, {});
    replace(p, end - 1, left.outside + left.inside);
  }

  // One variable: [*] name [extents] [= value]. Returns where the next one begins.
  std::size_t declarator(const Type& type, std::size_t q, std::size_t end, std::size_t scope_end,
                         Left& left) {
    std::string stars;
    for (; is(q, "*") || is(q, "__restrict__") || is(q, "__restrict"); ++q)
      if (is(q, "*")) stars += '*';
    require(is_name(q) && !is(q, "const") && !is_member(q));
    const std::size_t name = q++;
    std::string extents;
    std::size_t elements = 1;
    for (; is(q, "["); q += 3) {
      require(is_number(q + 1) && is(q + 2, "]"));
      const std::string extent(word(q + 1));
      require(extent.size() < 5 && extent.find_first_not_of("0123456789") == std::string::npos);
      elements *= std::stoul(extent);
      extents += fmt::format("[{}]", extent);
    }
    std::size_t stop = q;
    while (!is(stop, ",") && !is(stop, ";")) {
      require(stop < end && !is(stop, "{"));
      stop = opens(stop) ? partner(stop) + 1 : stop + 1;
    }
    const bool has_value = is(q, "=");
    require((has_value || stop == q) && (extents.empty() || !has_value));
    check_name(word(name), name, scope_end);
    const std::string value = has_value ? joined_text(q + 1, stop) : "";
    bool uniform = true;
    const bool is_again = has_value && (type.is_integer || !stars.empty()) &&
                          !is_changed(word(name), stop, scope_end) && is_pure(q + 1, stop, uniform);
    Local one{word(name), at_[name], is_again, uniform && is_again, {}};
    if (is_again) {
      const bool adds_const = !stars.empty() || !(type.is_const || type.is_constexpr);
      one.text = fmt::format("{}{}{} {}{} {} = {}; ", type.is_constexpr ? "constexpr " : "",
                             type.is_const && !type.is_constexpr ? "const " : "", type.name, stars,
                             adds_const ? "const" : "", word(name), value);
      if (uniform) left.outside += one.text;
    } else {
      // A constant may have to be one for the compiler; a value from memory is none.
      require(!type.is_constexpr);
      require(!type.is_const || !stars.empty() || (has_value && loads(q + 1, stop)));
      kept_bytes_ += kMostThreads * elements * (stars.empty() ? type.bytes : sizeof(void*));
      one.text = fmt::format("auto& {} = torchport_{}[torchport_t]; ", word(name), at_[name]);
      keep(type, stars, extents, at_[name]);
      if (type.is_class && stars.empty())
        left.inside += fmt::format("{} = {}({}); ", word(name), type.name, value);
      else if (has_value)
        left.inside += fmt::format("{} = {}; ", word(name), value);
      left.keeps = true;
    }
    locals_.push_back(std::move(one));
    return stop;
  }

  // The array of a variable of all threads.
  void keep(const Type& type, const std::string& stars, const std::string& extents,
            std::size_t number) {
    if (type.is_class && stars.empty()) {
      require(extents.empty());
      new_arrays_ += fmt::format("::torchport::cuda::KeptOf<{}, {}> torchport_{}; ", type.name,
                                 kMostThreads, number);
      return;
    }
    new_arrays_ +=
        fmt::format("{}{} {} torchport_{}[{}]{}; ", type.is_const && !stars.empty() ? "const " : "",
                    type.name, stars, number, kMostThreads, extents);
  }

  // Whether a value comes from where a parameter points to.
  [[nodiscard]] bool loads(std::size_t begin, std::size_t end) const {
    for (std::size_t p = begin; p < end; ++p)
      if (pointers_.count(word(p)) != 0 && is(p + 1, "[")) return true;
    return false;
  }

  // One variable has this name where it is known, and none elsewhere in the kernel.
  void check_name(std::string_view name, std::size_t declared, std::size_t scope_end) const {
    require(!is_place(name) && local(name) == nullptr && scalars_.count(name) == 0 &&
            pointers_.count(name) == 0 && loops_.count(name) == 0);
    for (std::size_t p = 0; p < at_.size(); ++p)
      if (is_name(p) && is(p, name) && !is_member(p)) require(p >= declared && p < scope_end);
  }

  // ---- phases ----

  void open_phase(std::size_t p) {
    if (is_open_) return;
    is_open_ = true;
    phase_begin_ = begin_of(p);
    phase_token_ = p;
  }

  void close_phase(std::size_t at) {
    only_declared_ = true;
    if (!is_open_) return;
    is_open_ = false;
    std::size_t last = phase_token_;
    while (last < at_.size() && begin_of(last) < at) ++last;
    // What the phase uses, and what that uses.
    std::string mine;
    Words used;
    for (std::size_t p = phase_token_; p < last; ++p)
      if (is_name(p) && !is_member(p)) used.insert(word(p));
    for (auto one = locals_.rbegin(); one != locals_.rend(); ++one) {
      if (one->is_uniform || used.count(one->name) == 0) continue;
      mine.insert(0, one->text);
      if (!one->is_again) continue;
      for (std::size_t p = 0; p < at_.size(); ++p) {
        if (at_[p] != one->begin) continue;
        for (std::size_t q = p; !is(q, ";"); ++q)
          if (is_name(q) && !is_member(q)) used.insert(word(q));
      }
    }
    insert(phase_begin_,
           fmt::format(
               "{}{}for (unsigned torchport_z = 0; torchport_z < blockDim.z; ++torchport_z) "
               "for (unsigned torchport_y = 0; torchport_y < blockDim.y; ++torchport_y) {{ "
               "torchport_walk->z = torchport_z; torchport_walk->y = torchport_y; "
               "const ::std::size_t torchport_row = "
               "(::std::size_t{{torchport_z}} * blockDim.y + torchport_y) * blockDim.x; "
               "for (unsigned torchport_x = 0; torchport_x < blockDim.x; ++torchport_x) {{ "
               "torchport_walk->x = torchport_x; const ::std::size_t torchport_t [[maybe_unused]] "
               "= torchport_row + torchport_x; const ::uint3 threadIdx [[maybe_unused]]"
               "{{torchport_x, torchport_y, torchport_z}}; {}{}{{ ",
               before_, new_arrays_,
               may_leave_ ? "if (torchport_gone[torchport_t]) continue; " : "", mine));
    insert(at, fmt::format("}}{} }}}} {}",
                           returns_ ? fmt::format(" torchport_next_{}: ;", phase_begin_) : "",
                           // What all threads do alike behind it, none of them does.
                           early_ ? "if (torchport_left == 0) return; " : ""));
    early_ = false;
    before_.clear();
    new_arrays_.clear();
    returns_ = false;
  }

  const Scopes& scopes_;
  KernelTokens kernel_;
  const IsOfUser& is_of_user_;
  std::vector<PhaseEdit> edits_;
  Words types_;                        // parameters of the template
  Words pointers_, scalars_, floats_;  // parameters; floats_: those that are not of integers
  Words loops_;                        // variables of the loops around
  Words constants_, unknown_;
  Words functions_;  // that are called
  std::vector<Local> locals_;
  std::size_t kept_bytes_ = 0;
  std::size_t last_barrier_ = 0;
  std::size_t early_end_ = 0;  // behind the statement with the last barrier
  bool may_leave_ = false;     // threads return before it
  std::size_t barriers_ = 0;   // that no statement was found for yet
  // The phase that is open: where it begins, and what has to stand before it.
  bool is_open_ = false;
  bool only_declared_ = true;
  bool returns_ = false;
  bool early_ = false;  // before a barrier
  std::size_t phase_begin_ = 0;
  std::size_t phase_token_ = 0;
  std::string before_;
  std::string new_arrays_;
};

}  // namespace

std::optional<std::vector<PhaseEdit>> phases_of(std::string_view text,
                                                const std::vector<Token>& tokens,
                                                const Scopes& scopes, const KernelTokens& kernel,
                                                const IsOfUser& is_of_user) {
  try {
    return Splitter(text, tokens, scopes, kernel, is_of_user).run();
  } catch (const Refused&) {
    return std::nullopt;
  }
}

}  // namespace torchport::cuda
