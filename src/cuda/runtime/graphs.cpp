#include "cuda/runtime/graphs.h"

#include <algorithm>

CUgraphNode_st* CUgraph_st::add(torchport::cuda::NodeWork work,
                                const std::vector<CUgraphNode_st*>& after) {
  auto node = std::make_unique<CUgraphNode_st>();
  node->graph = this;
  node->work = std::move(work);
  for (CUgraphNode_st* one : after)
    if (std::find(node->after.begin(), node->after.end(), one) == node->after.end())
      node->after.push_back(one);
  nodes.push_back(std::move(node));
  return nodes.back().get();
}

std::unique_ptr<CUgraph_st> CUgraph_st::copy(
    std::map<const CUgraphNode_st*, CUgraphNode_st*>& copies) const {
  auto made = std::make_unique<CUgraph_st>();
  made->kept = kept;
  for (const auto& node : nodes) copies[node.get()] = made->add(node->work, {});
  for (const auto& node : nodes)
    for (const CUgraphNode_st* one : node->after) copies[node.get()]->after.push_back(copies[one]);
  return made;
}

std::vector<CUgraphNode_st*> CUgraph_st::in_order() const {
  std::vector<CUgraphNode_st*> order;
  std::map<const CUgraphNode_st*, bool> done;
  bool changed = true;
  while (changed) {
    changed = false;
    for (const auto& node : nodes) {
      if (done[node.get()]) continue;
      const bool ready = std::all_of(node->after.begin(), node->after.end(),
                                     [&](const CUgraphNode_st* one) { return done[one]; });
      if (!ready) continue;
      done[node.get()] = true;
      order.push_back(node.get());
      changed = true;
    }
  }
  return order;
}

int CUgraph_st::run() const {
  for (const CUgraphNode_st* node : in_order()) {
    const auto& work = node->work;
    const int error = work.child != nullptr ? work.child->run() : work.run ? work.run() : 0;
    if (error != 0) return error;
  }
  return 0;
}
