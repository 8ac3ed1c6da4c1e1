// The functions of graphs.
#include <cstring>
#include <fstream>

#include "cuda/runtime/copies.h"
#include "cuda/runtime/memory.h"
#include "cuda/runtime/state.h"
#include "cuda/runtime/streams.h"

using namespace torchport::cuda;

namespace torchport::cuda {
int record_call(const cudaKernelNodeParams& p, NodeWork& work);
}  // namespace torchport::cuda

struct CUuserObject_st {
  void* data = nullptr;
  cudaHostFn_t destroy = nullptr;
  std::atomic<int> references = 0;
};

namespace {

int added(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
          NodeWork work) {
  if (node == nullptr || graph == nullptr || (after == nullptr && count > 0))
    return cudaErrorInvalidValue;
  std::vector<cudaGraphNode_t> list(after, after + count);
  *node = graph->add(std::move(work), list);
  return 0;
}

// As many as there is room for; without a list, how many there are.
template <class T>
void handed_out(const std::vector<T>& all, T* list, size_t* count) {
  if (list == nullptr) {
    *count = all.size();
    return;
  }
  for (size_t i = 0; i < *count; ++i) list[i] = i < all.size() ? all[i] : nullptr;
  *count = std::min(*count, all.size());
}

NodeWork copy_work(const Box& box, int kind) {
  return {cudaGraphNodeTypeMemcpy, [box, kind] { return copy_box(box, kind, nullptr, false); }};
}
NodeWork set_work(const cudaMemsetParams& p) {
  return {cudaGraphNodeTypeMemset, [p] {
            return set_rows(p.dst, p.pitch, p.value, p.elementSize, p.width,
                            std::max<size_t>(p.height, 1), nullptr, false);
          }};
}
NodeWork host_work(const cudaHostNodeParams& p) {
  return {cudaGraphNodeTypeHost, [p] {
            p.fn(p.userData);
            return 0;
          }};
}

Box line(void* to, const void* from, size_t bytes) {
  Box box;
  box.to = static_cast<char*>(to);
  box.from = static_cast<const char*>(from);
  box.width = bytes;
  return box;
}

int changed(cudaGraphNode_t node, NodeWork work) {
  if (node == nullptr || node->work.type != work.type) return cudaErrorInvalidValue;
  node->work = std::move(work);
  return 0;
}

int replaced(cudaGraphExec_t exec, cudaGraphNode_t node, NodeWork work) {
  if (exec == nullptr) return cudaErrorInvalidValue;
  const auto found = exec->nodes.find(node);
  if (found == exec->nodes.end() || found->second->work.type != work.type)
    return cudaErrorInvalidValue;
  found->second->work = std::move(work);
  return 0;
}

}  // namespace

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags) {
  if (graph == nullptr || flags != 0) return told(cudaErrorInvalidValue);
  *graph = new CUgraph_st();
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  if (graph == nullptr) return told(cudaErrorInvalidValue);
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphClone(cudaGraph_t* copy, cudaGraph_t graph) {
  if (copy == nullptr || graph == nullptr) return told(cudaErrorInvalidValue);
  std::map<const CUgraphNode_st*, CUgraphNode_st*> copies;
  *copy = graph->copy(copies).release();
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  if (graph == nullptr || count == nullptr) return told(cudaErrorInvalidValue);
  std::vector<cudaGraphNode_t> all;
  for (const auto& one : graph->nodes) all.push_back(one.get());
  handed_out(all, nodes, count);
  return cudaSuccess;
}
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  if (graph == nullptr || count == nullptr) return told(cudaErrorInvalidValue);
  std::vector<cudaGraphNode_t> all;
  for (const auto& one : graph->nodes)
    if (one->after.empty()) all.push_back(one.get());
  handed_out(all, nodes, count);
  return cudaSuccess;
}
cudaError_t cudaGraphGetEdges_v2(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                 cudaGraphEdgeData* data, size_t* count) {
  if (graph == nullptr || count == nullptr) return told(cudaErrorInvalidValue);
  std::vector<cudaGraphNode_t> begins;
  std::vector<cudaGraphNode_t> ends;
  for (const auto& one : graph->nodes) {
    for (cudaGraphNode_t before : one->after) {
      begins.push_back(before);
      ends.push_back(one.get());
    }
  }
  if (data != nullptr) std::memset(data, 0, *count * sizeof(*data));
  size_t as_many = *count;
  if (to != nullptr) handed_out(ends, to, &as_many);
  handed_out(begins, from, count);
  return cudaSuccess;
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  if (node == nullptr || type == nullptr) return told(cudaErrorInvalidValue);
  *type = node->work.type;
  return cudaSuccess;
}
cudaError_t cudaGraphNodeGetDependencies_v2(cudaGraphNode_t node, cudaGraphNode_t* list,
                                            cudaGraphEdgeData* data, size_t* count) {
  if (node == nullptr || count == nullptr) return told(cudaErrorInvalidValue);
  if (data != nullptr) std::memset(data, 0, *count * sizeof(*data));
  handed_out(node->after, list, count);
  return cudaSuccess;
}
cudaError_t cudaGraphAddDependencies_v2(cudaGraph_t graph, const cudaGraphNode_t* from,
                                        const cudaGraphNode_t* to, const cudaGraphEdgeData*,
                                        size_t count) {
  if (graph == nullptr || (count > 0 && (from == nullptr || to == nullptr)))
    return told(cudaErrorInvalidValue);
  for (size_t i = 0; i < count; ++i) to[i]->after.push_back(from[i]);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  if (node == nullptr) return told(cudaErrorInvalidValue);
  auto& nodes = node->graph->nodes;
  for (const auto& one : nodes) std::erase(one->after, node);
  std::erase_if(nodes, [&](const auto& one) { return one.get() == node; });
  return cudaSuccess;
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* after, size_t count) {
  return told(added(node, graph, after, count, {cudaGraphNodeTypeEmpty}));
}
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* after, size_t count,
                                   const cudaKernelNodeParams* p) {
  if (p == nullptr) return told(cudaErrorInvalidValue);
  NodeWork work;
  if (const int error = record_call(*p, work)) return told(error);
  work.kernel.func = p->func;
  return told(added(node, graph, after, count, std::move(work)));
}
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* after, size_t count,
                                   const cudaMemcpy3DParms* p) {
  if (p == nullptr) return told(cudaErrorInvalidValue);
  Box box;
  if (const int error = box_of(*p, box)) return told(error);
  return told(added(node, graph, after, count, copy_work(box, p->kind)));
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* after, size_t count, void* to,
                                     const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (const int error = check_copy(to, from, bytes, kind)) return told(error);
  return told(added(node, graph, after, count, copy_work(line(to, from, bytes), kind)));
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* after, size_t count,
                                   const cudaMemsetParams* p) {
  if (p == nullptr || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4))
    return told(cudaErrorInvalidValue);
  return told(added(node, graph, after, count, set_work(*p)));
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                 const cudaGraphNode_t* after, size_t count,
                                 const cudaHostNodeParams* p) {
  if (p == nullptr || p->fn == nullptr) return told(cudaErrorInvalidValue);
  return told(added(node, graph, after, count, host_work(*p)));
}
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* after, size_t count,
                                       cudaGraph_t child) {
  if (child == nullptr) return told(cudaErrorInvalidValue);
  std::map<const CUgraphNode_st*, CUgraphNode_st*> copies;
  NodeWork work;
  work.type = cudaGraphNodeTypeGraph;
  work.child = child->copy(copies);
  return told(added(node, graph, after, count, std::move(work)));
}
cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                        const cudaGraphNode_t* after, size_t count,
                                        cudaEvent_t event) {
  if (!is_event(event)) return told(cudaErrorInvalidResourceHandle);
  return told(added(node, graph, after, count, {cudaGraphNodeTypeEventRecord, [event] {
                                                  event->recorded = true;
                                                  event->time = std::chrono::steady_clock::now();
                                                  return 0;
                                                }}));
}
cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                      const cudaGraphNode_t* after, size_t count,
                                      cudaEvent_t event) {
  if (!is_event(event)) return told(cudaErrorInvalidResourceHandle);
  return told(added(node, graph, after, count, {cudaGraphNodeTypeWaitEvent}));
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* p) {
  if (node == nullptr || p == nullptr || node->work.type != cudaGraphNodeTypeKernel)
    return told(cudaErrorInvalidValue);
  *p = node->work.kernel;
  return cudaSuccess;
}
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* p) {
  if (node == nullptr || p == nullptr || node->work.type != cudaGraphNodeTypeKernel)
    return told(cudaErrorInvalidValue);
  NodeWork work;
  if (const int error = record_call(*p, work)) return told(error);
  work.kernel.func = p->func;
  node->work = std::move(work);
  return cudaSuccess;
}
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* p) {
  if (p == nullptr) return told(cudaErrorInvalidValue);
  NodeWork work;
  if (const int error = record_call(*p, work)) return told(error);
  work.kernel.func = p->func;
  return told(replaced(exec, node, std::move(work)));
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to,
                                               const void* from, size_t bytes,
                                               cudaMemcpyKind kind) {
  if (const int error = check_copy(to, from, bytes, kind)) return told(error);
  return told(replaced(exec, node, copy_work(line(to, from, bytes), kind)));
}
cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemsetParams* p) {
  if (p == nullptr) return told(cudaErrorInvalidValue);
  return told(replaced(exec, node, set_work(*p)));
}
cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                           const cudaHostNodeParams* p) {
  if (p == nullptr || p->fn == nullptr) return told(cudaErrorInvalidValue);
  return told(replaced(exec, node, host_work(*p)));
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long) {
  if (exec == nullptr || graph == nullptr) return told(cudaErrorInvalidValue);
  if (const int error = use_device()) return told(error);
  if (graph->in_order().size() != graph->nodes.size()) return told(cudaErrorInvalidValue);
  auto made = std::make_unique<CUgraphExec_st>();
  made->graph = graph->copy(made->nodes);
  *exec = made.release();
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* p) {
  if (p == nullptr) return told(cudaErrorInvalidValue);
  const cudaError_t error = cudaGraphInstantiateWithFlags(exec, graph, p->flags);
  p->errNode_out = nullptr;
  p->result_out =
      error == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateInvalidStructure;
  return error;
}
cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from,
                                           size_t bytes, cudaMemcpyKind kind) {
  if (const int error = check_copy(to, from, bytes, kind)) return told(error);
  return told(changed(node, copy_work(line(to, from, bytes), kind)));
}
cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* p) {
  return told(p == nullptr ? static_cast<int>(cudaErrorInvalidValue) : changed(node, set_work(*p)));
}
cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* p) {
  if (p == nullptr || p->fn == nullptr) return told(cudaErrorInvalidValue);
  return told(changed(node, host_work(*p)));
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* result) {
  if (exec == nullptr || graph == nullptr) return told(cudaErrorInvalidValue);
  const auto& before = exec->graph->nodes;
  cudaGraphExecUpdateResult found = cudaGraphExecUpdateSuccess;
  if (before.size() != graph->nodes.size()) found = cudaGraphExecUpdateErrorTopologyChanged;
  for (size_t i = 0; found == cudaGraphExecUpdateSuccess && i < before.size(); ++i) {
    if (before[i]->work.type != graph->nodes[i]->work.type)
      found = cudaGraphExecUpdateErrorNodeTypeChanged;
    else if (before[i]->after.size() != graph->nodes[i]->after.size())
      found = cudaGraphExecUpdateErrorTopologyChanged;
  }
  if (result != nullptr) *result = {found, nullptr, nullptr};
  if (found != cudaGraphExecUpdateSuccess) return told(cudaErrorGraphExecUpdateFailure);
  exec->nodes.clear();
  exec->graph = graph->copy(exec->nodes);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  if (exec == nullptr) return told(cudaErrorInvalidValue);
  delete exec;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  if (exec == nullptr) return told(cudaErrorInvalidValue);
  bool captured = false;
  if (const int error = begin_work(stream, captured)) return told(error);
  if (!captured) return told(exec->graph->run());
  std::map<const CUgraphNode_st*, CUgraphNode_st*> copies;
  NodeWork work;
  work.type = cudaGraphNodeTypeGraph;
  work.child = exec->graph->copy(copies);
  return told(add_to_capture(stream, std::move(work)));
}
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  if (exec == nullptr) return told(cudaErrorInvalidValue);
  return told(stream_of(stream) == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess);
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned int) {
  if (graph == nullptr || path == nullptr) return told(cudaErrorInvalidValue);
  static constexpr const char* kTypes[] = {"KERNEL", "MEMCPY", "MEMSET",     "HOST",
                                           "GRAPH",  "EMPTY",  "WAIT EVENT", "EVENT RECORD"};
  std::ofstream out(path);
  out << "digraph dot {\n";
  std::map<const CUgraphNode_st*, size_t> numbers;
  for (const auto& node : graph->nodes) {
    const size_t number = numbers.emplace(node.get(), numbers.size()).first->second;
    const auto type = static_cast<size_t>(node->work.type);
    out << "\"node_" << number << "\" [label=\""
        << (type < std::size(kTypes) ? kTypes[type] : "MEM") << "\"];\n";
    for (const CUgraphNode_st* before : node->after)
      out << "\"node_" << numbers[before] << "\" -> \"node_" << number << "\";\n";
  }
  out << "}\n";
  return told(out ? cudaSuccess : cudaErrorOperatingSystem);
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* data, cudaHostFn_t destroy,
                                 unsigned int references, unsigned int) {
  if (object == nullptr || destroy == nullptr || references == 0)
    return told(cudaErrorInvalidValue);
  *object = new CUuserObject_st{data, destroy, static_cast<int>(references)};
  return cudaSuccess;
}
cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count) {
  if (object == nullptr || count == 0) return told(cudaErrorInvalidValue);
  object->references += static_cast<int>(count);
  return cudaSuccess;
}
cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count) {
  if (object == nullptr || count == 0) return told(cudaErrorInvalidValue);
  const int taken = static_cast<int>(count);
  if (object->references.fetch_sub(taken) > taken) return cudaSuccess;
  object->destroy(object->data);
  delete object;
  return cudaSuccess;
}
cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                      unsigned int count, unsigned int flags) {
  if (graph == nullptr || object == nullptr || count == 0) return told(cudaErrorInvalidValue);
  if (flags != cudaGraphUserObjectMove) cudaUserObjectRetain(object, count);
  graph->kept.push_back(std::shared_ptr<void>(object, [count](void* one) {
    cudaUserObjectRelease(static_cast<cudaUserObject_t>(one), count);
  }));
  return cudaSuccess;
}
cudaError_t cudaDeviceGraphMemTrim(int device) {
  return told(is_device(device) ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType, void* value) {
  if (!is_device(device)) return told(cudaErrorInvalidDevice);
  if (value == nullptr) return told(cudaErrorInvalidValue);
  *static_cast<std::uint64_t*>(value) = 0;
  return cudaSuccess;
}
