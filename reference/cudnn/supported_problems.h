// Which problems cuDNN's graphs of attention (attention_graph.h) can say.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "kernels/attention.h"

namespace sparkbench::cudnn {

/// Why there is no graph of the problem, or nothing when there is one: cuDNN has no head_dim that
/// is no multiple of 8 (its documentation of fused attention), no rows without a visible key (but
/// for packed sequences, see ragged_batch.h), no dropout under a mask of unequal lengths, and no
/// prefix. `library_version` is that of Api::version.
std::optional<std::string> why_no_graph(const Problem& problem, std::size_t library_version);

}  // namespace sparkbench::cudnn
