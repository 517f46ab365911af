// Host memory for every tensor of a problem's graphs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reference/cudnn/attention_graph.h"
#include "reference/cudnn/plan.h"
#include "reference/cudnn/test_problems.h"
#include "reference/inputs/inputs.h"
#include "reference/tensors/test_layouts.h"

namespace sparkbench::cudnn {

constexpr std::uint64_t kTestInputSeed = 5;

struct HostTensors {
  explicit HostTensors(const Problem& problem, TestLayout layout = TestLayout::kContiguous)
      : inputs(make_inputs(problem, Distribution::kUniform, kTestInputSeed)),
        queries(query_shape(problem.lengths ? problem.packed() : problem)),
        keys(key_shape(problem.lengths ? problem.packed() : problem)),
        q(inputs.q, queries, layout),
        k(inputs.k, keys, layout),
        v(inputs.v, keys, layout),
        d_o(make_gradient_input(problem, Distribution::kUniform, kTestInputSeed), queries, layout),
        o(queries, layout),
        dq(queries, layout),
        dk(keys, layout),
        dv(keys, layout),
        lse(problem.lse_elements()),
        dk_of_heads(elements_of_heads(problem, dk.strides)),
        dv_of_heads(elements_of_heads(problem, dv.strides)),
        seed(static_cast<std::int64_t>(problem.seed)) {
    if (problem.lengths) batch = ragged_batch(problem);
    const RaggedBatch* const ragged = batch ? &*batch : nullptr;
    delta.resize(delta_elements(problem, ragged));
    dq_sum.resize(dq_sum_elements(problem, ragged));
    if (!batch) return;
    rows = batch->rows();
    keys_of_each = batch->keys();
    offsets = ragged_offsets(*batch, strides());
  }

  std::vector<Binding> bindings() {
    std::vector<Binding> all = {{kQ, q.view().data},
                                {kK, k.view().data},
                                {kV, v.view().data},
                                {kO, o.view().data},
                                {kLse, lse.data()},
                                {kSeed, &seed},
                                {kOffset, &offset},
                                {kDO, d_o.view().data},
                                {kDq, dq.view().data},
                                {kDk, dk.view().data},
                                {kDv, dv.view().data},
                                {kDelta, delta.data()},
                                {kDqSum, dq_sum.data()},
                                {kDkOfHeads, dk_of_heads.data()},
                                {kDvOfHeads, dv_of_heads.data()},
                                {kRows, rows.data()},
                                {kKeys, keys_of_each.data()}};
    for (RaggedOffsets& of : offsets) {
      all.push_back({offsets_id(of.tensor), of.first_elements.data()});
    }
    return all;
  }
  AttentionPlan plan(const Problem& problem, const AttentionStrides& strides) const {
    return {problem, strides, kTestVersion, batch ? &*batch : nullptr};
  }
  AttentionStrides strides() const {
    return {q.strides,   k.strides,  v.strides,  o.strides,
            d_o.strides, dq.strides, dk.strides, dv.strides};
  }
  bool have_untouched_gaps() const {
    return o.has_untouched_gaps() && dq.has_untouched_gaps() && dk.has_untouched_gaps() &&
           dv.has_untouched_gaps();
  }

  OwnedInputs inputs;
  TensorShape queries, keys;
  LaidOutTensor q, k, v, d_o, o, dq, dk, dv;
  std::vector<float> lse, delta, dq_sum;
  std::vector<Half> dk_of_heads, dv_of_heads;
  std::int64_t seed, offset = 0;
  std::optional<RaggedBatch> batch;
  std::vector<std::int32_t> rows, keys_of_each;
  std::vector<RaggedOffsets> offsets;
};

}  // namespace sparkbench::cudnn
