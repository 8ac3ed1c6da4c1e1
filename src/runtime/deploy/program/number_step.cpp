// Computes with the numbers of a program: sizes of tensors, and what follows from them. The
// functions are those of Python's operator and math modules, and of torch/__init__.py (sym_max,
// ...).
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string_view>

#include <c10/core/Scalar.h>

#include "runtime/deploy/program/body.h"

namespace torchport::deploy {

namespace {

using c10::IValue;
using Numbers = std::vector<IValue>;
using Integer = std::int64_t;

bool are_integers(const Numbers& of) {
  for (const IValue& one : of) {
    if (!one.isInt() && !one.isBool()) return false;
  }
  return true;
}

Integer integer(const IValue& value) {
  return value.toScalar().toLong();
}

double real_number(const IValue& value) {
  return value.toScalar().toDouble();
}

[[noreturn]] void overflow() {
  throw std::runtime_error("a number beyond 64 bits");
}

template <bool (*kExact)(Integer, Integer, Integer*), double (*kInexact)(double, double)>
IValue arithmetic(const Numbers& of) {
  if (!are_integers(of)) return kInexact(real_number(of[0]), real_number(of[1]));
  Integer result = 0;
  if (kExact(integer(of[0]), integer(of[1]), &result)) overflow();
  return result;
}

bool add_exactly(Integer a, Integer b, Integer* sum) {
  return __builtin_add_overflow(a, b, sum);
}
bool subtract_exactly(Integer a, Integer b, Integer* difference) {
  return __builtin_sub_overflow(a, b, difference);
}
bool multiply_exactly(Integer a, Integer b, Integer* product) {
  return __builtin_mul_overflow(a, b, product);
}
void check_divisor(Integer a, Integer b) {
  if (b == 0) throw std::runtime_error("a division by zero");
  if (b == -1 && a == std::numeric_limits<Integer>::min()) overflow();
}
// Python rounds down, and the remainder has the sign of the divisor.
bool divide_exactly(Integer a, Integer b, Integer* quotient) {
  check_divisor(a, b);
  *quotient = a / b - static_cast<Integer>(a % b != 0 && (a < 0) != (b < 0));
  return false;
}
bool remainder_exactly(Integer a, Integer b, Integer* rest) {
  check_divisor(a, b);
  const Integer plain = a % b;
  *rest = plain != 0 && (plain < 0) != (b < 0) ? plain + b : plain;
  return false;
}
bool power_exactly(Integer a, Integer b, Integer* power) {
  *power = 1;
  for (Integer i = 0; i < b; ++i) {
    if (__builtin_mul_overflow(*power, a, power)) return true;
    if (*power == 0 || a == 1) break;
    if (a == -1) {
      *power = b % 2 == 0 ? 1 : -1;
      break;
    }
  }
  return false;
}

double add_reals(double a, double b) {
  return a + b;
}
double subtract_reals(double a, double b) {
  return a - b;
}
double multiply_reals(double a, double b) {
  return a * b;
}
double divide_reals(double a, double b) {
  if (b == 0) throw std::runtime_error("a division by zero");
  return a / b;
}
// As float.__mod__ and float.__floordiv__ of CPython (Objects/floatobject.c).
double remainder_reals(double a, double b) {
  if (b == 0) throw std::runtime_error("a division by zero");
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (b < 0) != (rest < 0) ? rest + b : rest;
}
double floor_reals(double a, double b) {
  const double quotient = (a - remainder_reals(a, b)) / b;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double down = std::floor(quotient);
  return quotient - down > 0.5 ? down + 1 : down;
}
double power_reals(double a, double b) {
  if (a == 0 && b < 0) throw std::runtime_error("zero to a negative power");
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b))
    throw std::runtime_error("a negative number to a power that is not whole");
  return std::pow(a, b);
}

IValue power(const Numbers& of) {
  if (are_integers(of) && integer(of[1]) >= 0) return arithmetic<&power_exactly, &power_reals>(of);
  return power_reals(real_number(of[0]), real_number(of[1]));
}

IValue quotient(const Numbers& of) {
  return divide_reals(real_number(of[0]), real_number(of[1]));
}

template <typename Compare>
IValue comparison(const Numbers& of) {
  if (are_integers(of)) return Compare()(integer(of[0]), integer(of[1]));
  return Compare()(real_number(of[0]), real_number(of[1]));
}

// As Python's min() and max(): the first, unless the second is strictly beyond it.
template <typename Compare>
IValue chosen(const Numbers& of) {
  const IValue& one = comparison<Compare>({of[1], of[0]}).toBool() ? of[1] : of[0];
  if (are_integers(of)) return integer(one);
  return real_number(one);
}

IValue both(const Numbers& of) {
  if (of[0].isBool() && of[1].isBool()) return of[0].toBool() && of[1].toBool();
  return integer(of[0]) & integer(of[1]);
}

IValue either(const Numbers& of) {
  if (of[0].isBool() && of[1].isBool()) return of[0].toBool() || of[1].toBool();
  return integer(of[0]) | integer(of[1]);
}

Integer shift_of(const IValue& value) {
  constexpr Integer kMost = 62;
  const Integer by = integer(value);
  if (by < 0 || by > kMost) overflow();
  return by;
}

IValue shifted_left(const Numbers& of) {
  Integer result = 0;
  if (__builtin_mul_overflow(integer(of[0]), Integer{1} << shift_of(of[1]), &result)) overflow();
  return result;
}

IValue shifted_right(const Numbers& of) {
  return integer(of[0]) >> shift_of(of[1]);
}

IValue negative(const Numbers& of) {
  if (!are_integers(of)) return -real_number(of[0]);
  return arithmetic<&subtract_exactly, &subtract_reals>({Integer{0}, of[0]});
}

template <double (*kRounding)(double)>
IValue rounded(const Numbers& of) {
  if (are_integers(of)) return integer(of[0]);
  const double value = kRounding(real_number(of[0]));
  constexpr double kBound = 9223372036854775808.0;  // 2^63
  if (!(value >= -kBound && value < kBound)) overflow();
  return static_cast<Integer>(value);
}

IValue same(const Numbers& of) {
  return of[0];
}

IValue opposite(const Numbers& of) {
  return !of[0].toBool();
}

IValue as_real(const Numbers& of) {
  return real_number(of[0]);
}

IValue square_root(const Numbers& of) {
  return std::sqrt(real_number(of[0]));
}

IValue one_of_two(const Numbers& of) {
  return of[0].toBool() ? of[1] : of[2];
}

struct Function {
  std::string_view name;
  std::size_t arguments;
  IValue (*compute)(const Numbers& of);
};

constexpr std::array kFunctions{
    Function{"_operator.add", 2, &arithmetic<&add_exactly, &add_reals>},
    Function{"_operator.sub", 2, &arithmetic<&subtract_exactly, &subtract_reals>},
    Function{"_operator.mul", 2, &arithmetic<&multiply_exactly, &multiply_reals>},
    Function{"_operator.floordiv", 2, &arithmetic<&divide_exactly, &floor_reals>},
    Function{"_operator.mod", 2, &arithmetic<&remainder_exactly, &remainder_reals>},
    Function{"_operator.pow", 2, &power},
    Function{"_operator.truediv", 2, &quotient},
    Function{"_operator.neg", 1, &negative},
    Function{"_operator.pos", 1, &same},
    Function{"_operator.eq", 2, &comparison<std::equal_to<>>},
    Function{"_operator.ne", 2, &comparison<std::not_equal_to<>>},
    Function{"_operator.lt", 2, &comparison<std::less<>>},
    Function{"_operator.le", 2, &comparison<std::less_equal<>>},
    Function{"_operator.gt", 2, &comparison<std::greater<>>},
    Function{"_operator.ge", 2, &comparison<std::greater_equal<>>},
    Function{"_operator.and_", 2, &both},
    Function{"_operator.or_", 2, &either},
    Function{"_operator.lshift", 2, &shifted_left},
    Function{"_operator.rshift", 2, &shifted_right},
    Function{"math.trunc", 1, &rounded<&std::trunc>},
    Function{"math.floor", 1, &rounded<&std::floor>},
    Function{"math.ceil", 1, &rounded<&std::ceil>},
    Function{"torch.sym_int", 1, &rounded<&std::trunc>},
    Function{"torch.sym_float", 1, &as_real},
    Function{"torch.sym_not", 1, &opposite},
    Function{"torch.sym_ite", 3, &one_of_two},
    Function{"torch.sym_max", 2, &chosen<std::greater<>>},
    Function{"torch.sym_min", 2, &chosen<std::less<>>},
    Function{"torch.sym_sqrt", 1, &square_root},
    Function{"torch._sym_sqrt", 1, &square_root},
};

class NumberStep final : public Step {
 public:
  NumberStep(const Node& node, const Function& function) : node_(node), function_(function) {
    if (node.inputs.size() != function.arguments)
      throw std::runtime_error("it has " + std::to_string(node.inputs.size()) + " arguments, not " +
                               std::to_string(function.arguments));
  }

  [[nodiscard]] std::vector<IValue> run(const Values& values) const override {
    Numbers numbers;
    for (const auto& [name, operand] : node_.inputs) numbers.push_back(untyped(operand, values));
    for (const IValue& number : numbers) {
      if (!number.isScalar() && !number.isBool())
        throw std::runtime_error("it takes numbers, and got a " + number.tagKind());
    }
    return {function_.compute(numbers)};
  }

 private:
  const Node& node_;
  const Function& function_;
};

}  // namespace

std::unique_ptr<const Step> number_step(const Node& node) {
  for (const Function& function : kFunctions) {
    if (function.name == node.target) return std::make_unique<NumberStep>(node, function);
  }
  return nullptr;
}

}  // namespace torchport::deploy
