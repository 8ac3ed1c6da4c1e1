// Shifts and conversions that C++ leaves undefined, where virtual devices do not what a GPU does.
#include "run.h"

__global__ void stored(int* out, float x) {
  out[0] = x;  // BUG 1 out of range
}
__device__ int rounded(float x) {
  return x;  // BUG 2 out of range
}
__global__ void returned(int* out, float x) {
  out[0] = rounded(x);
}
__global__ void narrow(unsigned char* out, float x) {
  out[0] = x;  // BUG 3 out of range
}
struct Bits {
  unsigned word;
};
__global__ void member(Bits* out, int n) {
  out->word = 1;
  out->word <<= n;  // BUG 4 out of range
}
// What is written as a cast or an operator does what a GPU does.
__global__ void written(int* out, float x, int n) {
  const int i = x;
  out[0] = (int)x + static_cast<int>(x) + int(x) + i;
  out[1] = (1 << n) + (1 >> n);
  out[1] <<= n;
}

const Case kCases[] = {
    {1, [] { stored<<<1, 1>>>(filled<int>(1), 3e9f); }},
    {2, [] { returned<<<1, 1>>>(filled<int>(1), -1e20f); }},
    {3, [] { narrow<<<1, 1>>>(filled<unsigned char>(1), -5); }},
    {4, [] { member<<<1, 1>>>(filled<Bits>(1), 32); }},
    {0,
     [] {
       stored<<<1, 1>>>(filled<int>(1), 2e9f);
       returned<<<1, 1>>>(filled<int>(1), -2e9f);
       narrow<<<1, 1>>>(filled<unsigned char>(1), 300);
       member<<<1, 1>>>(filled<Bits>(1), 31);
       written<<<1, 1>>>(filled<int>(2), 3e9f, 40);
     }},
};

int main(int argc, char** argv) {
  return run_cases(argc, argv, kCases);
}
