#include "runtime/virtual/planning/communicator_record.h"

#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <vector>

#include <nlohmann/json.hpp>
#include <torch/library.h>

#include "runtime/virtual/planning/work_record.h"

namespace torchport::vdev {

namespace {

struct Communicator {
  std::string library;
  int ranks = 0;
  // Whether it has sent to and received from single ranks, and carried collectives.
  bool is_direct = false;
  bool is_collective = false;
};

class CommunicatorRecord {
 public:
  static CommunicatorRecord& get() {
    static auto* one = new CommunicatorRecord();
    return *one;
  }

  void add(const c10d::Backend& backend, c10::DeviceIndex device, int peer, bool is_direct,
           bool is_collective) {
    const std::scoped_lock lock(mutex_);
    const void* group = &backend;
    const bool is_pair = peer >= 0 && !coalescing_.contains(group) && !eager_.contains(group);
    Communicator& one = communicators_[{group, device, is_pair ? peer : -1}];
    one.library = backend.getBackendName();
    one.ranks = is_pair ? 2 : backend.getSize();
    one.is_direct = one.is_direct || is_direct;
    one.is_collective = one.is_collective || is_collective;
  }

  void make(const c10d::Backend& backend, c10::DeviceIndex device) {
    {
      const std::scoped_lock lock(mutex_);
      eager_.insert(&backend);
    }
    add(backend, device, -1, false, false);
  }

  void add(const std::vector<c10::DeviceIndex>& devices) {
    const std::scoped_lock lock(mutex_);
    const void* group = &*of_process_.insert(devices).first;
    for (const c10::DeviceIndex device : devices)
      communicators_[{group, device, -1}] = {"nccl", static_cast<int>(devices.size()), false, true};
  }

  void coalesce(const c10d::Backend& backend, bool begins) {
    const std::scoped_lock lock(mutex_);
    if (begins)
      coalescing_.insert(&backend);
    else
      coalescing_.erase(&backend);
  }

  std::string json() {
    const std::scoped_lock lock(mutex_);
    nlohmann::json all = nlohmann::json::array();
    for (const auto& [key, one] : communicators_)
      all.push_back({{"device", std::get<c10::DeviceIndex>(key)},
                     {"library", one.library},
                     {"ranks", one.ranks},
                     {"direct", one.is_direct},
                     {"collective", one.is_collective}});
    return all.dump();
  }

 private:
  std::mutex mutex_;
  // By backend (or list of devices), device, and the other rank of a communicator of two. A backend
  // that was destroyed stays: its communicator was there.
  std::map<std::tuple<const void*, c10::DeviceIndex, int>, Communicator> communicators_;
  std::set<std::vector<c10::DeviceIndex>> of_process_;  // a set moves no member
  std::set<const void*> eager_;
  std::set<const void*> coalescing_;
};

TORCH_LIBRARY_FRAGMENT(torchport, library) {
  library.def("recorded_communicators() -> str", [] { return CommunicatorRecord::get().json(); });
}

}  // namespace

void record_communicator(const c10d::Backend& backend, c10::DeviceIndex device,
                         const std::string& operation, int peer) {
  const bool is_direct = peer >= 0 || operation.find("alltoall") != std::string::npos ||
                         operation.find("recv_any_source") != std::string::npos ||
                         operation == "c10d::gather_" || operation == "c10d::scatter_";
  CommunicatorRecord::get().add(backend, device, peer, is_direct, !is_direct);
}

void record_communicator_of_process(const std::vector<c10::DeviceIndex>& devices) {
  CommunicatorRecord::get().add(devices);
}

void record_eager_communicator(const c10d::Backend& backend, c10::DeviceIndex device) {
  if (records_work()) CommunicatorRecord::get().make(backend, device);
}

void record_coalescing(const c10d::Backend& backend, bool begins) {
  if (records_work()) CommunicatorRecord::get().coalesce(backend, begins);
}

}  // namespace torchport::vdev
