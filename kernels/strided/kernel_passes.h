// Passes of any kernel (launch/attention_kernel.h), whether or not its pattern is run as strided
// views: what lists they read, which workspace they take, and how they run on the emulated machine.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/base/sample.h"
#include "kernels/block_sparse/pattern_lists.h"
#include "kernels/launch/attention_kernel.h"
#include "kernels/machine/emulated/blocks/launch.h"

namespace sparkbench {

/// The lists of a pattern that a pass reads on the current GPU. In a training step each pass has
/// lists of its own. The kernel must have listed instances.
PatternLists sparse_lists(const AttentionKernel& kernel, const Problem& problem, Pass pass,
                          bool is_deterministic);

/// Device memory that a pass takes besides its tensors, on whichever device takes most: of a
/// training step, what either of its passes takes. 0 for what no device computes. Saturates at
/// 2^64 - 1. `tables` are those of a kernel that has some.
std::uint64_t workspace_bytes(const AttentionKernel& kernel, const Problem& problem, Pass pass,
                              bool is_deterministic, const MaskTables* tables = nullptr);
/// The same of `batch` varlen sequences, whose totals may be 0. A forward pass has one, too.
std::uint64_t packed_workspace_bytes(const AttentionKernel& kernel, const Problem& packed,
                                     int batch, Pass pass, bool is_deterministic);

/// Host tensors. The query tiles to compute; none means all.
EmulationReport emulate_forward(const AttentionKernel& kernel, const Problem& problem,
                                const ForwardTensors& tensors, const EmulationOptions& options,
                                std::span<const SampleTile> tiles);
EmulationReport emulate_backward(const AttentionKernel& kernel, const Problem& problem,
                                 const BackwardTensors& tensors, const EmulationOptions& options,
                                 bool is_deterministic, const BackwardSample& sample);

/// Varlen sequences, with the bits that the kernel gives each of them alone: but dQ's, unless
/// deterministic, which differ by the order of its sums, and those of Hopper's O where a sequence
/// alone would come in runs (hopper/row_form.h). Throws std::invalid_argument as check_packed()
/// (kernels/varlen/work_lists.h) does. The query tiles to compute are of the batch entry that a
/// sequence is.
EmulationReport emulate_packed_forward(const AttentionKernel& kernel, const Problem& packed,
                                       const PackedLengths& lengths, const ForwardTensors& tensors,
                                       const EmulationOptions& options,
                                       std::span<const SampleTile> tiles);
/// A sample has whole sequences: all query tiles of the heads that read a key head, and all key
/// tiles of it.
EmulationReport emulate_packed_backward(const AttentionKernel& kernel, const Problem& packed,
                                        const PackedLengths& lengths,
                                        const BackwardTensors& tensors,
                                        const EmulationOptions& options, bool is_deterministic,
                                        const BackwardSample& sample);

}  // namespace sparkbench
