#include "cuda/source/kernel_rules.h"

#include <fmt/format.h>

namespace torchport::cuda {

bool is_shuffle(std::string_view name) {
  return name == "__shfl_sync" || name == "__shfl_up_sync" || name == "__shfl_down_sync" ||
         name == "__shfl_xor_sync";
}

bool is_meeting(std::string_view name) {
  return name == "__syncthreads" || name == "__syncwarp" || is_shuffle(name);
}

void KernelRules::look_at_whole_kernel() {
  template_types();
  parameters();
  look_for_what_waits();
}

bool KernelRules::meets(std::size_t begin, std::size_t end) const {
  for (std::size_t p = begin; p < end; ++p)
    if (is_meeting(word(p))) return true;
  return false;
}

bool KernelRules::shuffles(std::size_t begin, std::size_t end) const {
  for (std::size_t p = begin; p < end; ++p)
    if (is_shuffle(word(p))) return true;
  return false;
}

// ---- what the whole kernel must be ----

// template <typename T, class U> before the kernel.
void KernelRules::template_types() {
  std::size_t i = kernel_.first;
  while (i > 0 && raw(i - 1) != ";" && raw(i - 1) != "{" && raw(i - 1) != "}") --i;
  for (; i + 2 < kernel_.first; ++i)
    if ((raw(i) == "typename" || raw(i) == "class") &&
        (raw(i + 2) == "," || raw(i + 2) == ">" || raw(i + 2) == "="))
      types_.insert(raw(i + 1));
}
bool KernelRules::is_type(std::string_view word) const {
  return is_number_type(word) || types_.count(word) != 0;
}

void KernelRules::parameters() {
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

void KernelRules::parameter(std::size_t begin, std::size_t end) {
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
void KernelRules::unchanging_members(std::string_view name) const {
  for (std::size_t p = 0; p < at_.size(); ++p)
    require(!is_name(p) || !is(p, name) || (!is(p + 1, ".") && !is(p + 1, "[")));
}

void KernelRules::look_for_what_waits() {
  for (std::size_t p = 1; p + 1 < at_.size(); ++p) {
    const std::string_view it = word(p);
    if (is_name(p)) {
      require(!is_forbidden(it) && it.substr(0, 9) != "torchport");
      if (it.substr(0, 2) == "__") {
        const bool known = never_waits(it) || it == "__shared__" || it == "__restrict__" ||
                           it == "__restrict" || is_meeting(it);
        require(known);
      }
      if (is_meeting(it)) ++meetings_;
      if (is_place(it)) require(is(p + 1, ".") && !is_member(p) && !is(p - 1, ":"));
    }
    if (it == "for" || it == "while" || it == "do") no_spinning(p);
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

// A loop that ends by what an atomic operation returns may wait for another thread of the block.
void KernelRules::no_spinning(std::size_t p) const {
  std::size_t stop = behind_statement(p);
  if (is(p, "for")) {
    const std::size_t close = partner(p + 1);
    bool is_endless = false;
    for (std::size_t q = p + 2; q + 1 < close; ++q)
      is_endless = is_endless || (is(q, ";") && is(q + 1, ";"));
    if (!is_endless) stop = close;
  }
  for (std::size_t q = p; q < stop; ++q) require(!is_atomic(q));
}

// Whether what a parenthesis follows may be there.
void KernelRules::call(std::size_t p) {
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
    require(q > 1 && is(q - 1, "<") &&
            (is(q - 2, "static_cast") || is(q - 2, "reinterpret_cast") || is(q - 2, "const_cast")));
    return;
  }
  if (!is_name(p - 1)) return;
  static const Words kKeywords{"if",     "for",    "while",         "switch",
                               "return", "sizeof", "static_assert", "constexpr"};
  if (kKeywords.count(name) != 0 || is_type(name)) return;
  require(!is_member(p - 1));
  if (is_meeting(name)) return;
  require(never_waits(name) && scalars_.count(name) == 0 && pointers_.count(name) == 0);
  if (functions_.insert(name).second) require(!is_users_function(name));
  if (p > 2 && is_two(p - 3, "::")) require(p == 3 || !is_name(p - 4) || is(p - 4, "std"));
  require(!(p > 1 && is_name(p - 2) && !is(p - 2, "return") && !is(p - 2, "else") &&
            !is(p - 2, "do")));  // T min(x)
}

// Whether the program has a function of this name for devices, which may do anything.
bool KernelRules::is_users_function(std::string_view name) const {
  for (std::size_t i = 1; i + 1 < tokens_.size(); ++i) {
    if (tokens_[i].kind != TokenKind::kName || raw(i) != name || raw(i + 1) != "(") continue;
    if (i > kernel_.body && i < kernel_.end) continue;
    if (!scopes_.is_namespace(i)) {
      if (is_of_user_(i) && is_friend(i)) return true;
      continue;
    }
    const Declaration declared = scopes_.declaration(i);
    if (declared.is_function && scopes_.has(declared, "__device__") && is_of_user_(i)) return true;
  }
  return false;
}

// Whether a class declares the function that it names as a friend.
bool KernelRules::is_friend(std::size_t i) const {
  while (i > 0 && raw(i - 1) != ";" && raw(i - 1) != "{" && raw(i - 1) != "}")
    if (raw(--i) == "friend") return true;
  return false;
}

// References may rename what a thread has.
void KernelRules::reference(std::size_t p) const {
  const bool behind_type =
      p > 0 && (is_type(word(p - 1)) || is(p - 1, "auto") || is(p - 1, "const") || is(p - 1, ">"));
  require(!behind_type);
  if (is_two(p, "&&") || (p > 0 && is_two(p - 1, "&&")) || is_two(p, "&=")) return;
  if (!is_name(p + 1)) return;
  const bool is_assigned = is(p + 2, "=") && !is_two(p + 2, "==");
  require(!(is_behind_value(p) && (is_assigned || is(p + 2, ":") || is(p + 2, "{"))));
}
// ---- expressions ----

const KernelRules::Local* KernelRules::local(std::string_view name) const {
  for (const Local& one : locals_)
    if (one.name == name) return &one;
  return nullptr;
}

// A number or parameter of the template, or a constant of a namespace.
bool KernelRules::is_constant(std::string_view name) {
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

bool KernelRules::is_template_parameter(std::size_t i) const {
  if (i > kernel_.first) return false;
  // Between `template <` and the kernel there is no body.
  for (std::size_t k = i; k < kernel_.first; ++k)
    if (raw(k) == ";" || raw(k) == "{" || raw(k) == "}") return false;
  return raw(i + 1) == "," || raw(i + 1) == ">" || raw(i + 1) == "=";
}

// Whether an expression of integers and addresses has the same value whenever this thread asks.
bool KernelRules::is_pure(std::size_t begin, std::size_t end, bool& uniform) {
  for (std::size_t p = begin; p < end; ++p) {
    const std::string_view it = word(p);
    if (is_number(p)) {
      const bool hexadecimal = it.substr(0, 2) == "0x" || it.substr(0, 2) == "0X";
      if (!hexadecimal && it.find_first_of(".eEfF") != std::string_view::npos) return false;
      continue;
    }
    if (is_name(p)) {
      if (is_place(it)) {
        if (!is(p + 1, ".") || !(is(p + 2, "x") || is(p + 2, "y") || is(p + 2, "z"))) return false;
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
      if (!compares(p)) return false;
    } else if (it.size() != 1 || kMarks.find(it[0]) == std::string_view::npos) {
      return false;
    }
    if (is_two(p, "->") || is_two(p, "++") || is_two(p, "--") || is_two(p, "::")) return false;
  }
  return true;
}

// Whether all threads that run a part of a loop's head do the same.
bool KernelRules::is_uniform(std::size_t begin, std::size_t end) const {
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

bool KernelRules::may_run_in_vain(std::size_t begin, std::size_t end) const {
  for (std::size_t p = begin; p < end; ++p) {
    const bool reaches = is(p, "[") || is(p, ".") || is_two(p, "->");
    if (reaches && !(p > begin && is_place(word(p - 1)))) return false;
    // By a number that is not zero.
    if ((is(p, "/") || is(p, "%")) && !is_number(is(p + 1, "=") ? p + 2 : p + 1)) return false;
    if (is(p, "*") && !is_behind_value(p)) return false;
  }
  return true;
}

bool KernelRules::is_thread_x(std::size_t begin, std::size_t end) const {
  return end == begin + 3 && is(begin, "threadIdx") && is(begin + 1, ".") && is(begin + 2, "x");
}

std::string KernelRules::most_in_row(std::size_t open, std::size_t close) {
  std::size_t p = open + 1;
  std::string type;
  if (is_thread_x(p, p + 3)) {
    type = "unsigned";
    p += 3;
  } else if (const Local* one = is_name(p) ? local(word(p)) : nullptr) {
    const bool fits = one->type == "int" || one->type == "unsigned" || one->type == "unsigned int";
    if (!one->is_thread_x || !fits) return "";
    type = one->type;
    ++p;
  }
  const bool is_equal = is_two(p, "==");
  const std::size_t begin = p + (is_equal ? 2 : 1);
  std::size_t end = begin;
  while (end < close && word(end).find_first_of("&|^?=<>!,") == std::string_view::npos)
    end = opens(end) ? partner(end) + 1 : end + 1;
  if (type.empty() || end == begin || !(end == close || is_two(end, "&&"))) return "";
  if (is_equal) return is(begin, "0") && end == begin + 1 ? "1U" : "";
  bool uniform = true;
  if (!is(p, "<") || !is_pure(begin, end, uniform) || !uniform || !may_run_in_vain(begin, end))
    return "";
  return fmt::format("::torchport::cuda::threads_below<{}>(blockDim.x, {})", type,
                     joined_text(begin, end));
}

}  // namespace torchport::cuda
