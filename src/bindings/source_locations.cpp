#include "bindings/source_locations.h"

#include <array>
#include <mutex>
#include <new>
#include <optional>
#include <unordered_map>

#include "runtime/python_frames/python_frames.h"

namespace torchport::bindings {

namespace {

using python_frames::Object;
using python_frames::Python;

constexpr std::size_t kFrames = 3;

struct Frame {
  Object* code = nullptr;
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

using KnownCode = std::unordered_map<Object*, bool>;

// `mutex` guards all of it, because there are builds of Python without its lock. Python's lock is
// taken first, also where it is not needed: so threads cannot block each other, and os.fork(),
// which holds Python's lock, finds `mutex` free.
//
// Under `mutex`, nothing of Python is called but to take a reference. Anything that makes an object
// (a frame, before Python 3.12) may start the garbage collector, which runs code of the program:
// that may come back here, or let another thread have Python's lock.
struct LocationTable {
  std::mutex mutex;
  std::size_t keepers = 0;
  std::vector<std::string> passed_over;
  KnownCode of_program;  // whether it is the program's; holds a reference to each
  std::unordered_map<Frames, std::uint32_t, Hash> numbers;
  std::vector<Frames> frames;

  bool is_of_program(const Python& python, Object* code) {
    {
      const std::lock_guard<std::mutex> guard(mutex);
      if (const auto known = of_program.find(code); known != of_program.end()) return known->second;
    }
    const python_frames::TextOf file(python, code, "co_filename");
    const std::lock_guard<std::mutex> guard(mutex);
    const auto [found, fresh] = of_program.try_emplace(code, false);
    if (!fresh) return found->second;
    python.hold(code);
    found->second = file.is_known() && !python_frames::is_passed_over(passed_over, file.get());
    return found->second;
  }

  std::uint32_t number_of(const Frames& place) {
    const std::lock_guard<std::mutex> guard(mutex);
    const auto [number, fresh] =
        numbers.try_emplace(place, static_cast<std::uint32_t>(frames.size() + 1));
    if (fresh) frames.push_back(place);
    return number->second;
  }

  // The frames of a place; none for a number that is no place.
  Frames frames_of(std::uint32_t number) {
    const std::lock_guard<std::mutex> guard(mutex);
    return number == 0 || number > frames.size() ? Frames{} : frames[number - 1];
  }
};

LocationTable& locations() {
  static auto* locations = new LocationTable();
  return *locations;
}

// The Python of this process; null if there is none, or if it has not begun or has ended.
const Python* running_python() {
  const auto& python = python_frames::of_this_process();
  return python && python->is_initialized() != 0 ? &*python : nullptr;
}

// Holds Python's lock if there is a Python.
class MaybeLocked {
 public:
  MaybeLocked() : python_(running_python()) {
    if (python_ != nullptr) locked_.emplace(*python_);
  }
  [[nodiscard]] const Python* python() const { return python_; }

 private:
  const Python* python_;
  std::optional<python_frames::Locked> locked_;
};

std::uint32_t find_place(const Python& python) {
  LocationTable& all = locations();
  const python_frames::Locked locked(python);
  Frames place{};
  std::size_t count = 0;
  python_frames::each_frame(python, [&](Object* frame, Object* code) {
    if (all.is_of_program(python, code))
      place[count++] = {code,
                        python.has_positions() ? python.instruction(frame) : python.line(frame)};
    return count < kFrames;
  });
  return count == 0 ? 0 : all.number_of(place);
}

void put_positions(const Python& python, const Frame& frame, SourceLocation& place) {
  if (!python.has_positions()) {
    place.line = frame.instruction;
    return;
  }
  place.line = python.line_of(frame.code, frame.instruction);
  int line = 0;
  int end_line = 0;
  int column = 0;
  int end_column = 0;
  if (python.position_of(frame.code, frame.instruction, &line, &column, &end_line, &end_column) ==
          1 &&
      column >= 0) {
    place.line = line;
    place.end_line = end_line;
    place.column = column;
    place.end_column = end_column;
  }
}

}  // namespace

KeptPlaces::KeptPlaces(std::vector<std::string> passed_over) {
  const MaybeLocked locked;
  LocationTable& all = locations();
  const std::lock_guard<std::mutex> guard(all.mutex);
  if (all.keepers++ > 0) return;
  all.passed_over = std::move(passed_over);
  // A thread that was inside find_place() when the last keeper left may have put one in since.
  all.numbers.clear();
  all.frames.clear();
}

KeptPlaces::~KeptPlaces() {
  const MaybeLocked locked;
  LocationTable& all = locations();
  KnownCode dropped;
  {
    const std::lock_guard<std::mutex> guard(all.mutex);
    if (--all.keepers > 0) return;
    dropped.swap(all.of_program);
    all.numbers.clear();
    all.frames.clear();
  }
  // Python may run code when nobody holds an object any more. That must not happen under the mutex.
  if (locked.python() == nullptr) return;
  for (const auto& [code, known] : dropped) locked.python()->drop(code);
}

std::uint32_t location_here() noexcept {
  const Python* python = running_python();
  if (python == nullptr) return 0;
  try {
    return find_place(*python);
  } catch (const std::bad_alloc&) {
    return 0;  // a missing place is no reason to end the program
  }
}

std::vector<SourceLocation> frames_of_location(std::uint32_t number) {
  std::vector<SourceLocation> told;
  const Python* python = running_python();
  if (python == nullptr) return told;
  const python_frames::Locked locked(*python);
  for (const Frame& frame : locations().frames_of(number)) {
    if (frame.code == nullptr) break;
    SourceLocation place;
    place.file = python_frames::TextOf(*python, frame.code, "co_filename").get();
    place.function = python_frames::TextOf(*python, frame.code, "co_name").get();
    put_positions(*python, frame, place);
    place.code = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(frame.code));
    if (python->has_positions()) place.instruction = frame.instruction;
    told.push_back(std::move(place));
  }
  return told;
}

}  // namespace torchport::bindings
