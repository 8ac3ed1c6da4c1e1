#include "cuda/source/kernel_body.h"

namespace torchport::cuda {

const Words& integer_types() {
  static const Words kNames{"bool",    "char",     "short",    "int",      "long",    "unsigned",
                            "signed",  "size_t",   "int8_t",   "int16_t",  "int32_t", "int64_t",
                            "uint8_t", "uint16_t", "uint32_t", "uint64_t", "ssize_t", "ptrdiff_t"};
  return kNames;
}

bool is_number_type(std::string_view word) {
  return word == "float" || word == "double" || integer_types().count(word) != 0;
}

bool never_waits(std::string_view name) {
  // With a space behind each.
  static constexpr std::string_view kNames =
      "min max abs fabs fabsf fminf fmaxf fmin fmax sqrt sqrtf rsqrt rsqrtf exp expf "
      "exp2f exp2 log logf log2f log2 log10f log1pf expm1f sin sinf cos cosf tan tanf "
      "tanh tanhf sinh sinhf cosh coshf atan atanf atan2 atan2f asin asinf acos acosf pow "
      "powf fma fmaf floor floorf ceil ceilf round roundf rint rintf trunc truncf fmod "
      "fmodf erf erff erfc erfcf isnan isinf isfinite signbit copysign copysignf hypotf "
      "hypot __ldg __expf __logf __sinf __cosf __fdividef __frcp_rn __fsqrt_rn __fadd_rn "
      "__fmul_rn __fmaf_rn __mul24 __umul24 __popc __clz __ffs __brev __float2int_rn "
      "__int2float_rn __float_as_int __int_as_float __float_as_uint __uint_as_float "
      "atomicAdd atomicSub atomicMax atomicMin atomicAnd atomicOr atomicXor atomicInc "
      "atomicDec printf ";
  for (std::size_t at = kNames.find(name); at != std::string_view::npos;
       at = kNames.find(name, at + 1))
    if ((at == 0 || kNames[at - 1] == ' ') && kNames[at + name.size()] == ' ') return true;
  return false;
}

bool is_forbidden(std::string_view word) {
  static const Words kNames{
      "goto",     "asm",          "__asm__",   "__asm",        "class",    "struct",
      "union",    "enum",         "using",     "typedef",      "template", "operator",
      "new",      "delete",       "throw",     "try",          "catch",    "volatile",
      "decltype", "register",     "target",    "co_await",     "co_yield", "co_return",
      "this",     "thread_local", "namespace", "__volatile__", "typeof",   "__typeof__",
      "mutable",  "friend",       "alignas",   "__attribute__"};
  return kNames.count(word) != 0;
}

bool is_place(std::string_view word) {
  return word == "threadIdx" || word == "blockIdx" || word == "blockDim" || word == "gridDim";
}

KernelBody::KernelBody(std::string_view text, const std::vector<Token>& tokens, std::size_t begin,
                       std::size_t end)
    : text_(text), tokens_(tokens) {
  for (std::size_t i = begin; i <= end; ++i) {
    if (tokens[i].kind == TokenKind::kLine) {
      const std::string_view line = raw(i);
      require(line.find("pragma") == std::string_view::npos ||
              line.find("unroll") != std::string_view::npos);
    } else {
      at_.push_back(i);
    }
  }
}

std::size_t KernelBody::behind_statement(std::size_t p) const {
  require(p < at_.size());
  if (is(p, "{")) return partner(p) + 1;
  if (is(p, "if")) {
    std::size_t open = p + 1;
    if (is(open, "constexpr")) ++open;
    require(is(open, "("));
    std::size_t end = behind_statement(partner(open) + 1);
    if (is(end, "else")) end = behind_statement(end + 1);
    return end;
  }
  if (is(p, "for") || is(p, "while") || is(p, "switch")) {
    require(is(p + 1, "("));
    return behind_statement(partner(p + 1) + 1);
  }
  if (is(p, "do")) {
    const std::size_t end = behind_statement(p + 1);
    require(is(end, "while") && is(end + 1, "("));
    const std::size_t last = partner(end + 1) + 1;
    require(is(last, ";"));
    return last + 1;
  }
  require(!is(p, "case") && !is(p, "default") && !is(p, "else"));
  while (!is(p, ";")) {
    require(p + 1 < at_.size() && !is(p, "}"));
    p = opens(p) ? partner(p) + 1 : p + 1;
  }
  return p + 1;
}

bool KernelBody::may_be_cast(std::size_t close) const {
  const std::size_t open = partner(close);
  const bool is_call = open > 0 && ((is_name(open - 1) && !is(open - 1, "return")) ||
                                    is(open - 1, ")") || is(open - 1, "]") || is(open - 1, ">"));
  if (is_call && !is(open - 1, ")")) return false;
  for (std::size_t p = open + 1; p < close; ++p)
    if (!is_name(p) && !is(p, "*") && !is(p, "&") && !is(p, ":") && !is(p, "<") && !is(p, ">") &&
        !is(p, ","))
      return false;
  return true;
}

bool KernelBody::assigns(std::size_t p) const {
  if (is(p, "=")) return !is_two(p, "==");
  if (is_two(p, "++") || is_two(p, "--")) return true;
  static constexpr std::string_view kOperators = "+-*/%&|^";
  if (word(p).size() == 1 && kOperators.find(word(p)[0]) != std::string_view::npos && joined(p) &&
      is(p + 1, "="))
    return true;
  return (is_two(p, "<<") || is_two(p, ">>")) && joined(p + 1) && is(p + 2, "=");
}

// ++(x), (a ? x : y) = 1, &(x): anything in such parentheses may be what changes.
bool KernelBody::is_changed_in_parentheses(std::string_view name, std::size_t begin,
                                           std::size_t end) const {
  for (std::size_t p = begin; p < end; ++p) {
    if (!is(p, "(")) continue;
    const bool is_call = p > 0 && is_name(p - 1) && !is(p - 1, "return");
    if (is_call) continue;
    const std::size_t close = partner(p);
    const bool before =
        p > 1 && (is_two(p - 2, "++") || is_two(p - 2, "--") ||
                  (is(p - 1, "&") && !is_two(p - 2, "&&") && !is_behind_value(p - 1)));
    if (!before && !assigns(close + 1)) continue;
    for (std::size_t q = p + 1; q < close; ++q)
      if (is_name(q) && is(q, name) && !is_member(q)) return true;
  }
  return false;
}

bool KernelBody::is_changed(std::string_view name, std::size_t begin, std::size_t end) const {
  for (std::size_t p = begin; p < end; ++p) {
    if (!is(p, name) || !is_name(p) || is_member(p)) continue;
    if (assigns(p + 1)) return true;
    if (p > 1 && (is_two(p - 2, "++") || is_two(p - 2, "--"))) return true;
    const bool address =
        p > 0 && is(p - 1, "&") && !(p > 1 && is_two(p - 2, "&&")) && !is_behind_value(p - 1);
    if (address && !is(p + 1, "[")) return true;
  }
  return is_changed_in_parentheses(name, begin, end);
}

}  // namespace torchport::cuda
