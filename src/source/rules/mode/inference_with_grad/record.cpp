#include "source/rules/mode/inference_with_grad/record.h"

#include <algorithm>
#include <array>
#include <vector>

#include "source/rules/tensors.h"

namespace torchport::rules {

namespace {

constexpr std::size_t kMaxNames = 8;  // that the value is followed through

enum class Use : std::uint8_t {
  kEnds,  // the record ends here
  kOn,    // what is around it has the record, too
  kKept,  // the record is kept, or nothing is known
};

// What becomes of the record in an attribute of the value, or in a method of it.
Use of_attribute(Node attribute) {
  static constexpr std::array<std::string_view, 10> kEnds{
      "data", "detach", "item", "argmax", "argmin", "argsort", "shape", "size", "dtype", "device"};
  static constexpr std::array<std::string_view, 26> kOn{
      "mean",    "sum",     "pow",       "abs",     "sqrt",       "exp",     "log",
      "softmax", "sigmoid", "squeeze",   "view",    "reshape",    "flatten", "cpu",
      "to",      "float",   "unsqueeze", "permute", "contiguous", "clone",   "half",
      "double",  "T",       "transpose", "norm",    "clamp"};
  const std::string_view name = attribute.child(Field::kAttributeName).text();
  if (base::one_of(kEnds, name)) return Use::kEnds;
  const bool field = attribute.field() != Field::kFunctionPart;  // of what the model returns
  return field || base::one_of(kOn, name) ? Use::kOn : Use::kKept;
}

// What becomes of the record in a call that gets the value.
Use of_call(const SemanticModel& model, Node call) {
  static constexpr std::array<std::string_view, 6> kTexts{"print", "float", "int",
                                                          "str",   "len",   "repr"};
  static constexpr std::array<std::string_view, 4> kMethods{"format", "info", "debug", "warning"};
  static constexpr std::array<std::string_view, 6> kOn{
      "torch.softmax", "torch.sigmoid", "torch.mean", "torch.squeeze", "torch.abs", "torch.sum"};
  const Node callee = syntax::callee(call);
  if (callee.is(Kind::kIdentifier) && base::one_of(kTexts, callee.text())) return Use::kEnds;
  if (callee.is(Kind::kAttribute) &&
      base::one_of(kMethods, callee.child(Field::kAttributeName).text()))
    return Use::kEnds;
  const std::string& name = model.called(call);
  if (name == "torch.argmax" || name == "torch.argmin") return Use::kEnds;
  return base::one_of(kOn, std::string_view(name)) ? Use::kOn : Use::kKept;
}

// Follows the value through local names, each binding of them once.
class Follower {
 public:
  explicit Follower(const SemanticModel& model) : model_(model) {}

  [[nodiscard]] bool gives_up(Node value) {
    for (Node node = value; node.parent(); node = node.parent()) {
      const Node parent = node.parent();
      if (parent.is_any(Kind::kComparison, Kind::kInterpolation, Kind::kExpressionStatement))
        return true;
      if (parent.is(Kind::kAssignment)) {
        return node.field() == Field::kRight && parent.parent().is(Kind::kExpressionStatement) &&
               name_gives_up(parent.child(Field::kLeft));
      }
      const Use use = use_in(parent, node);
      if (use != Use::kOn) return use == Use::kEnds;
    }
    return false;
  }

 private:
  [[nodiscard]] Use use_in(Node parent, Node node) const {
    switch (parent.kind()) {
      case Kind::kParenthesized:
      case Kind::kBinaryOperator:
      case Kind::kUnaryOperator:
        return Use::kOn;
      case Kind::kConditional:
        return parent.first_child().next_sibling() == node ? Use::kEnds : Use::kOn;
      case Kind::kSubscript:
        return parent.first_child() == node ? Use::kOn : Use::kKept;
      case Kind::kAttribute:
        return of_attribute(parent);
      case Kind::kCall:  // of a method, which was looked at
        return node.is(Kind::kAttribute) ? Use::kOn : Use::kKept;
      case Kind::kArgumentList:
        return of_call(model_, parent.parent());
      default:
        return Use::kKept;
    }
  }

  [[nodiscard]] bool name_gives_up(Node target) {
    if (target.is_any(Kind::kPatternList, Kind::kTuplePattern)) {
      const auto parts = target.children();
      return std::all_of(parts.begin(), parts.end(),
                         [&](Node part) { return name_gives_up(part); });
    }
    if (!target.is(Kind::kIdentifier)) return false;
    if (std::find(targets_.begin(), targets_.end(), target) != targets_.end()) return true;
    if (targets_.size() == kMaxNames) return false;
    targets_.push_back(target);
    const auto reads = reads_of(model_, target);
    return std::all_of(reads.begin(), reads.end(),
                       [&](Node read) { return !reaches(target, read) || gives_up(read); });
  }

  // Whether a read may see what was bound here, and not only what was bound to the name later.
  [[nodiscard]] bool reaches(Node target, Node read) const {
    const auto bindings = model_.scopes().reaching(read.text(), read);
    return std::any_of(bindings.begin(), bindings.end(), [&](const semantics::Binding* binding) {
      return binding->target == target;
    });
  }

  const SemanticModel& model_;
  std::vector<Node> targets_;
};

}  // namespace

bool gives_up_record(const SemanticModel& model, Node value) {
  return Follower(model).gives_up(value);
}

}  // namespace torchport::rules
