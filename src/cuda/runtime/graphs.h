// Graphs of work.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "driver_types.h"

namespace torchport::cuda {

// What a node does, and how it answers.
struct NodeWork {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  std::function<int()> run{};  // returns a cudaError_t; empty: nothing
  // What of the node can be asked for.
  cudaKernelNodeParams kernel{};
  std::shared_ptr<CUgraph_st> child{};
};

}  // namespace torchport::cuda

struct CUgraphNode_st {
  CUgraph_st* graph = nullptr;
  torchport::cuda::NodeWork work{};
  std::vector<CUgraphNode_st*> after{};
};

struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes{};
  // Memory that belongs to the graph, and what a program keeps for it.
  std::vector<std::shared_ptr<void>> kept{};

  CUgraphNode_st* add(torchport::cuda::NodeWork work, const std::vector<CUgraphNode_st*>& after);
  // A copy; `copies` has the new node of each.
  [[nodiscard]] std::unique_ptr<CUgraph_st> copy(
      std::map<const CUgraphNode_st*, CUgraphNode_st*>& copies) const;
  // The nodes in an order that their edges allow; fewer than all if these make a circle.
  [[nodiscard]] std::vector<CUgraphNode_st*> in_order() const;
  // Does all of it. Returns the first error.
  [[nodiscard]] int run() const;
};

struct CUgraphExec_st {
  std::unique_ptr<CUgraph_st> graph;
  std::map<const CUgraphNode_st*, CUgraphNode_st*> nodes{};  // by those of the graph it was made of
};
