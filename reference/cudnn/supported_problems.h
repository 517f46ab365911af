// Which problems cuDNN's graphs of attention (attention_graph.h) can express.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "kernels/problem/attention.h"

namespace sparkbench::cudnn {

/// Why there is no graph of the problem; empty if there is one. cuDNN has no head_dim other than
/// multiples of 8 (its documentation of fused attention), no rows without a visible key (except
/// varlen, see ragged_batch.h), no dropout under a mask of unequal lengths, and no prefix.
/// `library_version` is Api::version's.
std::optional<std::string> why_no_graph(const Problem& problem, std::size_t library_version);

}  // namespace sparkbench::cudnn
