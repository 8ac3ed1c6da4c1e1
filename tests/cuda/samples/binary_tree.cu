// A tree of nodes from a pool, in which threads insert with atomicCAS on pointers; and a tree of
// boxes (radix tree of sorted codes), in which the second child that arrives goes on to the parent.
#include <algorithm>

#include "sample.h"

struct Node {
  int key;
  Node *left, *right;
};

__device__ Node* cas(Node** at, Node* expected, Node* value) {
  return reinterpret_cast<Node*>(atomicCAS(reinterpret_cast<unsigned long long*>(at),
                                           reinterpret_cast<unsigned long long>(expected),
                                           reinterpret_cast<unsigned long long>(value)));
}

__global__ void insert(Node** root, Node* pool, const int* keys, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Node* mine = &pool[i];
  mine->key = keys[i], mine->left = mine->right = nullptr;
  __threadfence();
  Node** at = root;
  while (true) {
    Node* found = cas(at, nullptr, mine);
    if (found == nullptr || found->key == mine->key) return;
    at = mine->key < found->key ? &found->left : &found->right;
  }
}

__device__ int depth_of(const Node* node) {
  return node ? 1 + max(depth_of(node->left), depth_of(node->right)) : 0;
}
__global__ void flatten(Node** root, int* out, int* count, int* depth) {
  Node* stack[64];
  int size = 0, written = 0;
  for (Node* node = *root; node || size;) {
    for (; node; node = node->left) stack[size++] = node;
    node = stack[--size];
    out[written++] = node->key;
    node = node->right;
  }
  *count = written;
  *depth = depth_of(*root);
}

struct Internal {
  int parent, left, right;  // leaves are numbers from n on
};

__device__ int common(const unsigned* codes, int n, int i, int j) {
  if (j < 0 || j >= n) return -1;
  return codes[i] == codes[j] ? 32 + __clz(i ^ j) : __clz(codes[i] ^ codes[j]);
}

__global__ void build(const unsigned* codes, Internal* nodes, int* leaf_parents, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n - 1) return;
  const int d = common(codes, n, i, i + 1) > common(codes, n, i, i - 1) ? 1 : -1;
  const int least = common(codes, n, i, i - d);
  int most = 2;
  while (common(codes, n, i, i + most * d) > least) most *= 2;
  int length = 0;
  for (int t = most / 2; t > 0; t /= 2)
    if (common(codes, n, i, i + (length + t) * d) > least) length += t;
  const int j = i + length * d, prefix = common(codes, n, i, j);
  int split = 0;
  for (int t = (length + 1) / 2;; t = (t + 1) / 2) {
    if (split + t <= length && common(codes, n, i, i + (split + t) * d) > prefix) split += t;
    if (t <= 1) break;
  }
  const int gamma = i + split * d + min(d, 0);
  const int left = min(i, j) == gamma ? n + gamma : gamma,
            right = max(i, j) == gamma + 1 ? n + gamma + 1 : gamma + 1;
  nodes[i].left = left, nodes[i].right = right;
  (left >= n ? leaf_parents[left - n] : nodes[left].parent) = i;
  (right >= n ? leaf_parents[right - n] : nodes[right].parent) = i;
  if (i == 0) nodes[0].parent = -1;
}

__global__ void climb(const Internal* nodes, const int* leaf_parents, const float* leaves,
                      float2* boxes, int* visits, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int node = leaf_parents[i]; node >= 0; node = nodes[node].parent) {
    __threadfence();
    if (atomicAdd(&visits[node], 1) == 0) return;  // the other child is not there yet
    __threadfence();
    float2 box = make_float2(1e30f, -1e30f);
    for (int child : {nodes[node].left, nodes[node].right}) {
      float2 of_child;
      if (child >= n)
        of_child = make_float2(leaves[child - n], leaves[child - n]);
      else
        of_child = __ldcg(&boxes[child]);
      box.x = fminf(box.x, of_child.x), box.y = fmaxf(box.y, of_child.y);
    }
    boxes[node] = box;
  }
}

int main() {
  // The depth of a tree by recursion takes more than the 1024 bytes that a thread has.
  CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 16 * 1024));
  const int n = 3000;
  std::vector<int> keys(n);
  Numbers numbers(139);
  for (int& key : keys) key = numbers.next() % 10000;
  Array<int> in(keys), out(n), count(1), depth(1);
  Array<Node> pool(n);
  Array<Node*> root(1);
  root.clear();
  insert<<<(n + 63) / 64, 64>>>(root, pool, in, n);
  flatten<<<1, 1>>>(root, out, count, depth);
  auto flat = out.host();
  flat.resize(count.host()[0]);
  std::vector<int> sorted(keys);
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  bool right = flat == sorted && depth.host()[0] < 64;

  const int m = 1000;
  std::vector<unsigned> codes(m);
  std::vector<float> leaves(m);
  for (unsigned& code : codes) code = numbers.next() % 700;
  std::sort(codes.begin(), codes.end());
  for (float& one : leaves) one = numbers.real(-5, 5);
  Array<unsigned> c(codes);
  Array<Internal> nodes(m - 1);
  Array<int> parents(m), visits(m - 1);
  Array<float> l(leaves);
  Array<float2> boxes(m - 1);
  visits.clear();
  build<<<(m + 127) / 128, 128>>>(c, nodes, parents, m);
  climb<<<(m + 127) / 128, 128>>>(nodes, parents, l, boxes, visits, m);
  const auto b = boxes.host();
  for (int visit : visits.host()) right = right && visit == 2;
  return finish("binary_tree", right && b[0].x == *std::min_element(leaves.begin(), leaves.end()) &&
                                   b[0].y == *std::max_element(leaves.begin(), leaves.end()));
}
