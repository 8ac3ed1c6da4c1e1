// The C++ part of an extension as projects write them: operators with kernels for the CPU, and a
// function that calls into the CUDA sources without asking whether they are there.
#include <ATen/core/Tensor.h>
#include <Python.h>
#include <torch/library.h>

namespace gate_demo {

at::Tensor triple_cuda(const at::Tensor& x);  // triple.cu
template <class T>
at::Tensor shift_cuda(const at::Tensor& x, T by);  // triple.cu, for float

at::Tensor scale(const at::Tensor& x, double by) {
  return x.mul(by);
}

at::Tensor triple(const at::Tensor& x) {
  return x.is_cuda() ? triple_cuda(x) : x.mul(3);
}

at::Tensor shift(const at::Tensor& x, double by) {
  return x.is_cuda() ? shift_cuda<float>(x, static_cast<float>(by)) : x.add(by);
}

at::Tensor negate(const at::Tensor& x) {
  return x.neg();
}

bool with_cuda() {
#ifdef TORCHPORT_WITH_CUDA
  return true;
#else
  return false;
#endif
}

}  // namespace gate_demo

TORCH_LIBRARY(gate_demo, m) {
  m.def("scale(Tensor x, float by) -> Tensor");
  m.def("triple(Tensor x) -> Tensor");
  m.def("shift(Tensor x, float by) -> Tensor");
  m.def("negate(Tensor x) -> Tensor", gate_demo::negate);  // made of others: runs on any device
  m.def("with_cuda() -> bool", gate_demo::with_cuda);
}

TORCH_LIBRARY_IMPL(gate_demo, CPU, m) {
  m.impl("scale", gate_demo::scale);
}

TORCH_LIBRARY_IMPL(gate_demo, CompositeExplicitAutograd, m) {
  m.impl("triple", gate_demo::triple);
  m.impl("shift", gate_demo::shift);
}

PyMODINIT_FUNC PyInit__C() {
  static PyModuleDef module{
      PyModuleDef_HEAD_INIT, "_C", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};
  return PyModule_Create(&module);
}
