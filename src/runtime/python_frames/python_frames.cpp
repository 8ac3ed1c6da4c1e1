#include "runtime/python_frames/python_frames.h"

#include <algorithm>

#include <dlfcn.h>
#include <fmt/format.h>

namespace torchport::python_frames {

namespace {

using FindSymbol = void* (*)(const char* name);

template <typename Function>
void put(Function*& function, FindSymbol find, const char* name) {
  function = reinterpret_cast<Function*>(find(name));
}

// Puts functions until one is missing, and keeps the name of that one.
class Required {
 public:
  explicit Required(FindSymbol find) : find_(find) {}

  template <typename Function>
  Required& put(Function*& function, const char* name) {
    python_frames::put(function, find_, name);
    if (function == nullptr && missing_ == nullptr) missing_ = name;
    return *this;
  }
  [[nodiscard]] const char* missing() const { return missing_; }

 private:
  FindSymbol find_;
  const char* missing_ = nullptr;
};

}  // namespace

base::Result<Python> look_up(FindSymbol find) {
  Python python;
  Required required(find);
  required.put(python.is_initialized, "Py_IsInitialized")
      .put(python.lock, "PyGILState_Ensure")
      .put(python.unlock, "PyGILState_Release")
      .put(python.frame, "PyEval_GetFrame")
      .put(python.caller, "PyFrame_GetBack")
      .put(python.code, "PyFrame_GetCode")
      .put(python.line, "PyFrame_GetLineNumber")
      .put(python.attribute, "PyObject_GetAttrString")
      .put(python.text, "PyUnicode_AsUTF8")
      .put(python.clear_error, "PyErr_Clear")
      .put(python.hold, "Py_IncRef")
      .put(python.drop, "Py_DecRef");
  if (required.missing() != nullptr)
    return base::fail(base::ErrorCode::kIo,
                      fmt::format("this Python does not have {}", required.missing()));
  put(python.instruction, find, "PyFrame_GetLasti");
  put(python.line_of, find, "PyCode_Addr2Line");
  put(python.position_of, find, "PyCode_Addr2Location");
  return python;
}

const base::Result<Python>& of_this_process() {
  static const auto& python = *new base::Result<Python>(
      look_up([](const char* name) { return dlsym(RTLD_DEFAULT, name); }));
  return python;
}

TextOf::TextOf(const Python& python, Object* code, const char* attribute)
    : object_(python, python.attribute(code, attribute)) {
  const char* text = object_.get() == nullptr ? nullptr : python.text(object_.get());
  if (text == nullptr) {
    python.clear_error();
  } else {
    text_ = text;
    known_ = true;
  }
}

bool is_passed_over(const std::vector<std::string>& passed_over, std::string_view file) {
  return std::any_of(passed_over.begin(), passed_over.end(),
                     [&](const std::string& start) { return file.starts_with(start); });
}

}  // namespace torchport::python_frames
