// The forward kernel: the loop over the tiles of keys that a block computes whole, in part, or only
// stages for its other warps. schedules.h has the steps within a tile.
#pragma once

#include <type_traits>

#include "kernels/base/planted_fault.h"
#include "kernels/tile/walk.h"
#include "kernels/volta/forward/schedules.h"

namespace sparkbench::volta {

/// The first and the last tiles that a warp sees, where it computes only a part of them. They stand
/// outside the loop over whole tiles, which is slower with a branch in it. Each moves `first_key`
/// on.
struct WholeEdges {
  template <class Warp>
  SPARK_DEVICE static void attend_first(Warp& /*warp*/, int& /*first_key*/) {}
  template <class Warp>
  SPARK_DEVICE static bool is_whole(const Warp& warp, const int& first_key) {
    return first_key < warp.end_of_warp();
  }
  template <class Warp>
  SPARK_DEVICE static void attend_last(Warp& /*warp*/, int& /*first_key*/) {}
};
/// Half of a tile.
struct HalfEdges {
  template <class Warp>
  SPARK_DEVICE static void attend_first(Warp& warp, int& first_key) {
    if (!warp.begins_with_half(first_key)) return;
    attend_half(warp, first_key, 1);
    first_key = warp.next_of_warp(first_key);
  }
  template <class Warp>
  SPARK_DEVICE static bool is_whole(const Warp& warp, const int& first_key) {
    return first_key + kHalfKeys < warp.end_of_warp();
  }
  template <class Warp>
  SPARK_DEVICE static void attend_last(Warp& warp, int& first_key) {
    if (first_key >= warp.end_of_warp()) return;
    attend_half(warp, first_key, 0);
    first_key = warp.next_of_warp(first_key);
  }
};
/// One of the warp's groups of rows: at most one tile is seen by only that group.
template <class Config>
struct GroupEdges {
  template <class Warp>
  SPARK_DEVICE static void attend_first(Warp& warp, int& first_key) {
    attend_group<0>(warp, warp.first_of_later_rows(), first_key);
  }
  template <class Warp>
  SPARK_DEVICE static bool is_whole(const Warp& warp, const int& first_key) {
    return first_key < warp.template keys_of_group<0>().end;
  }
  template <class Warp>
  SPARK_DEVICE static void attend_last(Warp& warp, int& first_key) {
    attend_group<1>(warp, warp.end_of_warp(), first_key);
  }

 private:
  template <int kGroup, class Warp>
  SPARK_DEVICE static void attend_group(Warp& warp, int end, int& first_key) {
    if (first_key >= end) return;
    attend_tile<GroupOf<Config, kGroup>>(warp, first_key);
    first_key = warp.next_of_warp(first_key);
  }
};
template <class Config>
using EdgesOf =
    std::conditional_t<Config::kHasHalves, HalfEdges,
                       std::conditional_t<Config::kSpreadsRows, GroupEdges<Config>, WholeEdges>>;

/// All tiles of a block: those that only rows before the warp's see, those that the warp sees, and
/// those that only rows after it do. The bounds are recomputed with each tile.
template <class Config, class Warp>
SPARK_DEVICE void attend_tiles(Warp& warp, DenseWalk /*or VarlenWalk*/) {
  using Edges = EdgesOf<Config>;
  constexpr int kKeys = Config::kBlockN;
  int first_key = first_tile<kKeys>(warp.keys_of_block());
  warp.stage_first_tiles(first_key);  // line 1
#pragma unroll 1
  while (first_key < first_tile<kKeys>(warp.keys_of_warp()) &&
         first_key < warp.keys_of_block().end) {
    warp.stage_for_others(first_key);  // line 10
    first_key = next_tile<kKeys>(warp.keys_of_block(), first_key);
  }
  Edges::attend_first(warp, first_key);
#pragma unroll 1
  while (Edges::is_whole(warp, first_key)) {  // line 2
    attend_tile<Config>(warp, first_key);
    first_key = warp.next_of_warp(first_key);
  }
  Edges::attend_last(warp, first_key);
#pragma unroll 1
  while (first_key < warp.keys_of_block().end) {
    warp.stage_for_others(first_key);  // line 10
    first_key = next_tile<kKeys>(warp.keys_of_block(), first_key);
  }
}

/// The same for the tiles of a pattern's list, which tells also which halves the warp sees. Tiles
/// that it computes whole have a loop of their own, where registers allow.
template <class Config, class Warp>
SPARK_DEVICE void attend_tiles(Warp& warp, BlockSparseWalk) {
  int place = warp.keys_of_block().begin;
  warp.stage_first_tiles(place);  // line 1
#pragma unroll 1
  for (;; place += Config::kBlockN) {  // line 2
    if constexpr (Config::kLoopsOverWhole) {
#pragma unroll 1
      for (; warp.computes_whole(); place += Config::kBlockN) attend_tile<Config>(warp, place);
    }
    if (!warp.has_tile()) break;
    const int halves = warp.halves_seen();
    if (!Config::kLoopsOverWhole && warp.computes_whole()) {
      attend_tile<Config>(warp, place);
    } else if (halves == 0) {
      warp.stage_for_others(place);  // line 10
    } else {
      if constexpr (Config::kHasHalves) {
        attend_half(warp, place, SPARK_PLANTED(kOtherHalfOfTile, halves >> 1, (halves >> 1) ^ 1));
      }
    }
  }
}

template <class Config, class Machine>
using WarpOf = std::conditional_t<Config::kLoop == KeyLoop::kPieces, PieceWarp<Config, Machine>,
                                  ForwardWarp<Config, Machine>>;

/// The kernel.
template <class Config, class Machine>
SPARK_DEVICE void attention_forward(Machine& machine, const ForwardParams& params) {
  if (is_without_work<Config>(machine, params)) return;
  WarpOf<Config, Machine> warp(machine, params);
  attend_tiles<Config>(warp, WalkOf<Config>());
  warp.write();  // line 11
}

}  // namespace sparkbench::volta
