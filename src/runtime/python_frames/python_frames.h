// Walks the frames of the Python program that runs in this process, to say which of its lines
// called something.
//
// It asks CPython through its C interface, which it looks up at run time: nothing here includes or
// links Python. So one library file serves every version of Python, and works without changes in a
// C++ program that has no Python. pybind11 was rejected, because it ties a library to one version
// of Python, and the limited API was rejected, because it has neither frames nor positions of code.
//
// No signal handler runs for it: an exception out of a handler (Ctrl-C) would have no Python frame
// above it and be lost. But to ask for a frame makes an object, which before Python 3.12 may start
// the garbage collector and with it code of the program: hold no lock of your own meanwhile.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace torchport::python_frames {

// An object of Python: a frame, code, a text. Only its address is used.
struct Object;

// The functions of CPython that are needed. Each is as CPython documents it, under the name that
// look_up() gives; a function that returns an object returns a new reference, except `frame`.
struct Python {
  int (*is_initialized)() = nullptr;
  int (*lock)() = nullptr;
  void (*unlock)(int state) = nullptr;
  Object* (*frame)() = nullptr;  // borrowed
  Object* (*caller)(Object* frame) = nullptr;
  Object* (*code)(Object* frame) = nullptr;
  int (*line)(Object* frame) = nullptr;
  Object* (*attribute)(Object* object, const char* name) = nullptr;
  const char* (*text)(Object* text) = nullptr;
  void (*clear_error)() = nullptr;
  void (*hold)(Object* object) = nullptr;
  void (*drop)(Object* object) = nullptr;

  // Python 3.11 and later: the instruction that a frame is at, and the line and the columns of an
  // instruction of a code. Null before.
  int (*instruction)(Object* frame) = nullptr;
  int (*line_of)(Object* code, int instruction) = nullptr;
  int (*position_of)(Object* code, int instruction, int* line, int* column, int* end_line,
                     int* end_column) = nullptr;

  [[nodiscard]] bool has_positions() const {
    return instruction != nullptr && line_of != nullptr && position_of != nullptr;
  }
};

// Looks the functions up by `find`, which returns null for a name that does not exist. Fails with
// kIo, and names the function, if one that every supported Python has is missing.
[[nodiscard]] base::Result<Python> look_up(void* (*find)(const char* name));

// The Python of this process, which is looked up once. Thread safe.
[[nodiscard]] const base::Result<Python>& of_this_process();

// Holds Python's lock while it lives. REQUIRED: the interpreter is initialized.
class Locked {
 public:
  explicit Locked(const Python& python) : python_(python), state_(python.lock()) {}
  ~Locked() { python_.unlock(state_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  const Python& python_;
  const int state_;
};

// Owns one reference to an object. REQUIRED, of all that follows: the caller holds Python's lock.
class Owned {
 public:
  Owned(const Python& python, Object* object) : python_(python), object_(object) {}
  ~Owned() { reset(nullptr); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  void reset(Object* object) {
    Object* before = std::exchange(object_, object);
    if (before != nullptr) python_.drop(before);
  }
  [[nodiscard]] Object* get() const { return object_; }

 private:
  const Python& python_;
  Object* object_;
};

// Calls `visit(frame, code)` for the frames of the calling thread, the innermost first, until it
// returns false. Neither of the two may be used after `visit` without a reference to it.
template <typename Visit>
void each_frame(const Python& python, const Visit& visit) {
  Object* innermost = python.frame();
  if (innermost == nullptr) return;
  python.hold(innermost);
  Owned frame(python, innermost);
  while (frame.get() != nullptr) {
    {
      const Owned code(python, python.code(frame.get()));
      if (!visit(frame.get(), code.get())) return;
    }
    frame.reset(python.caller(frame.get()));
  }
}

// The text of an attribute of a code: "co_filename", "co_name".
class TextOf {
 public:
  TextOf(const Python& python, Object* code, const char* attribute);
  // False for a text that is not UTF-8, which cannot be shown; it is empty here.
  [[nodiscard]] bool is_known() const { return known_; }
  [[nodiscard]] std::string_view get() const { return text_; }  // valid while this object lives

 private:
  const Owned object_;
  std::string_view text_;
  bool known_ = false;
};

// Whether a file is not one of the program: its name starts with one of `passed_over`.
[[nodiscard]] bool is_passed_over(const std::vector<std::string>& passed_over,
                                  std::string_view file);

}  // namespace torchport::python_frames
