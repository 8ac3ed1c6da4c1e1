#include "edit/device_source.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace torchport::edit {

namespace {

using flow::Binding;
using flow::BindingKind;
using flow::Place;
using flow::Type;
using syntax::Field;
using syntax::Kind;
using syntax::Node;

bool is_device_name(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kNames{
      "device", "dev", "DEVICE", "_device", "torch_device", "DEV", "_DEVICE", "TORCH_DEVICE"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

bool may_be_device(const flow::Value& value) {
  return value.is(Type::kUnknown) || value.is(Type::kDevice) || value.is(Type::kString);
}

// A device that was chosen by looking for an accelerator.
bool follows_accelerator(const flow::Model& model, Node value) {
  if (!value) return false;
  const std::string_view text = value.text();
  return text.find("is_available()") != std::string_view::npos ||
         text.find("current_accelerator") != std::string_view::npos ||
         model.value(value).place == Place::kCuda;
}

}  // namespace

DeviceSource::DeviceSource(const flow::Model& model, const Settings& settings)
    : model_(model), settings_(settings) {
  const Node root = model.tree().root();
  for (const Binding* binding : model.scopes().of_scope(root)) {
    if (binding->kind == BindingKind::kImport && binding->qualified == "torch") {
      torch_ = std::string(binding->name);
      torch_imported_ = true;
    }
  }
  for (const Node name : model.named("device")) {
    const Node node = name.parent();
    if (node.is(Kind::kAttribute) && name.field() == Field::kAttributeName)
      device_attributes_.try_emplace(node.text(), node.start());
  }
  for (const std::string_view name : {"DEVICE", "TORCH_DEVICE", "_TORCH_DEVICE"}) {
    variable_ = std::string(name);
    const auto bindings = model.scopes().module_level(name);
    if (bindings.size() == 1 && bindings.front()->kind == BindingKind::kAssign &&
        follows_accelerator(model, bindings.front()->value)) {
      variable_defined_ = true;
      break;
    }
    if (!model.scopes().is_bound_anywhere(name)) break;
  }
}

const std::vector<const Binding*>& DeviceSource::device_bindings(Node scope) const {
  const auto [entry, fresh] = device_bindings_.try_emplace(scope.index());
  if (fresh) {
    for (const Binding* binding : model_.scopes().of_scope(scope)) {
      if (is_device_name(binding->name)) entry->second.push_back(binding);
    }
  }
  return entry->second;
}

DeviceRef DeviceSource::local(Node node) const {
  const auto& scopes = model_.scopes();
  for (Node scope = scopes.scope_node(node);; scope = scopes.scope_node(scope)) {
    const bool own = scope == scopes.scope_node(node);
    if (!scope.is(Kind::kClass)) {
      for (const Binding* binding : device_bindings(scope)) {
        if (binding->unpacked) continue;
        if (binding->kind != BindingKind::kAssign && binding->kind != BindingKind::kParameter &&
            binding->kind != BindingKind::kImport)
          continue;
        // At module level a function may use what is defined further down; elsewhere the definition
        // comes first.
        const bool before = binding->target.end() <= syntax::statement_of(node).start() &&
                            syntax::statement_of(binding->target).parent().holds(node);
        const bool parameter = binding->kind == BindingKind::kParameter;
        const bool module_name = scope.is(Kind::kModule) && !own &&
                                 syntax::statement_of(binding->target).parent() == scope;
        if (!parameter && !before && !module_name) continue;
        if (parameter && binding->value.is_any(Kind::kNone, Kind::kInteger)) continue;
        // The name seen from here must be this binding, not a nearer one.
        const auto seen = scopes.reaching(binding->name, node);
        if (std::find(seen.begin(), seen.end(), binding) == seen.end()) continue;
        const flow::Value value =
            binding->kind == BindingKind::kAssign ? model_.value(binding->value) : flow::Value{};
        if (!may_be_device(value) || value.place == Place::kCpu ||
            (value.is(Type::kString) && value.text == "cpu"))
          continue;
        return {std::string(binding->name), false,
                seen.size() == 1 && binding->kind == BindingKind::kAssign &&
                    follows_accelerator(model_, binding->value)};
      }
    }
    if (scope.is(Kind::kModule)) return {};
  }
}

DeviceRef DeviceSource::of_self(Node node) const {
  const std::string_view self = model_.self_name(node);
  const flow::ClassFacts* facts = model_.enclosing_class(node);
  if (self.empty() || facts == nullptr) return {};
  const bool property = facts->methods.contains("device");
  bool inherited = false;
  for (const std::string& base : facts->bases) {
    inherited |= base.ends_with("LightningModule") || base.ends_with("PreTrainedModel");
  }
  for (const std::string_view name : {"device", "_device"}) {
    const auto attribute = facts->attributes.find(name);
    if (attribute == facts->attributes.end()) continue;
    const auto& first = attribute->second.front();
    const bool same_function = first.function == syntax::function_of(node);
    if (same_function && first.target.start() >= syntax::statement_of(node).start()) return {};
    if (!may_be_device(model_.value(first.value)) || model_.value(first.value).place == Place::kCpu)
      continue;
    return {fmt::format("{}.{}", self, name), false,
            attribute->second.size() == 1 && follows_accelerator(model_, first.value)};
  }
  const Node method = syntax::function_of(node);
  const bool in_init = method.child(Field::kName).text() == "__init__";
  if ((property && method.child(Field::kName).text() != "device") || (inherited && !in_init)) {
    return {fmt::format("{}.device", self), false, false};
  }
  return {};
}

namespace {

// Whether a call moves a parameter of the function itself: `x.float().cuda()`.
// Its own device, or that of the parameter beside it, is what is to be changed.
bool moves_parameter(const flow::Model& model, Node node) {
  Node root = node;
  while (root.is_any(Kind::kCall, Kind::kAttribute, Kind::kSubscript)) {
    root = root.is(Kind::kCall)        ? syntax::callee(root)
           : root.is(Kind::kAttribute) ? root.child(Field::kObject)
                                       : root.child(Field::kValue);
  }
  if (!root.is(Kind::kIdentifier)) return false;
  const auto bindings = model.scopes().reaching(root.text(), root);
  return !bindings.empty() && bindings.front()->kind == BindingKind::kParameter &&
         root.text() != model.self_name(node);
}

// How a name is used in a function: like a tensor, or like something else.
struct Usage {
  bool attribute = false;  // x.size(0), x.view(...)
  bool operand = false;    // x + 1, f(x)
  bool other = false;      // iterated, compared, x["key"]
};

Usage usage_of(const flow::Model& model, Node function, const Binding& binding) {
  Usage usage;
  for (std::uint32_t i = function.index(); i < function.subtree_end(); ++i) {
    const Node use = model.tree().at(i);
    if (!use.is(Kind::kIdentifier) || use.text() != binding.name || use == binding.target) continue;
    const Node parent = use.parent();
    if (parent.is(Kind::kAttribute) && use.field() == Field::kObject) {
      const std::string_view attribute = parent.child(Field::kAttributeName).text();
      usage.attribute |= flow::keeps_device(attribute) || attribute == "size" ||
                         attribute == "shape" || attribute == "device" || attribute == "dtype" ||
                         attribute == "dim";
    }
    usage.operand |= parent.is_any(Kind::kBinaryOperator, Kind::kArgumentList);
    usage.other |=
        (parent.is_any(Kind::kFor, Kind::kForIn) && use.field() == Field::kRight) ||
        parent.is(Kind::kComparison) ||
        (parent.is(Kind::kSubscript) && parent.child(Field::kSubscriptPart).is(Kind::kString));
  }
  return usage;
}

}  // namespace

DeviceRef DeviceSource::of_tensor_parameter(Node node) const {
  const Node function = syntax::function_of(node);
  if (!function.is(Kind::kFunction) || moves_parameter(model_, node)) return {};
  const std::string_view name = function.child(Field::kName).text();
  const flow::ClassFacts* facts = model_.enclosing_class(function);
  const bool forward =
      facts != nullptr && facts->is_module && (name == "forward" || name.starts_with("forward_"));
  bool first = true;
  for (const Binding* binding : model_.scopes().of_scope(function)) {
    if (binding->kind != BindingKind::kParameter || binding->unpacked || binding->value) continue;
    if (binding->name == "self" || binding->name == "cls") continue;
    const bool leading = std::exchange(first, false);
    const std::string& hint = model_.qualified(binding->annotation.first_child());
    const bool typed_tensor = hint == "torch.Tensor";
    if (!typed_tensor && !(forward && !binding->annotation)) continue;
    // Rebinding the name (`x = x.cuda()`) would make x.device mean something else.
    const auto seen = model_.scopes().reaching(binding->name, node);
    if (seen.size() != 1 || seen.front() != binding) continue;
    if (!typed_tensor) {
      // The input of a forward() is a tensor when it is used as one; operators and
      // calls alone tell only of the first parameter.
      const Usage usage = usage_of(model_, function, *binding);
      if (usage.other || !(usage.attribute || (leading && usage.operand))) continue;
    }
    return {fmt::format("{}.device", binding->name), false, false};
  }
  return {};
}

DeviceRef DeviceSource::of_arguments(Node node) const {
  for (const std::string_view holder : {"args", "opt", "opts", "cfg", "config", "accelerator",
                                        "self.args", "self.opt", "self.cfg"}) {
    const std::string_view root = holder.starts_with("self.") ? std::string_view("self") : holder;
    const auto bindings = model_.scopes().reaching(root, node);
    if (bindings.empty() || bindings.front()->target.start() > node.start()) {
      if (bindings.empty() || model_.scopes().scope_node(node).is(Kind::kModule)) continue;
    }
    const std::string wanted = fmt::format("{}.device", holder);
    const bool accelerator =
        holder == "accelerator" && model_.called(bindings.front()->value).ends_with("Accelerator");
    // Inside a function the order of things at module level is unknown: any use will do.
    const auto use = device_attributes_.find(wanted);
    const bool used = accelerator || (use != device_attributes_.end() &&
                                      (use->second < node.start() || syntax::function_of(node)));
    if (used) return {wanted, false, accelerator};
  }
  return {};
}

DeviceRef DeviceSource::of_helper(Node node) const {
  static constexpr std::array<std::string_view, 5> kHelpers{
      "get_device", "select_device", "default_device", "get_default_device", "pick_device"};
  for (const std::string_view name : kHelpers) {
    const auto bindings = model_.scopes().module_level(name);
    if (bindings.size() != 1 || syntax::function_of(node).child(Field::kName).text() == name)
      continue;
    const Binding& binding = *bindings.front();
    if (binding.kind == BindingKind::kImport &&
        binding.qualified.find("torch.") == std::string::npos) {
      return {fmt::format("{}()", name), false, false};
    }
    if (binding.kind != BindingKind::kFunction) continue;
    bool required = false;
    for (const Binding* parameter : model_.scopes().of_scope(binding.value)) {
      required |=
          parameter->kind == BindingKind::kParameter && !parameter->value && !parameter->unpacked;
    }
    const bool defined = binding.value.end() < node.start() || syntax::function_of(node);
    if (!required && defined)
      return {fmt::format("{}()", name), false,
              follows_accelerator(model_, binding.value.child(Field::kBody))};
  }
  return {};
}

DeviceRef DeviceSource::in_scope(Node node) const {
  for (auto find :
       {&DeviceSource::local, &DeviceSource::of_self, &DeviceSource::of_tensor_parameter,
        &DeviceSource::of_arguments, &DeviceSource::of_helper}) {
    DeviceRef found = (this->*find)(node);
    if (!found.text.empty()) return found;
  }
  return {};
}

DeviceRef DeviceSource::at(Node node) const {
  DeviceRef found = in_scope(node);
  if (!found.text.empty()) return found;
  return {variable_, !variable_defined_, true};
}

std::string DeviceSource::inline_expression(bool as_string) const {
  if (settings_.idiom == Idiom::kHelper && !settings_.helper.empty() && !as_string) {
    return fmt::format("{}()", settings_.helper.substr(settings_.helper.find(':') + 1));
  }
  if (settings_.uses_accelerator()) {
    return as_string ? fmt::format(
                           "{0}.accelerator.current_accelerator().type if "
                           "{0}.accelerator.is_available() else \"cpu\"",
                           torch_)
                     : fmt::format(
                           "{0}.accelerator.current_accelerator() if "
                           "{0}.accelerator.is_available() else {0}.device(\"cpu\")",
                           torch_);
  }
  const std::string mps =
      settings_.min_torch >= TorchVersion{1, 12}
          ? fmt::format("\"mps\" if {}.backends.mps.is_available() else ", torch_)
          : "";
  const std::string choice =
      fmt::format("\"cuda\" if {}.cuda.is_available() else {}\"cpu\"", torch_, mps);
  return as_string ? choice : fmt::format("{}.device({})", torch_, choice);
}

std::string DeviceSource::definition() const {
  if (settings_.idiom == Idiom::kHelper && !settings_.helper.empty()) {
    return fmt::format("{} = {}\n", variable_, inline_expression(false));
  }
  if (settings_.uses_accelerator()) {
    return fmt::format(
        "{0} = (\n    {1}.accelerator.current_accelerator()\n    if "
        "{1}.accelerator.is_available()\n    else {1}.device(\"cpu\")\n)\n",
        variable_, torch_);
  }
  if (settings_.min_torch < TorchVersion{1, 12})
    return fmt::format("{} = {}\n", variable_, inline_expression(false));
  return fmt::format(
      "{0} = {1}.device(\n    \"cuda\" if {1}.cuda.is_available()\n    else \"mps\" if "
      "{1}.backends.mps.is_available()\n    else \"cpu\"\n)\n",
      variable_, torch_);
}

bool DeviceSource::has_import(std::string_view statement) const {
  const Node root = model_.tree().root();
  for (Node node = root.first_child(); node; node = node.next_sibling()) {
    if (node.is_any(Kind::kImport, Kind::kImportFrom) && node.text() == statement) return true;
  }
  return statement == "import torch" && torch_imported_;
}

std::vector<Edit> DeviceSource::edits_for(const Needs& needs) const {
  std::string added;
  std::vector<std::string> imports = needs.imports;
  if (needs.module_device) imports.emplace_back("import torch");
  if (needs.module_device && settings_.idiom == Idiom::kHelper && !settings_.helper.empty()) {
    const auto colon = settings_.helper.find(':');
    imports.push_back(fmt::format("from {} import {}", settings_.helper.substr(0, colon),
                                  settings_.helper.substr(colon + 1)));
  }
  std::vector<std::string> done;
  for (const std::string& statement : imports) {
    if (has_import(statement) || std::find(done.begin(), done.end(), statement) != done.end())
      continue;
    done.push_back(statement);
    added += statement + "\n";
  }
  const std::string_view text = model_.tree().source();
  const std::uint32_t offset = end_of_imports(model_.tree());
  if (needs.module_device && !variable_defined_) {
    added += "\n" + definition();
    // Code right after the imports keeps its distance.
    const std::string_view rest = text.substr(offset);
    if (!rest.empty() && rest.front() != '\n' && rest.front() != '\r') added += "\n";
  }
  if (added.empty()) return {};
  if (offset == text.size() && !text.empty() && text.back() != '\n' && text.back() != '\r')
    added.insert(0, "\n");
  const std::string_view newline = newline_of(text);
  std::string converted;
  for (const char c : added) {
    if (c == '\n')
      converted += newline;
    else
      converted += c;
  }
  return {Edit{{offset, offset}, std::move(converted)}};
}

std::uint32_t end_of_imports(const syntax::Tree& tree) {
  const std::string& text = tree.source();
  Node last;
  bool first = true;
  for (Node statement = tree.root().first_child(); statement;
       statement = statement.next_sibling()) {
    const bool docstring = first && statement.is(Kind::kExpressionStatement) &&
                           statement.first_child().is(Kind::kString);
    first = false;
    if (docstring || statement.is_any(Kind::kImport, Kind::kImportFrom, Kind::kFutureImport)) {
      last = statement;
      continue;
    }
    if (statement.is_any(Kind::kTry, Kind::kIf)) {
      bool imports_only = true;
      for (std::uint32_t i = statement.index(); i < statement.subtree_end(); ++i) {
        const Node node = tree.at(i);
        if (node.parent().is(Kind::kBlock)) {
          imports_only &=
              node.is_any(Kind::kImport, Kind::kImportFrom, Kind::kPass, Kind::kComment,
                          Kind::kAssignment) ||
              (node.is(Kind::kExpressionStatement) && node.first_child().is(Kind::kAssignment));
        }
      }
      if (imports_only && statement.text().find("import") != std::string_view::npos) {
        last = statement;
        continue;
      }
    }
    // One statement between imports (sys.path.append, matplotlib.use) does not end the block.
    Node next = statement;
    bool import_follows = false;
    for (int i = 0; i < 3 && next; ++i) {
      next = next.next_sibling();
      import_follows |= next.is_any(Kind::kImport, Kind::kImportFrom);
    }
    const bool simple = statement.is(Kind::kExpressionStatement);
    if (!(simple && import_follows)) break;
  }
  std::size_t offset = 0;
  if (last) {
    offset = last.end();
  } else {
    // Before the first statement, after the comments at the top (shebang, coding, license).
    const Node statement = tree.root().first_child();
    if (!statement) return static_cast<std::uint32_t>(text.size());
    return tree.lines().line_start(tree.lines().at(statement.start()).line);
  }
  // To the end of that line, over a trailing comment or semicolon-free rest.
  while (offset < text.size() && text[offset] != '\n' && text[offset] != '\r') ++offset;
  if (offset < text.size())
    offset += text[offset] == '\r' && offset + 1 < text.size() && text[offset + 1] == '\n' ? 2 : 1;
  return static_cast<std::uint32_t>(offset);
}

std::string_view newline_of(std::string_view text) {
  const auto at = text.find_first_of("\r\n");
  if (at == std::string_view::npos || text[at] == '\n') return "\n";
  return at + 1 < text.size() && text[at + 1] == '\n' ? "\r\n" : "\r";
}

}  // namespace torchport::edit
