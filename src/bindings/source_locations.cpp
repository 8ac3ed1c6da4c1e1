#include "bindings/source_locations.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include <pybind11/pybind11.h>

namespace torchport::bindings {

namespace {

namespace py = pybind11;

constexpr std::size_t kFrames = 3;

struct Frame {
  PyCodeObject* code = nullptr;
  int instruction = -1;  // offset of the instruction; before Python 3.11 a line number

  bool operator==(const Frame&) const = default;
};
using Frames = std::array<Frame, kFrames>;

struct Hash {
  std::size_t operator()(const Frames& frames) const {
    std::size_t hash = 0;
    for (const Frame& frame : frames)
      hash = hash * 1000003 + reinterpret_cast<std::size_t>(frame.code) +
             static_cast<std::size_t>(frame.instruction);
    return hash;
  }
};

// Python's lock guards all of it.
struct LocationTable {
  std::size_t keepers = 0;
  std::vector<std::string> passed_over;
  std::unordered_map<PyCodeObject*, bool> of_program;  // holds a reference to each code object
  std::unordered_map<Frames, std::uint32_t, Hash> numbers;
  std::vector<Frames> frames;

  bool is_of_program(PyCodeObject* code) {
    const auto [found, fresh] = of_program.try_emplace(code, false);
    if (!fresh) return found->second;
    Py_INCREF(code);
    const char* file = PyUnicode_AsUTF8(code->co_filename);
    if (file == nullptr) {
      PyErr_Clear();  // a name that is not UTF-8 cannot be shown
      return false;
    }
    const std::string_view name(file);
    found->second = std::none_of(passed_over.begin(), passed_over.end(),
                                 [&](const std::string& start) { return name.starts_with(start); });
    return found->second;
  }

  void clear() {
    for (const auto& [code, known] : of_program) Py_DECREF(code);
    of_program.clear();
    numbers.clear();
    frames.clear();
  }
};

LocationTable& places() {
  static auto* places = new LocationTable();
  return *places;
}

int instruction_of(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030B0000
  return PyFrame_GetLasti(frame);
#else
  return PyFrame_GetLineNumber(frame);
#endif
}

std::uint32_t find_place() {
  LocationTable& all = places();
  Frames found{};
  std::size_t count = 0;
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  while (frame != nullptr && count < kFrames) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    if (all.is_of_program(code)) found[count++] = {code, instruction_of(frame)};
    Py_DECREF(code);
    PyFrameObject* caller = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = caller;
  }
  Py_XDECREF(frame);
  if (count == 0) return 0;
  const auto [number, fresh] =
      all.numbers.try_emplace(found, static_cast<std::uint32_t>(all.frames.size() + 1));
  if (fresh) all.frames.push_back(found);
  return number->second;
}

void put_positions(const Frame& frame, SourceLocation& place) {
#if PY_VERSION_HEX >= 0x030B0000
  place.line = PyCode_Addr2Line(frame.code, frame.instruction);
  int line = 0;
  int end_line = 0;
  int column = 0;
  int end_column = 0;
  if (PyCode_Addr2Location(frame.code, frame.instruction, &line, &column, &end_line, &end_column) ==
          1 &&
      column >= 0) {
    place.line = line;
    place.end_line = end_line;
    place.column = column;
    place.end_column = end_column;
  }
#else
  place.line = frame.instruction;
#endif
}

}  // namespace

KeptPlaces::KeptPlaces(std::vector<std::string> passed_over) {
  if (places().keepers++ == 0) places().passed_over = std::move(passed_over);
}

KeptPlaces::~KeptPlaces() {
  if (--places().keepers == 0) places().clear();
}

std::uint32_t location_here() noexcept {
  if (Py_IsInitialized() == 0) return 0;
  const PyGILState_STATE lock = PyGILState_Ensure();
  std::uint32_t place = 0;
  try {
    place = find_place();
  } catch (const std::bad_alloc&) {
    place = 0;  // a missing place is no reason to end the program
  }
  PyGILState_Release(lock);
  return place;
}

std::vector<SourceLocation> frames_of_location(std::uint32_t number) {
  std::vector<SourceLocation> told;
  if (number == 0 || number > places().frames.size()) return told;
  for (const Frame& frame : places().frames[number - 1]) {
    if (frame.code == nullptr) break;
    SourceLocation place;
    place.file = py::cast<std::string>(py::handle(frame.code->co_filename));
    place.function = py::cast<std::string>(py::handle(frame.code->co_name));
    put_positions(frame, place);
    told.push_back(std::move(place));
  }
  return told;
}

}  // namespace torchport::bindings
