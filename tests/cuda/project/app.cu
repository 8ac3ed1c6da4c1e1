#include <cstdio>
__global__ void k(int* x) { x[threadIdx.x] = threadIdx.x * 2; }
int main() { int* x; cudaMalloc(&x, 400); k<<<1, 100>>>(x); int y[100]; cudaMemcpy(y, x, 400, cudaMemcpyDeviceToHost); printf("%d\n", y[99]); }
