// CUDA's runtime: streams, events, captures.
#pragma once

#include "cuda_runtime_api.h"

TORCHPORT_CUDART cudaError_t cudaStreamCreate(cudaStream_t* stream);
TORCHPORT_CUDART cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags);
TORCHPORT_CUDART cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags,
                                                          int priority);
TORCHPORT_CUDART cudaError_t cudaStreamDestroy(cudaStream_t stream);
TORCHPORT_CUDART cudaError_t cudaStreamSynchronize(cudaStream_t stream);
TORCHPORT_CUDART cudaError_t cudaStreamQuery(cudaStream_t stream);
TORCHPORT_CUDART cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags);
TORCHPORT_CUDART cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority);
TORCHPORT_CUDART cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id);
TORCHPORT_CUDART cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device);
TORCHPORT_CUDART cudaError_t cudaStreamGetAttribute(cudaStream_t stream,
                                                    cudaLaunchAttributeID which,
                                                    cudaLaunchAttributeValue* value);
TORCHPORT_CUDART cudaError_t cudaStreamSetAttribute(cudaStream_t stream,
                                                    cudaLaunchAttributeID which,
                                                    const cudaLaunchAttributeValue* value);
TORCHPORT_CUDART cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from);
TORCHPORT_CUDART cudaError_t cudaCtxResetPersistingL2Cache(void);
TORCHPORT_CUDART cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                                 unsigned int flags TORCHPORT_DEFAULT(0));
TORCHPORT_CUDART cudaError_t cudaStreamAddCallback(cudaStream_t stream,
                                                   cudaStreamCallback_t callback, void* userData,
                                                   unsigned int flags);
TORCHPORT_CUDART cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function,
                                                void* userData);
TORCHPORT_CUDART cudaError_t
cudaStreamAttachMemAsync(cudaStream_t stream, void* memory, size_t length TORCHPORT_DEFAULT(0),
                         unsigned int flags TORCHPORT_DEFAULT(cudaMemAttachSingle));

TORCHPORT_CUDART cudaError_t cudaEventCreate(cudaEvent_t* event);
TORCHPORT_CUDART cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags);
TORCHPORT_CUDART cudaError_t cudaEventRecord(cudaEvent_t event,
                                             cudaStream_t stream TORCHPORT_DEFAULT(0));
TORCHPORT_CUDART cudaError_t cudaEventRecordWithFlags(cudaEvent_t event,
                                                      cudaStream_t stream TORCHPORT_DEFAULT(0),
                                                      unsigned int flags TORCHPORT_DEFAULT(0));
TORCHPORT_CUDART cudaError_t cudaEventQuery(cudaEvent_t event);
TORCHPORT_CUDART cudaError_t cudaEventSynchronize(cudaEvent_t event);
TORCHPORT_CUDART cudaError_t cudaEventDestroy(cudaEvent_t event);
TORCHPORT_CUDART cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start,
                                                  cudaEvent_t end);
#define cudaEventElapsedTime_v2 cudaEventElapsedTime

TORCHPORT_CUDART cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
                                                    enum cudaStreamCaptureMode mode);
TORCHPORT_CUDART cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                                           const cudaGraphNode_t* after,
                                                           const cudaGraphEdgeData* edges,
                                                           size_t count,
                                                           enum cudaStreamCaptureMode mode);
TORCHPORT_CUDART cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
TORCHPORT_CUDART cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                                   enum cudaStreamCaptureStatus* status);
TORCHPORT_CUDART cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode* mode);
TORCHPORT_CUDART cudaError_t cudaStreamGetCaptureInfo_v3(
    cudaStream_t stream, enum cudaStreamCaptureStatus* status,
    unsigned long long* id TORCHPORT_DEFAULT(NULL), cudaGraph_t* graph TORCHPORT_DEFAULT(NULL),
    const cudaGraphNode_t** dependencies TORCHPORT_DEFAULT(NULL),
    const cudaGraphEdgeData** edges TORCHPORT_DEFAULT(NULL), size_t* count TORCHPORT_DEFAULT(NULL));
TORCHPORT_CUDART cudaError_t cudaStreamGetCaptureInfo_v2(
    cudaStream_t stream, enum cudaStreamCaptureStatus* status,
    unsigned long long* id TORCHPORT_DEFAULT(NULL), cudaGraph_t* graph TORCHPORT_DEFAULT(NULL),
    const cudaGraphNode_t** dependencies TORCHPORT_DEFAULT(NULL),
    size_t* count TORCHPORT_DEFAULT(NULL));
TORCHPORT_CUDART cudaError_t cudaStreamUpdateCaptureDependencies_v2(
    cudaStream_t stream, cudaGraphNode_t* dependencies, const cudaGraphEdgeData* edges,
    size_t count, unsigned int flags TORCHPORT_DEFAULT(0));

#if defined(__cplusplus)
// As CUDA 13 has them, and as CUDA 12 does.
inline cudaError_t cudaStreamGetCaptureInfo(
    cudaStream_t stream, enum cudaStreamCaptureStatus* status, unsigned long long* id = nullptr,
    cudaGraph_t* graph = nullptr, const cudaGraphNode_t** dependencies = nullptr,
    const cudaGraphEdgeData** edges = nullptr, size_t* count = nullptr) {
  return cudaStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, edges, count);
}
inline cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
                                                       cudaGraphNode_t* dependencies,
                                                       const cudaGraphEdgeData* edges, size_t count,
                                                       unsigned int flags = 0) {
  return cudaStreamUpdateCaptureDependencies_v2(stream, dependencies, edges, count, flags);
}
inline cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
                                                       cudaGraphNode_t* dependencies, size_t count,
                                                       unsigned int flags = 0) {
  return cudaStreamUpdateCaptureDependencies_v2(stream, dependencies, nullptr, count, flags);
}
#endif
