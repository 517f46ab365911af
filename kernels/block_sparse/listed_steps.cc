#include "kernels/block_sparse/listed_steps.h"

#include <utility>

#include "kernels/block_sparse/pattern_lists.h"

namespace sparkbench {
namespace {

template <class T>
void read_list(const char* name, const std::vector<T>& list, Step& step) {
  step.reads.push_back({name, list.data(), list.size() * sizeof(T)});
}

}  // namespace

MemoryPart split_part(const char* name, const void* first, const Problem& problem, int heads,
                      int rows) {
  return {name, first, part_tensor_bytes(problem, heads, rows)};
}

void read_lists(const SparseTileLists& lists, Step& step) {
  read_list("pattern blocks", lists.all_blocks(), step);
  read_list("pattern tiles", lists.all_tiles(), step);
  read_list("pattern words", lists.words(), step);
}

GradientParts::GradientParts(const Problem& problem, int key_rows, int query_rows,
                             Workspace& workspace) {
  const auto take = [&](const char* name, int heads, int rows) {
    return workspace.take<Bits16>(name, part_tensor_bytes(problem, heads, rows));
  };
  if (key_rows > 0) {
    dk = take("dk of parts", problem.key_heads(), key_rows);
    dv = take("dv of parts", problem.key_heads(), key_rows);
  }
  if (query_rows > 0) dq = take("dq of parts", problem.heads, query_rows);
}

const SparseTileLists& ListedBlocks::lists() const { return (*request_.lists)[list_]; }

int ListedBlocks::part_rows() const {
  return request_.lists != nullptr ? lists().part_rows()
                                   : rows_of_parts(mask_, list_kind_of(instance_));
}

SparseLists ListedBlocks::at_launch() const {
  return request_.lists->at(list_, request_.list_memory);
}

const SparseSplit* ListedBlocks::splits_at_launch() const {
  return request_.lists->splits_at(list_, request_.list_memory);
}

int ListedBlocks::heads() const {
  return instance_.pass() == "bwd" ? request_.problem.key_heads() : request_.problem.heads;
}

RowsOfHeads ListedBlocks::split_rows() const {
  return {static_cast<int>(lists().splits().size()) * instance_.block_rows, heads(),
          request_.problem.batch, request_.problem.element};
}

void ListedBlocks::write_splits(const char* name, const void* first, Step& step) const {
  if (part_rows() == 0) return;
  step.writes.push_back(split_part(name, first, request_.problem, heads(), part_rows()));
}

std::vector<Step> ListedBlocks::merge(const ForwardParams& params,
                                      const ForwardParts& parts) const {
  if (part_rows() == 0) return {};
  const Problem& problem = request_.problem;
  Step step = merge_parts_step(
      merge_parts_params(params, problem.seqlen_q, splits_at_launch(), instance_.block_rows),
      split_rows());
  step.reads = {split_part("o of parts", parts.o, problem, problem.heads, part_rows()),
                {"lse of parts", parts.lse, part_lse_bytes(problem, part_rows())}};
  read_list("splits", lists().splits(), step);
  return {std::move(step)};
}

std::vector<Step> ListedBlocks::sum(const char* name, int head_chunks,
                                    const ChunkedView<Bits16>& part,
                                    const ChunkedView<Bits16>& whole) const {
  if (part_rows() == 0) return {};
  const Problem& problem = request_.problem;
  const int seqlen = instance_.pass() == "bwd" ? problem.seqlen_k : problem.seqlen_q;
  const SplitRows rows{splits_at_launch(), instance_.block_rows, seqlen, part_rows()};
  Step step = sum_parts_step(sum_parts_params(rows, head_chunks, part, whole), split_rows());
  step.reads = {split_part(name, part.first, problem, heads(), part_rows())};
  read_list("splits", lists().splits(), step);
  return {std::move(step)};
}

}  // namespace sparkbench
