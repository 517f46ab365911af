// The order in which a key block visits queries: for each query head that reads its key head, the
// tiles that see one of its keys. dK and dV are sums over all of them.
#pragma once

#include "kernels/base/planted_fault.h"
#include "kernels/hopper/backward/config.h"
#include "kernels/hopper/backward/params.h"
#include "kernels/tile/forward_block.h"
#include "kernels/tile/walk.h"

namespace sparkbench::hopper {

/// Which keys of which key head a block has, from first_key of its sequence on.
struct KeyBlock {
  int batch, key_head, first_key;
  int sequence;                  // batch, or index of the varlen sequence
  int first_q = 0, first_k = 0;  // where this begins in its tensors

  /// A query head's (sequence, head) index in the dropout mask.
  SPARK_DEVICE std::uint32_t batch_head(const BackwardParams& params, int head) const {
    return static_cast<std::uint32_t>(sequence * params.heads + head);
  }
};

template <class Config, class Machine>
SPARK_DEVICE KeyBlock locate_keys(Machine& machine, const BackwardParams& params) {
  if constexpr (kIsVarlen<Config>) {
    const WorkPlace place = load_work_place(machine, params.items);
    return {0, machine.block(0), place.first_row, place.sequence, place.first_q, place.first_k};
  }
  const int batch = machine.block(2);
  if constexpr (kIsSparse<Config>) {
    // The lists of all heads have the same first rows.
    const int key_head = machine.block(0), head = key_head * params.groups.size;
    return {batch, key_head,
            load_of_list(machine, &params.sparse.block(head, machine.block(1))->first_row), batch};
  }
  return {batch, machine.block(1), Config::kBlockKeys * machine.block(0), batch};
}

template <class Config, class Machine>
class QueryWalk {
 public:
  SPARK_DEVICE QueryWalk(Machine& machine, const BackwardParams& params, const KeyBlock& block)
      : machine_(machine), params_(params), block_(block), head_(first_head()) {
    places_ = places_of(head_);
    place_ = first_place();
    skip_heads_without_tiles();
  }

  /// All tiles of the walk.
  SPARK_DEVICE int tiles() const {
    if constexpr (kIsSparse<Config>) {
      int tiles = 0;
      for (int head = first_head(); head < end_head(); ++head) {
        tiles += places_of(head).size() / Config::kStep;
      }
      return tiles;
    } else {
      if (places_.is_empty()) return 0;
      const int of_head = (places_.end - first_place() + Config::kStep - 1) / Config::kStep;
      return of_head * SPARK_PLANTED(kHopperLastHeadOfGroupLost, params_.groups.size,
                                     most_of(params_.groups.size - 1, 1));
    }
  }
  SPARK_DEVICE void advance() {
    place_ += Config::kStep;
    if (place_ < places_.end) return;
    next_head();
    skip_heads_without_tiles();
  }

  SPARK_DEVICE int head() const { return head_; }
  SPARK_DEVICE int place() const { return place_; }
  SPARK_DEVICE std::uint32_t batch_head() const {
    return block_.batch_head(params_,
                             SPARK_PLANTED(kHopperDropoutOfFirstHead, head_, first_head()));
  }

 private:
  SPARK_DEVICE int first_head() const { return block_.key_head * params_.groups.size; }
  SPARK_DEVICE int end_head() const { return first_head() + params_.groups.size; }
  SPARK_DEVICE Range places_of(int head) const {
    if constexpr (kIsSparse<Config>) {
      return places_of_block<Config::kStep>(machine_, params_.sparse, head);
    } else {
      const SequenceMask<Config> mask = mask_of_block<Config>(machine_, params_);
      const int end = least_of(block_.first_key + Config::kBlockKeys, mask.seqlen_k);
      const Range rows = mask.rows_of_any({block_.first_key, end});
      if constexpr (!Config::kSumsDq) return rows;
      return {most_of(rows.begin, params_.query_begin), least_of(rows.end, params_.query_end)};
    }
  }
  SPARK_DEVICE int first_place() const { return places_.begin / Config::kStep * Config::kStep; }
  SPARK_DEVICE void next_head() {
    ++head_;
    if constexpr (kIsSparse<Config>) {
      if (head_ < end_head()) places_ = places_of(head_);
    }
    place_ = first_place();
  }
  SPARK_DEVICE void skip_heads_without_tiles() {
    while (head_ < end_head() && place_ >= places_.end) next_head();
  }

  Machine& machine_;
  const BackwardParams& params_;
  const KeyBlock& block_;
  int head_, place_;
  Range places_;
};

/// A tile of queries: its first query, and whether it is partial.
struct QueryTileAt {
  int query;
  bool is_cut;
};
template <class Config, class Machine>
SPARK_DEVICE QueryTileAt query_tile(Machine& machine, const BackwardParams& params, int place) {
  if constexpr (kIsSparse<Config>) {
    const SparseTile* const tile = tile_of_place<Config::kStep>(params.sparse, place);
    const int first = load_of_list(machine, &tile->first);
    return {first_of_tile(first), is_cut_tile(first)};
  } else {
    return {place, true};
  }
}

}  // namespace sparkbench::hopper
