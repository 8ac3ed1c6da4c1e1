// CUDA's runtime: graphs.
#pragma once

#include "cuda_runtime_api.h"

TORCHPORT_CUDART cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags);
TORCHPORT_CUDART cudaError_t cudaGraphDestroy(cudaGraph_t graph);
TORCHPORT_CUDART cudaError_t cudaGraphClone(cudaGraph_t* copy, cudaGraph_t graph);
TORCHPORT_CUDART cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes,
                                               size_t* count);
TORCHPORT_CUDART cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes,
                                                   size_t* count);
TORCHPORT_CUDART cudaError_t cudaGraphGetEdges_v2(cudaGraph_t graph, cudaGraphNode_t* from,
                                                  cudaGraphNode_t* to, cudaGraphEdgeData* data,
                                                  size_t* count);
TORCHPORT_CUDART cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node,
                                                  enum cudaGraphNodeType* type);
TORCHPORT_CUDART cudaError_t cudaGraphNodeGetDependencies_v2(cudaGraphNode_t node,
                                                             cudaGraphNode_t* list,
                                                             cudaGraphEdgeData* data,
                                                             size_t* count);
TORCHPORT_CUDART cudaError_t cudaGraphAddDependencies_v2(cudaGraph_t graph,
                                                         const cudaGraphNode_t* from,
                                                         const cudaGraphNode_t* to,
                                                         const cudaGraphEdgeData* data,
                                                         size_t count);
TORCHPORT_CUDART cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node);
TORCHPORT_CUDART cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                    const cudaGraphNode_t* after, size_t count,
                                                    const struct cudaKernelNodeParams* p);
TORCHPORT_CUDART cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                    const cudaGraphNode_t* after, size_t count,
                                                    const struct cudaMemcpy3DParms* p);
TORCHPORT_CUDART cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                                      const cudaGraphNode_t* after, size_t count,
                                                      void* to, const void* from, size_t bytes,
                                                      enum cudaMemcpyKind kind);
TORCHPORT_CUDART cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                    const cudaGraphNode_t* after, size_t count,
                                                    const struct cudaMemsetParams* p);
TORCHPORT_CUDART cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                  const cudaGraphNode_t* after, size_t count,
                                                  const struct cudaHostNodeParams* p);
TORCHPORT_CUDART cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                   const cudaGraphNode_t* after, size_t count);
TORCHPORT_CUDART cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                        const cudaGraphNode_t* after, size_t count,
                                                        cudaGraph_t child);
TORCHPORT_CUDART cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                         const cudaGraphNode_t* after, size_t count,
                                                         cudaEvent_t event);
TORCHPORT_CUDART cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                       const cudaGraphNode_t* after, size_t count,
                                                       cudaEvent_t event);
TORCHPORT_CUDART cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
                                                          struct cudaKernelNodeParams* p);
TORCHPORT_CUDART cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                                          const struct cudaKernelNodeParams* p);
TORCHPORT_CUDART cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec,
                                                              cudaGraphNode_t node,
                                                              const struct cudaKernelNodeParams* p);
TORCHPORT_CUDART cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec,
                                                                cudaGraphNode_t node, void* to,
                                                                const void* from, size_t bytes,
                                                                enum cudaMemcpyKind kind);
TORCHPORT_CUDART cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec,
                                                              cudaGraphNode_t node,
                                                              const struct cudaMemsetParams* p);
TORCHPORT_CUDART cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec,
                                                            cudaGraphNode_t node,
                                                            const struct cudaHostNodeParams* p);
TORCHPORT_CUDART cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                           unsigned long long flags);
TORCHPORT_CUDART cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* exec,
                                                            cudaGraph_t graph,
                                                            cudaGraphInstantiateParams* p);
TORCHPORT_CUDART cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to,
                                                            const void* from, size_t bytes,
                                                            enum cudaMemcpyKind kind);
TORCHPORT_CUDART cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node,
                                                          const struct cudaMemsetParams* p);
TORCHPORT_CUDART cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node,
                                                        const struct cudaHostNodeParams* p);
TORCHPORT_CUDART cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                                 cudaGraphExecUpdateResultInfo* result);
TORCHPORT_CUDART cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
TORCHPORT_CUDART cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
TORCHPORT_CUDART cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream);
TORCHPORT_CUDART cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path,
                                                    unsigned int flags);
TORCHPORT_CUDART cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* data,
                                                  cudaHostFn_t destroy, unsigned int references,
                                                  unsigned int flags);
TORCHPORT_CUDART cudaError_t cudaUserObjectRetain(cudaUserObject_t object,
                                                  unsigned int count TORCHPORT_DEFAULT(1));
TORCHPORT_CUDART cudaError_t cudaUserObjectRelease(cudaUserObject_t object,
                                                   unsigned int count TORCHPORT_DEFAULT(1));
TORCHPORT_CUDART cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                                       unsigned int count TORCHPORT_DEFAULT(1),
                                                       unsigned int flags TORCHPORT_DEFAULT(0));
TORCHPORT_CUDART cudaError_t cudaDeviceGraphMemTrim(int device);
TORCHPORT_CUDART cudaError_t cudaDeviceGetGraphMemAttribute(int device,
                                                            enum cudaGraphMemAttributeType which,
                                                            void* value);

#if !defined(__cplusplus)
#define cudaGraphInstantiate cudaGraphInstantiateWithFlags
#define cudaGraphGetEdges cudaGraphGetEdges_v2
#define cudaGraphNodeGetDependencies cudaGraphNodeGetDependencies_v2
#define cudaGraphAddDependencies cudaGraphAddDependencies_v2
#define cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_v3
#define cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_v2
#else
// As CUDA 13 has them, and as CUDA 12 does.
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                        unsigned long long flags = 0) {
  return cudaGraphInstantiateWithFlags(exec, graph, flags);
}
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                        cudaGraphNode_t* /*node*/, char* /*log*/, size_t /*size*/) {
  return cudaGraphInstantiateWithFlags(exec, graph, 0);
}
inline cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                     cudaGraphEdgeData* data, size_t* count) {
  return cudaGraphGetEdges_v2(graph, from, to, data, count);
}
inline cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                                     size_t* count) {
  return cudaGraphGetEdges_v2(graph, from, to, nullptr, count);
}
inline cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* list,
                                                cudaGraphEdgeData* data, size_t* count) {
  return cudaGraphNodeGetDependencies_v2(node, list, data, count);
}
inline cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* list,
                                                size_t* count) {
  return cudaGraphNodeGetDependencies_v2(node, list, nullptr, count);
}
inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                            const cudaGraphNode_t* to,
                                            const cudaGraphEdgeData* data, size_t count) {
  return cudaGraphAddDependencies_v2(graph, from, to, data, count);
}
inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                            const cudaGraphNode_t* to, size_t count) {
  return cudaGraphAddDependencies_v2(graph, from, to, nullptr, count);
}
#endif
