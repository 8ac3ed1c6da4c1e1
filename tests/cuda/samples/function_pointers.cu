// Functions of the device by pointers: a table, pointers copied from symbols, virtual functions of
// objects that a kernel makes, recursion.
#include <new>

#include "sample.h"

using Operation = float (*)(float, float);
__device__ float add(float a, float b) {
  return a + b;
}
__device__ float multiply(float a, float b) {
  return a * b;
}
__device__ float power(float a, float b) {
  return b < 1 ? 1.0f : a * power(a, b - 1);
}
__device__ Operation table[] = {add, multiply, power};
__device__ Operation chosen = multiply;
__constant__ Operation constant = add;

__global__ void apply(const int* which, const float* a, const float* b, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = table[which[i]](a[i], b[i]);
}
__global__ void apply_one(Operation operation, float* out) {
  out[threadIdx.x] = (*operation)(threadIdx.x, 3);
}

class Shape {
 public:
  __device__ virtual ~Shape() {}
  __device__ virtual float area() const = 0;
  __device__ virtual float twice() const { return 2 * area(); }
};
class Square : public Shape {
 public:
  __device__ explicit Square(float side) : side_(side) {}
  __device__ float area() const override { return side_ * side_; }

 private:
  float side_;
};
class Circle final : public Shape {
 public:
  __device__ explicit Circle(float radius) : radius_(radius) {}
  __device__ float area() const override { return 3.0f * radius_ * radius_; }
  __device__ float twice() const override { return Shape::twice() + 1; }

 private:
  float radius_;
};
template <class Derived>
struct Counter {
  __device__ int run(int n) { return static_cast<Derived*>(this)->step(n) + 1; }
};
struct Doubler : Counter<Doubler> {
  __device__ int step(int n) { return 2 * n; }
};

__global__ void make(Shape** shapes) {
  const int i = threadIdx.x;
  if (i % 2)
    shapes[i] = new Circle(i);
  else
    shapes[i] = new Square(i);
}
__global__ void measure(Shape** shapes, float* out) {
  out[threadIdx.x] = shapes[threadIdx.x]->twice();
}
__global__ void destroy(Shape** shapes, int* counts) {
  delete shapes[threadIdx.x];
  alignas(Doubler) char place[sizeof(Doubler)];
  counts[threadIdx.x] = (new (place) Doubler)->run(threadIdx.x);
}

int main() {
  const int n = 300;
  std::vector<int> which(n);
  std::vector<float> a(n), b(n), expected(n);
  Numbers numbers(101);
  for (int i = 0; i < n; ++i) {
    which[i] = i % 3, a[i] = numbers.next() % 5, b[i] = numbers.next() % 5;
    expected[i] = which[i] == 0 ? a[i] + b[i] : which[i] == 1 ? a[i] * b[i] : std::pow(a[i], b[i]);
  }
  Array<int> w(which), counts(16);
  Array<float> da(a), db(b), out(n), few(16);
  apply<<<3, 100>>>(w, da, db, out, n);
  bool right = out.host() == expected;
  Operation from_symbol;
  CHECK(cudaMemcpyFromSymbol(&from_symbol, chosen, sizeof(Operation)));
  apply_one<<<1, 16>>>(from_symbol, few);
  right = right && few.host()[5] == 15;
  CHECK(cudaMemcpyFromSymbol(&from_symbol, constant, sizeof(Operation)));
  apply_one<<<1, 16>>>(from_symbol, few);
  right = right && few.host()[5] == 8;
  Array<Shape*> shapes(16);
  make<<<1, 16>>>(shapes);
  measure<<<1, 16>>>(shapes, few);
  destroy<<<1, 16>>>(shapes, counts);
  const auto areas = few.host();
  const auto c = counts.host();
  for (int i = 0; i < 16; ++i)
    right = right && areas[i] == (i % 2 ? 6 * i * i + 1 : 2 * i * i) && c[i] == 2 * i + 1;
  return finish("function_pointers", right);
}
