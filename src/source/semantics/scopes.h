// Resolves the names of a Python file: who binds them, where, and what a name means at a place. The
// scoping is Python's: a class body is invisible to the functions in it, `global` reaches the
// module.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "source/syntax/tree.h"

namespace torchport::semantics {

using syntax::Field;
using syntax::Kind;
using syntax::Node;
using syntax::Tree;

enum class BindingKind : std::uint8_t {
  kImport,
  kAssign,     // value is the right side (or the matching element of a literal tuple)
  kAugmented,  // x += ...
  kParameter,  // value is the default, annotation the type
  kFor,        // value is the iterable
  kWith,       // value is the context manager
  kExcept,
  kFunction,
  kClass,
  kDelete,
  kOther,  // bound in a way that says nothing about its value
};

struct Binding {
  std::string_view name;
  BindingKind kind = BindingKind::kOther;
  Node target;  // the identifier that is bound
  Node value;   // see BindingKind; may be invalid
  Node annotation;
  std::string qualified;  // kImport: the dotted name; ".mod.x" if relative
  bool unpacked = false;  // one of several targets; `value` is the complete right side
};

// Some bindings, in order. Most names have one or two, which need no memory of their own.
class Bindings {
 public:
  Bindings() = default;
  Bindings(const Binding* const* first, const Binding* const* last) {
    for (; first != last; ++first) push_back(*first);
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] const Binding* const* begin() const {
    return size_ <= few_.size() ? few_.data() : many_.data();
  }
  [[nodiscard]] const Binding* const* end() const { return begin() + size_; }
  [[nodiscard]] const Binding* front() const { return *begin(); }
  [[nodiscard]] const Binding* operator[](std::size_t index) const { return begin()[index]; }
  [[nodiscard]] bool operator==(const Bindings& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

  void push_back(const Binding* binding) {
    if (size_ == few_.size()) many_.assign(few_.begin(), few_.end());
    if (size_ < few_.size())
      few_[size_] = binding;
    else
      many_.push_back(binding);
    ++size_;
  }

 private:
  std::size_t size_ = 0;
  std::array<const Binding*, 4> few_{};
  std::vector<const Binding*> many_;  // all of them, if there are more
};

class Scopes {
 public:
  explicit Scopes(const Tree& tree);

  // The bindings that may have set the value of `name` at `at`: the closest earlier ones in the
  // scope that owns the name, up to one that dominates `at`. If `at` is in a function further
  // inside, these are all bindings of the owner scope. Empty for builtins and unknown names; at
  // most 256.
  [[nodiscard]] Bindings reaching(std::string_view name, Node at) const;
  // Every binding of the name in the scope that owns it at `at`.
  [[nodiscard]] const std::vector<const Binding*>& all(std::string_view name, Node at) const;
  // The scope that owns the name at `at`; invalid if no scope of the file binds it.
  [[nodiscard]] Node owner(std::string_view name, Node at) const;
  // Every binding of the name in exactly this scope, in source order.
  [[nodiscard]] const std::vector<const Binding*>& in_scope(Node scope,
                                                            std::string_view name) const;
  // Every binding of the name in the module's own scope.
  [[nodiscard]] const std::vector<const Binding*>& module_level(std::string_view name) const;
  // Whether any scope of the file binds the name.
  [[nodiscard]] bool is_bound_anywhere(std::string_view name) const;
  // The node of the scope around a node: function, class, lambda, comprehension or module.
  [[nodiscard]] Node scope_node(Node at) const;
  // The bindings of exactly this scope, in source order.
  [[nodiscard]] const std::vector<const Binding*>& of_scope(Node scope) const;
  // The modules imported with `*`.
  [[nodiscard]] const std::vector<std::string>& wildcards() const { return wildcards_; }

 private:
  using List = std::vector<const Binding*>;
  struct Scope {
    List in_order;
    std::unordered_map<std::string_view, List> by_name;  // each in source order
  };

  void bind(Node scope, Binding binding);
  void bind_target(Node target, Node value, BindingKind kind, bool unpacked);
  void bind_import(Node statement);
  void bind_parameters(Node parameters);
  void visit(Node node);
  [[nodiscard]] const List* find(Node scope, std::string_view name) const;
  void find_scopes();

  const Tree& tree_;
  std::vector<std::uint32_t> scope_of_;              // for each node, that of scope_node()
  std::deque<Binding> bindings_;                     // a deque: addresses must not change
  std::unordered_map<std::uint32_t, Scope> scopes_;  // by the scope node's index
  std::unordered_map<std::uint32_t, std::vector<std::string_view>> globals_;
  std::vector<std::string> wildcards_;
};

}  // namespace torchport::semantics
