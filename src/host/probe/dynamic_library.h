// Loads a driver's library if the machine has it, and calls its functions by name. Linking it would
// make the program need a driver.
#pragma once

#include <initializer_list>

#include <dlfcn.h>

namespace torchport::host {

// A loaded library. It is never closed: a driver's library may have started threads that outlive
// this object.
class DynamicLibrary {
 public:
  // Loads the first of these names that exists.
  explicit DynamicLibrary(std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (handle_ == nullptr) handle_ = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  }

  [[nodiscard]] bool there() const { return handle_ != nullptr; }

  // The function of this name; null if the library does not have it. Thread safe.
  template <class Signature>
  [[nodiscard]] Signature* function(const char* name) const {
    return reinterpret_cast<Signature*>(dlsym(handle_, name));
  }

  // Calls the function and returns its result, or `missing` if the library does not have it.
  template <class... Arguments>
#ifdef __clang__
  // A driver was compiled with other types than those of this program.
  __attribute__((no_sanitize("function")))
#endif
  int call_or(int missing, const char* name, Arguments... arguments) const {
    auto* const found = function<int(Arguments...)>(name);
    return found == nullptr ? missing : found(arguments...);
  }

 private:
  void* handle_ = nullptr;
};

}  // namespace torchport::host
