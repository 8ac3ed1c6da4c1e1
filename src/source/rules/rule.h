// Defines a rule: metadata, the node kinds that it looks at, and one matcher.
//
// A rule has a folder of its own, src/source/rules/FAMILY/NAME/. rule.cpp holds the matcher and
// registers the rule. page.md is what `torchport explain` prints, and its code blocks are the
// rule's tests. A central table of rules was rejected, because each new rule would edit it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "source/edit/device_source.h"
#include "source/edit/edit.h"
#include "source/flow/summary.h"
#include "source/semantics/semantic_model.h"

namespace torchport::rules {

using edit::Applicability;
using edit::Edit;
using edit::Fix;
using semantics::DeviceState;
using semantics::SemanticModel;
using semantics::Type;
using semantics::Value;
using syntax::Field;
using syntax::Kind;
using syntax::Node;

enum class Severity : std::uint8_t {
  kError,    // it raises without CUDA, or computes a wrong result
  kWarning,  // it ties the program to CUDA, or wastes the machine
};

struct RuleInfo {
  std::string_view code;    // "TP101"
  std::string_view name;    // "cuda-call"; reads well after "allow"
  std::string_view family;  // placement, mismatch, load, parallel, mode, export, build, kernels
  Severity severity = Severity::kError;
  std::string_view summary;  // one line, no full stop
  // Whether it stops the program on every accelerator, CUDA too, and not on the CPU. Otherwise it
  // stops the program wherever there is no CUDA.
  bool on_accelerators = false;
  // Whether the rule is not about devices, but about what the same lines need otherwise: security,
  // deprecated names. Such a rule is off unless it is selected.
  bool hygiene = false;
  // Whether the rule is about code that is right as it is, but serves CUDA only. Such a rule is off
  // unless the check is strict or it is selected.
  bool strict = false;
  // Whether a finding is dropped if the statement around it has one of another rule.
  bool gives_way = false;
  // Whether a finding is void in code that runs only if CUDA is available.
  bool void_with_cuda = false;
};

// What the whole project may say against a fix: where `when` holds, it is trusted no more than
// `to`.
struct Lowering {
  flow::Condition when;
  edit::Applicability to = edit::Applicability::kUnsafe;
  std::string title = {};  // instead of the fix's own; "" leaves it
};

struct Finding {
  const RuleInfo* rule = nullptr;
  base::Span span;
  std::string message;   // what breaks and where, one or two sentences
  std::vector<Fix> fix;  // at most one
  // The finding is void if one of these holds. Only the whole project can tell.
  std::vector<flow::Condition> unless;
  // Its fix is lowered by those that hold.
  std::vector<Lowering> lowered = {};
};

// The most findings in one file. More are of no use, and would take memory without a bound.
constexpr std::size_t kMaxFindings = 20'000;

// Collects the findings of one matcher.
class Reporter {
 public:
  Reporter(const RuleInfo& rule, std::vector<Finding>& sink) : rule_(rule), sink_(sink) {}

  Finding& report(base::Span span, std::string message) {
    Finding finding{&rule_, span, std::move(message), {}, {}, {}};
    if (sink_.size() >= kMaxFindings) return surplus_ = std::move(finding);
    return sink_.emplace_back(std::move(finding));
  }
  Finding& report(Node node, std::string message) {
    return report(node.span(), std::move(message));
  }

 private:
  const RuleInfo& rule_;
  std::vector<Finding>& sink_;
  Finding surplus_;  // receives the findings beyond kMaxFindings
};

// The kind of file that a matcher gets. Python files and notebooks are parsed; the others come as
// text.
enum class FileKind : std::uint8_t {
  kPython,
  kNotebook,
  kDockerfile,
  kRequirements,
  kCMake,
  kPyproject,
  kOther
};

// A Python file under examination.
struct PythonContext {
  std::string_view path;
  const SemanticModel& model;
  const edit::DeviceSource& devices;
  const edit::Settings& settings;
  // What the other files say. Without it, findings keep their conditions (Finding::unless).
  const flow::Summary* project = nullptr;

  [[nodiscard]] bool is_build_script() const;  // setup.py and the like
  [[nodiscard]] bool is_test() const;          // tests/, test_*.py, *_test.py, conftest.py

  // The answer of is_test(), when it was asked for.
  mutable std::optional<bool> known_test = std::nullopt;
  [[nodiscard]] bool finds_test() const;
};

// Any other file.
struct TextContext {
  std::string_view path;
  FileKind kind;
  std::string_view text;
  const base::LineIndex& lines;
  const edit::Settings& settings;
};

using PythonMatcher = void (*)(const PythonContext& context, Node node, Reporter& reporter);
using TextMatcher = void (*)(const TextContext& context, Reporter& reporter);

struct Rule {
  RuleInfo info;
  std::vector<Kind> kinds;  // the node kinds that `python` is called for; kModule: once per file
  PythonMatcher python = nullptr;
  std::vector<FileKind> file_kinds;  // the kinds of file that `text` is called for
  TextMatcher text = nullptr;
};

// Registers a rule. Put one at namespace scope in rule.cpp:
//   const Registration kRegistered{{.info = {...}, .kinds = {Kind::kCall}, .python = &check}};
struct Registration {
  explicit Registration(Rule rule);
};

}  // namespace torchport::rules
