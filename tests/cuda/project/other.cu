__device__ int helper() { return 1; }
