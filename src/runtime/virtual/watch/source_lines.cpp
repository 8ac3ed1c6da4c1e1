#include "runtime/virtual/watch/source_lines.h"

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <torch/library.h>

#include "runtime/python_frames/python_frames.h"

namespace torchport::vdev {

namespace {

using python_frames::Object;
using python_frames::Python;

class Lines {
 public:
  Lines(const Python& python, std::vector<std::string> passed_over)
      : python_(python), passed_over_(std::move(passed_over)) {}

  std::int64_t here() {
    const Place place = innermost();
    return place.first.empty() ? 0 : number_of(place);
  }

  std::string text_here() const {
    const Place place = innermost();
    return place.first.empty() ? std::string() : text_of(place);
  }

  std::vector<std::string> names() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return names_;
  }

 private:
  using Place = std::pair<std::string, int>;  // a file and a line

  static std::string text_of(const Place& place) {
    return fmt::format("{}:{}", place.first, place.second);
  }

  // The place of the innermost frame of the program; its file is empty if there is none.
  Place innermost() const {
    Place place;
    const python_frames::Locked locked(python_);
    python_frames::each_frame(python_, [&](Object* frame, Object* code) {
      place = place_of(frame, code);
      return place.first.empty();
    });
    return place;
  }

  // The file and line of a frame of the program. For any other frame the file is empty.
  Place place_of(Object* frame, Object* code) const {
    const python_frames::TextOf file(python_, code, "co_filename");
    if (!file.is_known() || python_frames::is_passed_over(passed_over_, file.get())) return {};
    return {std::string(file.get()), python_.line(frame)};
  }

  std::int64_t number_of(const Place& place) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [found, fresh] = numbers_.try_emplace(place, numbers_.size() + 1);
    if (fresh) names_.push_back(text_of(place));
    return static_cast<std::int64_t>(found->second);
  }

  const Python& python_;
  const std::vector<std::string> passed_over_;
  std::mutex mutex_;
  std::map<Place, std::size_t> numbers_;
  std::vector<std::string> names_;
};

// Never destroyed: another thread may be using it.
std::atomic<Lines*> shared_lines{nullptr};
std::atomic<bool> started{false};

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("start_source_lines(str[] passed_over) -> ()", &start_source_lines);
  library.def("stop_source_lines() -> ()", &stop_source_lines);
  library.def("source_lines() -> str[]", &source_lines);
}

}  // namespace

void start_source_lines(std::vector<std::string> passed_over) {
  const auto& python = python_frames::of_this_process();
  TORCH_CHECK(python.has_value(), "torchport: ", python.error().message);
  if (shared_lines == nullptr) shared_lines = new Lines(*python, std::move(passed_over));
  started = true;
}

void stop_source_lines() {
  started = false;
}

std::int64_t source_line() {
  return started ? shared_lines.load()->here() : 0;
}

std::string source_place() {
  return started ? shared_lines.load()->text_here() : std::string();
}

std::vector<std::string> source_lines() {
  Lines* all = shared_lines;
  return all == nullptr ? std::vector<std::string>{} : all->names();
}

}  // namespace torchport::vdev
