#include "runtime/virtual/watch/source_lines.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>
#include <torch/library.h>

namespace torchport::vdev {

namespace {

template <typename Function>
Function* function_of_python(const char* name) {
  void* address = dlsym(RTLD_DEFAULT, name);
  TORCH_CHECK(address != nullptr, "torchport: this Python does not have ", name);
  return reinterpret_cast<Function*>(address);
}

// The part of CPython's C interface that walks frames. Each function is as CPython documents it.
struct Python {
  using Object = void;

  int (*lock)() = function_of_python<int()>("PyGILState_Ensure");
  void (*unlock)(int) = function_of_python<void(int)>("PyGILState_Release");
  Object* (*frame)() = function_of_python<Object*()>("PyEval_GetFrame");
  Object* (*caller)(Object*) = function_of_python<Object*(Object*)>("PyFrame_GetBack");
  Object* (*code)(Object*) = function_of_python<Object*(Object*)>("PyFrame_GetCode");
  int (*line)(Object*) = function_of_python<int(Object*)>("PyFrame_GetLineNumber");
  Object* (*attribute)(Object*, const char*) =
      function_of_python<Object*(Object*, const char*)>("PyObject_GetAttrString");
  const char* (*text)(Object*) = function_of_python<const char*(Object*)>("PyUnicode_AsUTF8");
  void (*clear_error)() = function_of_python<void()>("PyErr_Clear");
  void (*hold)(Object*) = function_of_python<void(Object*)>("Py_IncRef");
  void (*drop)(Object*) = function_of_python<void(Object*)>("Py_DecRef");
};

class Lines {
 public:
  explicit Lines(std::vector<std::string> passed_over) : passed_over_(std::move(passed_over)) {}

  std::int64_t here() {
    const int locked = python_.lock();
    std::pair<std::string, int> place;
    Python::Object* frame = python_.frame();
    if (frame != nullptr) python_.hold(frame);
    while (frame != nullptr && place.first.empty()) {
      place = place_of(frame);
      python_.drop(std::exchange(frame, python_.caller(frame)));
    }
    if (frame != nullptr) python_.drop(frame);
    python_.unlock(locked);
    return place.first.empty() ? 0 : number_of(place);
  }

  std::vector<std::string> names() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return names_;
  }

 private:
  // The file and line of a frame of the program. For any other frame the file is empty.
  std::pair<std::string, int> place_of(Python::Object* frame) const {
    std::pair<std::string, int> place;
    Python::Object* code = python_.code(frame);
    Python::Object* file = python_.attribute(code, "co_filename");
    const char* name = file == nullptr ? nullptr : python_.text(file);
    if (name == nullptr) {
      python_.clear_error();  // a name that is not UTF-8 cannot be shown
    } else if (!is_passed_over(name)) {
      place = {name, python_.line(frame)};
    }
    if (file != nullptr) python_.drop(file);
    python_.drop(code);
    return place;
  }

  bool is_passed_over(std::string_view file) const {
    return std::any_of(passed_over_.begin(), passed_over_.end(),
                       [&](const std::string& start) { return file.starts_with(start); });
  }

  std::int64_t number_of(const std::pair<std::string, int>& place) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [found, fresh] = numbers_.try_emplace(place, numbers_.size() + 1);
    if (fresh) names_.push_back(fmt::format("{}:{}", place.first, place.second));
    return static_cast<std::int64_t>(found->second);
  }

  const Python python_;
  const std::vector<std::string> passed_over_;
  std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::size_t> numbers_;
  std::vector<std::string> names_;
};

// Never destroyed: another thread may be using it.
std::atomic<Lines*> lines{nullptr};
std::atomic<bool> started{false};

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("start_source_lines(str[] passed_over) -> ()", &start_source_lines);
  library.def("stop_source_lines() -> ()", &stop_source_lines);
  library.def("source_lines() -> str[]", &source_lines);
}

}  // namespace

void start_source_lines(std::vector<std::string> passed_over) {
  if (lines == nullptr) lines = new Lines(std::move(passed_over));
  started = true;
}

void stop_source_lines() {
  started = false;
}

std::int64_t source_line() {
  return started ? lines.load()->here() : 0;
}

std::vector<std::string> source_lines() {
  Lines* all = lines;
  return all == nullptr ? std::vector<std::string>{} : all->names();
}

}  // namespace torchport::vdev
