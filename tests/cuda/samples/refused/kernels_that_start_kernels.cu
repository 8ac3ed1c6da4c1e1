// Dynamic parallelism: quicksort whose kernels start kernels.
// flags: -rdc=true -lcudadevrt
#include "../sample.h"

__global__ void quicksort(int* data, int left, int right, int depth) {
  int i = left, j = right;
  const int pivot = data[(left + right) / 2];
  while (i <= j) {
    while (data[i] < pivot) ++i;
    while (data[j] > pivot) --j;
    if (i <= j) {
      const int swap = data[i];
      data[i++] = data[j], data[j--] = swap;
    }
  }
  if (left < j) quicksort<<<1, 1>>>(data, left, j, depth + 1);
  if (i < right) quicksort<<<1, 1>>>(data, i, right, depth + 1);
}

int main() {
  std::vector<int> values(50);
  Numbers numbers(181);
  for (int& one : values) one = numbers.next() % 100;
  Array<int> data(values);
  quicksort<<<1, 1>>>(data, 0, 49, 0);
  CHECK(cudaDeviceSynchronize());
  const auto sorted = data.host();
  bool right = true;
  for (int i = 1; i < 50; ++i) right = right && sorted[i - 1] <= sorted[i];
  return finish("kernels_that_start_kernels", right);
}
