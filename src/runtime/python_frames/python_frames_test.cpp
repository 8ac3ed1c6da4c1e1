#include "runtime/python_frames/python_frames.h"

#include <cstring>
#include <map>

#include <doctest/doctest.h>

namespace torchport::python_frames {

// A Python of two frames, whose objects count their references.
struct Object {
  const char* file = nullptr;
  Object* code = nullptr;
  Object* caller = nullptr;
  int line = 0;
  int references = 1;
};

namespace {

struct Made {
  Object name_of_inner{.file = "/site/torch/nn.py"};
  Object name_of_outer{.file = nullptr};  // not UTF-8
  Object inner_code{.code = &name_of_inner};
  Object outer_code{.code = &name_of_outer};
  Object outer{.code = &outer_code, .line = 7};
  Object inner{.code = &inner_code, .caller = &outer, .line = 3};
  int locks = 0;
  int errors = 0;

  [[nodiscard]] bool all_references_are_back() const {
    return name_of_inner.references == 1 && name_of_outer.references == 1 &&
           inner_code.references == 1 && outer_code.references == 1 && inner.references == 1 &&
           outer.references == 1;
  }
};

Made* made = nullptr;

Object* held(Object* object) {
  if (object != nullptr) ++object->references;
  return object;
}

// The functions of Python 3.9, by name.
const std::map<std::string, void*>& functions() {
  const auto address = [](auto* function) { return reinterpret_cast<void*>(function); };
  static const std::map<std::string, void*> kFunctions{
      {"Py_IsInitialized", address(+[] { return 1; })},
      {"PyGILState_Ensure", address(+[] { return ++made->locks; })},
      {"PyGILState_Release", address(+[](int state) { made->locks -= state; })},
      {"PyEval_GetFrame", address(+[] { return &made->inner; })},
      {"PyFrame_GetBack", address(+[](Object* frame) { return held(frame->caller); })},
      {"PyFrame_GetCode", address(+[](Object* frame) { return held(frame->code); })},
      {"PyFrame_GetLineNumber", address(+[](Object* frame) { return frame->line; })},
      {"PyObject_GetAttrString", address(+[](Object* code, const char* name) {
         return std::strcmp(name, "co_filename") == 0 ? held(code->code) : nullptr;
       })},
      {"PyUnicode_AsUTF8", address(+[](Object* text) { return text->file; })},
      {"PyErr_Clear", address(+[] { ++made->errors; })},
      {"Py_IncRef", address(+[](Object* object) { ++object->references; })},
      {"Py_DecRef", address(+[](Object* object) { --object->references; })},
  };
  return kFunctions;
}

void* find(const char* name) {
  const auto found = functions().find(name);
  return found == functions().end() ? nullptr : found->second;
}

}  // namespace

TEST_CASE("frames are visited from the innermost on, and no reference is kept") {
  Made objects;
  made = &objects;
  const auto python = look_up(&find);
  REQUIRE(python);
  std::vector<int> lines;
  {
    const Locked locked(*python);
    CHECK(objects.locks == 1);
    each_frame(*python, [&](Object* frame, Object* code) {
      CHECK(code == frame->code);
      lines.push_back(python->line(frame));
      return true;
    });
    each_frame(*python, [&](Object* frame, Object*) {
      lines.push_back(python->line(frame));
      return false;
    });
  }
  CHECK(lines == std::vector<int>{3, 7, 3});
  CHECK(objects.locks == 0);
  CHECK(objects.all_references_are_back());
}

TEST_CASE("texts of code") {
  Made objects;
  made = &objects;
  const auto python = look_up(&find);
  REQUIRE(python);
  {
    const TextOf file(*python, &objects.inner_code, "co_filename");
    CHECK(file.is_known());
    CHECK(file.get() == "/site/torch/nn.py");
    CHECK_FALSE(TextOf(*python, &objects.outer_code, "co_filename").is_known());
    CHECK(TextOf(*python, &objects.inner_code, "co_nothing").get().empty());
    CHECK(objects.errors == 2);  // each error was taken back
  }
  CHECK(objects.all_references_are_back());
}

TEST_CASE("a Python before 3.11 has lines, but no positions") {
  CHECK_FALSE(look_up(&find)->has_positions());
  const auto newer = look_up([](const char* name) {
    void* known = find(name);
    return known != nullptr ? known : reinterpret_cast<void*>(+[] { return 0; });
  });
  CHECK(newer->has_positions());
}

TEST_CASE("without Python, the first function that is missing is named") {
  const auto nothing = look_up([](const char*) -> void* { return nullptr; });
  CHECK(nothing.error().message == "this Python does not have Py_IsInitialized");
  const auto other = look_up([](const char* name) {
    return std::strcmp(name, "PyFrame_GetBack") == 0 ? nullptr : find(name);
  });
  CHECK(other.error().message == "this Python does not have PyFrame_GetBack");
  CHECK_FALSE(of_this_process());  // this test is a C++ program
}

TEST_CASE("files that are passed over") {
  const std::vector<std::string> starts{"/site/torch/", "<frozen"};
  CHECK(is_passed_over(starts, "/site/torch/nn.py"));
  CHECK(is_passed_over(starts, "<frozen importlib>"));
  CHECK_FALSE(is_passed_over(starts, "/home/train.py"));
  CHECK_FALSE(is_passed_over(starts, ""));
}

}  // namespace torchport::python_frames
