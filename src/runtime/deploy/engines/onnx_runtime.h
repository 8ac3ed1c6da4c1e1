// Calls ONNX Runtime's C library, which is found and loaded while the program runs. It is not
// linked, because it comes with a Python wheel that has the library but no header.
//
// Its C API is a table of functions whose order never changes; later versions only append to it
// (onnxruntime_c_api.cc states the rules). So a function is identified by its number in the table
// and its signature. This header declares those that are needed here, all of API versions 1 and 2.
// If the real header is installed, onnx_runtime.cpp has the compiler compare the numbers with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace torchport::deploy::ort {

// The C API keeps these types opaque.
struct Env;
struct Status;
struct MemoryInfo;
struct Model;  // OrtSession
struct Value;
struct RunOptions;
struct ShapeInfo;  // OrtTensorTypeAndShapeInfo
struct SessionOptions;
struct Allocator;

// ONNXTensorElementDataType.
enum class Element : int {
  kUndefined = 0,
  kFloat = 1,
  kUInt8 = 2,
  kInt8 = 3,
  kUInt16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUInt32 = 12,
  kUInt64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBFloat16 = 16,
};

// A function of the table, by its number and its signature.
template <std::size_t kSlot, class Signature>
struct Function {
  static constexpr std::size_t kNumber = kSlot;
  using Pointer = Signature*;
};

using GetErrorMessage = Function<2, const char*(const Status*)>;
using CreateEnv = Function<3, Status*(int, const char*, Env**)>;
using CreateSession = Function<7, Status*(const Env*, const char*, const SessionOptions*, Model**)>;
using Run = Function<9, Status*(Model*, const RunOptions*, const char* const*, const Value* const*,
                                std::size_t, const char* const*, std::size_t, Value**)>;
using CreateSessionOptions = Function<10, Status*(SessionOptions**)>;
using SetSessionLogSeverityLevel = Function<22, Status*(SessionOptions*, int)>;
using SetIntraOpNumThreads = Function<24, Status*(SessionOptions*, int)>;
using SessionGetInputCount = Function<30, Status*(const Model*, std::size_t*)>;
using SessionGetInputName = Function<36, Status*(const Model*, std::size_t, Allocator*, char**)>;
using CreateTensorWithData =
    Function<49, Status*(const MemoryInfo*, void*, std::size_t, const std::int64_t*, std::size_t,
                         Element, Value**)>;
using GetTensorMutableData = Function<51, Status*(Value*, void**)>;
using GetTensorElementType = Function<60, Status*(const ShapeInfo*, Element*)>;
using GetDimensionsCount = Function<61, Status*(const ShapeInfo*, std::size_t*)>;
using GetDimensions = Function<62, Status*(const ShapeInfo*, std::int64_t*, std::size_t)>;
using GetTensorTypeAndShape = Function<65, Status*(const Value*, ShapeInfo**)>;
using CreateCpuMemoryInfo = Function<69, Status*(int, int, MemoryInfo**)>;
using AllocatorFree = Function<76, Status*(Allocator*, void*)>;
using GetAllocatorWithDefaultOptions = Function<78, Status*(Allocator**)>;
using ReleaseEnv = Function<92, void(Env*)>;
using ReleaseStatus = Function<93, void(Status*)>;
using ReleaseMemoryInfo = Function<94, void(MemoryInfo*)>;
using ReleaseSession = Function<95, void(Model*)>;
using ReleaseValue = Function<96, void(Value*)>;
using ReleaseTensorTypeAndShapeInfo = Function<99, void(ShapeInfo*)>;
using ReleaseSessionOptions = Function<100, void(SessionOptions*)>;

// The loaded library. It is never unloaded, because it has threads of its own. Thread safe.
class Library {
 public:
  // Loads libonnxruntime.so from `path` or, if that is empty, from the places that
  // SessionOptions::onnx_runtime describes. Throws std::runtime_error with the places that were
  // tried.
  [[nodiscard]] static std::shared_ptr<const Library> load(const std::string& path);

  template <class F, class... Arguments>
  auto call(Arguments... arguments) const {
    return reinterpret_cast<F::Pointer>(table_[F::kNumber])(arguments...);
  }

  // Calls a function that returns a status. Throws std::runtime_error with the library's message if
  // it fails.
  template <class F, class... Arguments>
  void require(Arguments... arguments) const {
    if (Status* status = call<F>(arguments...); status != nullptr) fail(status);
  }

  [[nodiscard]] const std::string& version() const { return version_; }

 private:
  [[noreturn]] void fail(Status* status) const;

  void* const* table_ = nullptr;
  std::string version_;
};

// A deleter for objects that the library made.
template <class F>
struct Release {
  const Library* library = nullptr;
  template <class T>
  void operator()(T* made) const {
    library->call<F>(made);
  }
};

template <class T, class F>
using Handle = std::unique_ptr<T, Release<F>>;

// Calls F, whose last parameter receives the new object, and returns that object.
template <class F, class T, class R, class... Arguments>
[[nodiscard]] Handle<T, R> make(const Library& library, Arguments... arguments) {
  T* made = nullptr;
  library.require<F>(arguments..., &made);
  return Handle<T, R>(made, Release<R>{&library});
}

}  // namespace torchport::deploy::ort
