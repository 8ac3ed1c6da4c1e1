#include "source/rules/mode_neutral.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "source/rules/edits.h"

namespace torchport::rules {

namespace {

using semantics::ClassFacts;
using semantics::SemanticModel;
using syntax::Kind;
using syntax::Node;

constexpr std::size_t kMostClasses = 32;

// Whether a name of torch.nn depends on the mode by itself, or may by its arguments.
bool depends_on_mode(std::string_view name) {
  const std::string text = base::lower(name);
  for (const std::string_view word :
       {"dropout", "batchnorm", "batch_norm", "instancenorm", "instance_norm", "rrelu",
        "transformer", "attention", "fractional"}) {
    if (text.find(word) != std::string::npos) return true;
  }
  return false;
}

class NeutralCheck {
 public:
  explicit NeutralCheck(const SemanticModel& model) : model_(model) {}

  bool creates_neutral(Node call) {
    const std::string& name = model_.called(call);
    if (name.starts_with("torch.nn."))
      return is_neutral_layer(call) && are_neutral(model_.nodes(Kind::kCall, call), call);
    const ClassFacts* facts =
        object_of(call) ? nullptr : model_.class_named(syntax::callee(call).text());
    return facts != nullptr && facts->is_module && is_neutral_class(*facts) &&
           are_neutral(model_.nodes(Kind::kCall, call), call);
  }

 private:
  bool is_neutral_layer(Node call) const {
    return !depends_on_mode(model_.called(call)) && !syntax::keyword(call, "dropout") &&
           !syntax::has_splat(call);
  }

  // Whether all calls but one are of neutral layers and classes, or of plain functions and methods.
  bool are_neutral(semantics::Nodes calls, Node but = {}) {
    return std::all_of(calls.begin(), calls.end(), [&](Node call) {
      if (but && call == but) return true;
      const std::string& name = model_.called(call);
      if (name.starts_with("torch.")) return is_neutral_layer(call);
      const std::string_view last = method_name(call);
      const bool is_class =
          !last.empty() && std::isupper(static_cast<unsigned char>(last.front())) != 0;
      const ClassFacts* facts = object_of(call) ? nullptr : model_.class_named(last);
      return facts != nullptr ? is_neutral_class(*facts) : name.empty() && !is_class;
    });
  }

  bool is_neutral_class(const ClassFacts& facts) {
    if (std::find(seen_.begin(), seen_.end(), &facts) != seen_.end()) return true;
    if (seen_.size() >= kMostClasses) return false;
    seen_.push_back(&facts);
    if (!model_.named("training", facts.node).empty()) return false;
    for (const std::string& base : facts.bases) {
      const ClassFacts* parent = model_.class_named(base);
      const bool known = parent != nullptr
                             ? is_neutral_class(*parent)
                             : base.starts_with("torch.nn.") && !depends_on_mode(base);
      if (!known) return false;
    }
    return are_neutral(model_.nodes(Kind::kCall, facts.node));
  }

  const SemanticModel& model_;
  std::vector<const ClassFacts*> seen_;
};

}  // namespace

bool is_mode_neutral(const SemanticModel& model, Node call) {
  return call.is(Kind::kCall) && NeutralCheck(model).creates_neutral(call);
}

}  // namespace torchport::rules
