#include "harness/timing/gpu_graph.h"

#include <vector>

namespace sparkbench {
namespace {

bool is_launch(cudaGraphNode_t node) {
  cudaGraphNodeType type{};
  CUDA_CHECK(cudaGraphNodeGetType(node, &type));
  return type == cudaGraphNodeTypeKernel || type == cudaGraphNodeTypeMemcpy ||
         type == cudaGraphNodeTypeMemset;
}

int count_launches(cudaGraph_t graph) {
  std::size_t count = 0;
  CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  CUDA_CHECK(cudaGraphGetNodes(graph, nodes.data(), &count));
  int launches = 0;
  for (cudaGraphNode_t node : nodes) launches += is_launch(node) ? 1 : 0;
  return launches;
}

/// Ends the recording in any case; otherwise the stream would be unusable.
cudaGraph_t record(const CudaStream& stream, const std::function<void()>& enqueue) {
  CUDA_CHECK(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  cudaGraph_t graph = nullptr;
  try {
    enqueue();
  } catch (...) {
    cudaStreamEndCapture(stream.get(), &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();
    throw;
  }
  CUDA_CHECK(cudaStreamEndCapture(stream.get(), &graph));
  return graph;
}

}  // namespace

GpuGraph::GpuGraph(const CudaStream& stream, const std::function<void()>& enqueue)
    : graph_(record(stream, enqueue)) {
  try {
    launches_ = count_launches(graph_);
    CUDA_CHECK(cudaGraphInstantiateWithFlags(&executable_, graph_, 0));
  } catch (...) {
    cudaGraphDestroy(graph_);
    throw;
  }
}

GpuGraph::~GpuGraph() {
  cudaGraphExecDestroy(executable_);
  cudaGraphDestroy(graph_);
}

void GpuGraph::launch(const CudaStream& stream) const {
  CUDA_CHECK(cudaGraphLaunch(executable_, stream.get()));
}

}  // namespace sparkbench
