#include "kernels/launch/pass_regions.h"

#include <array>
#include <span>

#include "kernels/launch/tensor_regions.h"

namespace sparkbench {
namespace {

/// Those with rows, LSE, and the dropout offset where there is one.
std::vector<GlobalRegion> regions_of_pass(const Problem& problem,
                                          std::span<const TensorRegion> tensors, const float* lse,
                                          bool reads_lse, const DropoutOffset* offset) {
  std::vector<TensorRegion> with_rows;
  for (const TensorRegion& tensor : tensors) {
    if (tensor.extent[1] > 0) with_rows.push_back(tensor);
  }
  std::vector<GlobalRegion> all = regions_of(with_rows);
  if (problem.lse_elements() > 0) {
    all.push_back({"lse", const_cast<float*>(lse), problem.lse_elements() * sizeof(float),
                   reads_lse, !reads_lse});
  }
  if (offset != nullptr) {
    all.push_back(
        {"dropout_offset", const_cast<DropoutOffset*>(offset), sizeof *offset, true, false});
  }
  return all;
}

}  // namespace

std::vector<GlobalRegion> forward_regions(const Problem& problem, const ForwardTensors& tensors) {
  const TensorShape queries = query_shape(problem), keys = key_shape(problem);
  return regions_of_pass(
      problem,
      std::array{input_region("q", tensors.q, queries), input_region("k", tensors.k, keys),
                 input_region("v", tensors.v, keys), output_region("o", tensors.o, queries)},
      tensors.lse, false, tensors.dropout_offset);
}

std::vector<GlobalRegion> backward_regions(const Problem& problem, const BackwardTensors& tensors) {
  const BackwardTensors& t = tensors;
  const TensorShape queries = query_shape(problem), keys = key_shape(problem);
  return regions_of_pass(
      problem,
      std::array{input_region("q", t.q, queries), input_region("k", t.k, keys),
                 input_region("v", t.v, keys), input_region("o", t.o, queries),
                 input_region("d_o", t.d_o, queries), output_region("dq", t.dq, queries),
                 output_region("dk", t.dk, keys), output_region("dv", t.dv, keys)},
      t.lse, true, t.dropout_offset);
}

}  // namespace sparkbench
