// Runs the case whose number is given. Each case has one bug, whose lines say `// BUG number
// cause`; those that are right, the number 0, run together.
#pragma once

#include <cstdio>
#include <cstdlib>

struct Case {
  int number;
  void (*run)();
};

template <class T>
T* filled(int count, T value = T()) {
  T* data = nullptr;
  cudaMalloc(&data, count * sizeof(T));
  T* host = new T[count];
  for (int i = 0; i < count; ++i) host[i] = value;
  cudaMemcpy(data, host, count * sizeof(T), cudaMemcpyHostToDevice);
  delete[] host;
  return data;
}

template <int Count>
int run_cases(int argc, char** argv, const Case (&cases)[Count]) {
  const int wanted = argc > 1 ? std::atoi(argv[1]) : 0;
  for (const Case& one : cases)
    if (one.number == wanted) one.run();
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return 0;
}
