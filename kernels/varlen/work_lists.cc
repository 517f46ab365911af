#include "kernels/varlen/work_lists.h"

#include <stdexcept>
#include <string>

#include "kernels/base/ceil_divide.h"
#include "kernels/base/round_up.h"

namespace sparkbench {
namespace {

constexpr int kLongest = 1 << 30;        // key_mask.h
constexpr int kMostSequences = 1 << 22;  // 32 bits count rows of the workspace

}  // namespace

int work_items(const Problem& packed, int batch, const WorkListKind& kind) {
  const int total = kind.is_of_keys ? packed.seqlen_k : packed.seqlen_q;
  const int blocks = most_packed_blocks(total, batch, kind.block_rows);
  return blocks <= kItemsOfAxis ? blocks : ceil_divide(blocks, kItemsOfAxis) * kItemsOfAxis;
}

std::uint64_t work_list_bytes(const Problem& packed, int batch, const WorkListKind& kind) {
  const auto items = static_cast<std::uint64_t>(work_items(packed, batch, kind));
  if (items == 0) return 0;
  return round_up(items * sizeof(WorkItem) + (static_cast<std::uint64_t>(batch) + 1) * sizeof(int),
                  std::uint64_t{256});
}

void check_packed(const Problem& packed, const PackedLengths& lengths) {
  const auto refuse = [](const char* why) {
    throw std::invalid_argument(std::string("packed sequences ") + why);
  };
  if (packed.batch != 1) refuse("are tensors of batch 1");
  if (packed.seqlen_q < 0 || packed.seqlen_k < 0 || lengths.batch < 0) {
    refuse("of a negative total or number");
  }
  if (packed.seqlen_q >= kLongest || packed.seqlen_k >= kLongest ||
      lengths.batch >= kMostSequences) {
    refuse("of 2^30 rows, or 2^22 sequences, or more");
  }
}

WorkListParams work_list(const Problem& packed, const PackedLengths& lengths,
                         const WorkListKind& kind, void* memory) {
  WorkListParams list{};
  list.cu_seqlens_q = lengths.cu_seqlens_q;
  list.cu_seqlens_k = lengths.cu_seqlens_k;
  list.batch = lengths.batch;
  list.total_q = packed.seqlen_q;
  list.total_k = packed.seqlen_k;
  list.mask = open_mask(packed.mask);
  list.is_of_keys = kind.is_of_keys;
  list.block_rows = kind.block_rows;
  list.items = static_cast<WorkItem*>(memory);
  list.items_end = work_items(packed, lengths.batch, kind);
  list.first_block = reinterpret_cast<int*>(list.items + list.items_end);
  return list;
}

}  // namespace sparkbench
