// A driver's library, loaded if the machine has it; its functions are called by name.
#pragma once

#include <initializer_list>

#include <dlfcn.h>

namespace torchport::host {

// Not closed: what a driver's library has started may outlive whoever asked it.
class DynamicLibrary {
 public:
  // The first of the names that there is.
  explicit DynamicLibrary(std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (handle_ == nullptr) handle_ = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  }

  [[nodiscard]] bool there() const { return handle_ != nullptr; }

  // Null where the library has it not. Thread safe.
  template <class Signature>
  [[nodiscard]] Signature* function(const char* name) const {
    return reinterpret_cast<Signature*>(dlsym(handle_, name));
  }

  // What the function returns; `missing` where the library has it not.
  template <class... Arguments>
  int call_or(int missing, const char* name, Arguments... arguments) const {
    auto* const found = function<int(Arguments...)>(name);
    return found == nullptr ? missing : found(arguments...);
  }

 private:
  void* handle_ = nullptr;
};

}  // namespace torchport::host
