// Answers where a rewritten line gets its device from.
//
// Maintainers accept a device that is already in scope: a local or module-level `device`,
// `self.device`, `args.device`, `accelerator.device`, the device of a tensor argument, the file's
// own helper. They reject a new definition in each function. So only if nothing is in scope, the
// module gets one variable, and all fixes use it. Every rule asks this one class, so that the fixes
// of one file agree.
//
// A DeviceSource belongs to one thread, like the model that it reads.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "devices/device_kind.h"
#include "source/edit/edit.h"
#include "source/edit/settings.h"
#include "source/edit/torch_import.h"
#include "source/semantics/semantic_model.h"

namespace torchport::edit {

// The kinds that classic code asks for one after the other, where torch.accelerator does not exist
// yet, as far as this torch has the question.
[[nodiscard]] std::vector<const devices::DeviceKind*> classic_chain(TorchVersion min_torch);

// Whether a text asks which accelerator there is.
[[nodiscard]] bool asks_for_accelerator(std::string_view text);

// The names of functions that return a program's device.
inline constexpr std::array<std::string_view, 5> kDeviceHelpers{
    "get_device", "select_device", "default_device", "get_default_device", "pick_device"};

struct DeviceRef {
  std::string text;  // the expression to write
  // Whether it is the module's device variable, which a fix inserts by Needs::module_device.
  bool module_device = false;
  // Whether it is provably the accelerator, if there is one, so that a fix with it may be safe.
  bool certain = false;
  bool object = false;  // provably a torch.device, and no string
};

class DeviceSource {
 public:
  DeviceSource(const semantics::SemanticModel& model, const Settings& settings);

  // The device for code at this node.
  [[nodiscard]] DeviceRef at(syntax::Node node) const;
  // The device that is in scope at this node; its text is empty if there is none.
  [[nodiscard]] DeviceRef in_scope(syntax::Node node) const;

  // Whether the module can have a device variable: not if it does without torch on import.
  [[nodiscard]] bool can_have_variable() const;

  // An expression in one line that chooses the device. With `as_string` its value is "cuda" or the
  // like, otherwise a torch.device.
  [[nodiscard]] std::string inline_expression(bool as_string) const;
  // The same for code that is to take any accelerator, whatever the rest of the program knows.
  [[nodiscard]] std::string any_accelerator(bool as_string) const;
  // The kinds of accelerators that inserted code asks for, one after the other. Only CUDA, if the
  // rest of the program leaves on the CPU what is not on CUDA.
  [[nodiscard]] std::vector<const devices::DeviceKind*> chain() const;
  // Whether it takes any accelerator instead, by torch.accelerator.
  [[nodiscard]] bool uses_accelerator() const;
  // Whether inserted code may choose a device of this kind.
  [[nodiscard]] bool may_be(std::string_view kind) const;
  // The name under which the file knows torch ("torch", "th").
  [[nodiscard]] const std::string& torch_name() const { return torch_.name; }
  // Whether code at this node may use torch, although the module does not import it.
  [[nodiscard]] bool has_torch_of_its_own(syntax::Node node) const;
  // The name of the module's device variable ("DEVICE", or another when that is taken).
  [[nodiscard]] const std::string& variable() const { return variable_; }

  // Whether the module has this import already.
  [[nodiscard]] bool has_import(std::string_view statement) const;
  // Where the lines of edits_for() go: after the imports at the top of the file, and after that of
  // torch, wherever the module has it.
  [[nodiscard]] std::uint32_t insertion_point() const { return place_.end; }
  // Whether the module has a device variable, by a fix or of its own.
  [[nodiscard]] bool has_variable() const { return variable_defined_; }
  // Whether the module imports its device variable from another module of its package, now or with
  // the edits of edits_for().
  [[nodiscard]] bool shares_variable() const;
  // From where on the device variable is bound, as the module runs; without one, where it will be.
  [[nodiscard]] std::uint32_t variable_from() const;
  // The first statement that gets the device variable by these fixes, if all of them are below `if
  // __name__ == "__main__":`, since a trial needs no variable of the whole module, or all in one
  // function behind its line that sets CUDA_VISIBLE_DEVICES. Otherwise invalid.
  [[nodiscard]] syntax::Node trial_of(const std::vector<const Fix*>& fixes) const;
  // The edits that fulfil `needs`: imports at the end of the import block, then the device
  // variable, or that before the first statement of a trial. What the file already has is not added
  // again.
  [[nodiscard]] std::vector<Edit> edits_for(const Needs& needs, syntax::Node trial = {}) const;

 private:
  void find_variable();
  [[nodiscard]] std::string choice(bool as_string, bool by_accelerator,
                                   const std::vector<const devices::DeviceKind*>& asked) const;
  [[nodiscard]] syntax::Node statement_behind_choice(syntax::Node node) const;
  [[nodiscard]] DeviceRef local(syntax::Node node) const;
  [[nodiscard]] DeviceRef of_self(syntax::Node node) const;
  [[nodiscard]] DeviceRef of_tensor_parameter(syntax::Node node) const;
  [[nodiscard]] DeviceRef of_arguments(syntax::Node node) const;
  [[nodiscard]] DeviceRef of_helper(syntax::Node node) const;
  [[nodiscard]] std::uint32_t torch_import_point() const;
  [[nodiscard]] bool uses_helper() const;
  [[nodiscard]] bool is_import_of_shared(const semantics::Binding& binding) const;
  [[nodiscard]] bool is_shared(const semantics::Binding& binding) const;  // the variable itself
  [[nodiscard]] bool has_import_of_shared() const;
  [[nodiscard]] std::string shared_import() const;
  [[nodiscard]] std::optional<std::uint32_t> shared_import_point() const;
  [[nodiscard]] const std::vector<const semantics::Binding*>& device_bindings(
      syntax::Node scope) const;
  [[nodiscard]] std::string definition(bool shared) const;

  const semantics::SemanticModel& model_;
  const Settings& settings_;
  TorchImport torch_;
  std::unordered_set<std::string_view> imports_;  // those that are statements of the module
  base::Span place_;                              // of the lines of edits_for(), which replace it
  std::string variable_;
  bool shares_ = false;        // the module can use settings_.shared
  bool sets_visible_ = false;  // when it is imported
  bool only_cuda_ = false;     // see chain()
  bool variable_defined_ = false;
  bool variable_imported_ = false;  // its value is what another module chose
  std::uint32_t variable_end_ = 0;
  mutable std::unordered_map<std::uint32_t, std::vector<const semantics::Binding*>>
      device_bindings_;  // by scope
  std::unordered_map<std::string_view, std::uint32_t>
      device_attributes_;  // "args.device" -> offset of its first use
};

}  // namespace torchport::edit
