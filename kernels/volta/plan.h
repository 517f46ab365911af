// The launches of the Volta kernels' passes (kernels/launch/plan.h).
#pragma once

#include <vector>

#include "kernels/block_sparse/sparse_lists.h"
#include "kernels/launch/plan.h"
#include "kernels/varlen/work_lists.h"
#include "kernels/volta/backward/params.h"

namespace sparkbench::volta {

/// Throws NoInstance (kernels/launch/serving_instance.h), and as check_packed() does
/// (kernels/varlen/work_lists.h).
std::vector<Step> plan(Accumulator accumulator, const PlanRequest& request, Workspace& workspace);

/// A dense backward pass with the dQ semaphore, with 2^slot_bits slots, whatever has_relay() says
/// (backward/relay_plan.h).
std::vector<Step> relay_plan(const KernelInstance& instance, const PlanRequest& request,
                             int slot_bits, Workspace& workspace);

/// The instances of a pattern's pass that take lists, in the order of its lists.
std::vector<const KernelInstance*> listed_instances(Accumulator accumulator,
                                                    const PlanRequest& request, Pass pass);

/// Launches of an instance, whether or not a plan would take it.
Step dense_step(const KernelInstance& instance, const Problem& problem, ParamBytes params);
Step varlen_step(const KernelInstance& instance, const Problem& packed, int items,
                 ParamBytes params);
Step listed_step(const KernelInstance& instance, const Problem& problem,
                 const SparseTileLists& lists, ParamBytes params);

/// The list that an instance takes of varlen sequences.
WorkListKind work_list_kind(const KernelInstance& instance);

/// The gradient launch over the blocks of a list. Its parameters have no tensors for split rows.
Step listed_gradients(const KernelInstance& instance, const Problem& problem,
                      const SparseTileLists& lists, const BackwardParams& params);

/// The instance with the dQ semaphore; null if there is none.
const KernelInstance* find_relay(Accumulator accumulator, const PlanRequest& request);

/// The walk over heads [first_member, end_member) of a group, whose offsets count listed tiles.
/// Throws std::invalid_argument where 31 bits are too few.
GroupWalk walk_of_lists(const KernelInstance& instance, const SparseTileLists& lists,
                        int first_member, int end_member);

/// Prepares the statistics of the queries, where a plan leaves that to the blocks of keys.
Step statistics_step(Accumulator accumulator, const PlanRequest& request,
                     const BackwardParams& params);

}  // namespace sparkbench::volta
