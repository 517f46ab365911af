// Rows of S, P or dP in GPU memory and the lanes that walk over them, for the kernels between the
// GEMMs of the unfused computation. A team has a row: half a warp, or 1 to 16 warps. It keeps a
// segment of the row in registers, which is all of it, unless it is longer than 32768 halves or
// 16384 floats. So a row is read once and written once.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/attention.h"
#include "kernels/machine/cuda_check.h"
#include "kernels/mask/dropout_views.h"
#include "reference/cublas/score_chunk.cuh"

namespace sparkbench {

inline constexpr int kWarpLanes = 32;
inline constexpr int kMostTeamWarps = 16;

/// Rows whose teams are not in their order, where a warp has two.
inline constexpr int kPairedRows = 16;

/// A pattern in the place of the mask: a bit a column, a byte a chunk, in rows of whole 64-bit
/// words, [unions, seqlen_q, row_bytes]. Heads of a batch element take unions by turns.
struct PatternBits {
  const std::uint8_t* bytes = nullptr;  // null: there is none
  int unions = 1, heads_of_element = 1, row_bytes = 0;
};

/// Of [heads of all batch elements, seqlen_q, row_stride], of which seqlen_k columns are in use.
/// A row is aligned to 16 bytes.
struct ScoreShape {
  int heads;
  int row_stride;
  KeyMask mask;
  Dropout dropout;
  int first_head;  // of these among those that dropout counts
  int lse_stride;  // from a head's LSE to the next one's: seqlen_q, but in packed sequences
  PatternBits bits;
  DropoutViews views;  // of the pattern
};

/// Which threads have which rows: the grid of a launch.
struct RowTeams {
  int warps;  // of a team
  int rows_per_block;
  int blocks_per_head;
  int segments;  // of a row
  unsigned threads;
};

template <int kLanesOfRow, bool kHasPattern>
class TeamRow;

/// How many lanes of a warp have one row, how many chunks each has, the most threads of a block,
/// and whether a pattern hides columns.
template <int kLanesOfRow, int kChunksOfLane, int kMostThreads, bool kHasPattern>
struct TeamShape {
  using Row = TeamRow<kLanesOfRow, kHasPattern>;
  static constexpr int kLanes = kLanesOfRow;
  static constexpr int kChunks = kChunksOfLane;
  static constexpr int kThreads = kMostThreads;
  using WithMostThreads = TeamShape<kLanes, kChunks, kMostTeamWarps * kWarpLanes, kHasPattern>;
  static constexpr int kColumnsOfWarp = kLanes * kChunkColumns * kChunks;
  /// Of a row that is kept whole.
  static constexpr int kColumns =
      kLanes < kWarpLanes ? kColumnsOfWarp : kThreads / kWarpLanes * kColumnsOfWarp;
};

template <class Shape>
RowTeams make_row_teams(const ScoreShape& shape) {
  constexpr int kThreadsOfSmallTeams = 128;  // of a block, where a warp has a row or two
  const auto divide_up = [](int value, int divisor) { return (value + divisor - 1) / divisor; };
  int warps = 1;
  while (Shape::kLanes == kWarpLanes && warps * kWarpLanes < Shape::kThreads &&
         warps * Shape::kColumnsOfWarp < shape.mask.seqlen_k) {
    warps *= 2;
  }
  const int threads = warps == 1 ? kThreadsOfSmallTeams : warps * kWarpLanes;
  const int rows_per_block = threads / (Shape::kLanes * warps);
  const int rows = Shape::kLanes == kWarpLanes
                       ? shape.mask.seqlen_q
                       : divide_up(shape.mask.seqlen_q, kPairedRows) * kPairedRows;
  return {warps, rows_per_block, divide_up(rows, rows_per_block),
          divide_up(shape.mask.seqlen_k, warps * Shape::kColumnsOfWarp),
          static_cast<unsigned>(threads)};
}

/// Over this lane's neighbours, kLanes of them.
template <int kLanes>
__device__ __forceinline__ float max_of_lanes(float value) {
  for (int mask = kLanes / 2; mask > 0; mask /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, mask));
  }
  return value;
}
template <int kLanes>
__device__ __forceinline__ float sum_of_lanes(float value) {
  for (int mask = kLanes / 2; mask > 0; mask /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, mask);
  }
  return value;
}

/// The row of this thread's team. The last heads' rows come first: they are what the GEMM before
/// wrote last, so the L2 cache still has them, and what it has of the first heads when this is done
/// is what the GEMM behind reads first. A team behind a head's last row has a row without columns.
template <int kLanesOfRow, bool kHasPattern>
class TeamRow {
 public:
  static constexpr int kLanes = kLanesOfRow;
  /// Otherwise sees_all() is always false.
  static constexpr bool kMaySeeAll = !kHasPattern;

  __device__ __forceinline__ TeamRow(const ScoreShape& shape, const RowTeams& teams)
      : shape_(shape), teams_(teams) {
    const unsigned block = gridDim.x - 1 - blockIdx.x;
    const auto blocks_per_head = static_cast<unsigned>(teams.blocks_per_head);
    const int team = teams.warps == 1 ? static_cast<int>(threadIdx.x) / kLanes : 0;
    head_ = static_cast<int>(block / blocks_per_head);
    row_ = row_of_team(static_cast<int>(block % blocks_per_head) * teams.rows_per_block + team);
    warp_ = teams.warps == 1 ? 0 : static_cast<int>(threadIdx.x) / kWarpLanes;
    columns_ = row_ < shape.mask.seqlen_q ? shape.mask.seqlen_k : 0;
    visible_ = columns_ > 0 ? shape.mask.keys(row_) : Range{0, 0};
    if constexpr (kHasPattern) {
      const PatternBits& bits = shape.bits;
      const int of_heads = head_ % bits.heads_of_element % bits.unions;
      const std::size_t row_of_bits =
          static_cast<std::size_t>(of_heads) * static_cast<std::size_t>(shape.mask.seqlen_q) +
          static_cast<std::size_t>(row_);
      bits_ = bits.bytes + row_of_bits * static_cast<std::size_t>(bits.row_bytes);
    }
  }

  /// As dropout counts them.
  __device__ int dropout_head() const { return shape_.first_head + head_; }
  __device__ int row() const { return row_; }
  __device__ const Dropout& dropout() const { return shape_.dropout; }
  /// Whether views of a pattern, or its order, have any columns.
  __device__ __forceinline__ bool has_views() const {
    if constexpr (kHasPattern) {
      return shape_.views.count != 0 || shape_.views.has_order;
    } else {
      return false;
    }
  }
  /// Calls visit(column of the chunk, its place in the dropout mask) for the visible columns of a
  /// chunk which views of a pattern, or its order, have; the others have theirs in the order of the
  /// sequence.
  template <class Visit>
  __device__ __forceinline__ void for_columns_of_views(int column, Visit visit) const {
    if constexpr (kHasPattern) {
      const DropoutViews& views = shape_.views;
      const std::uint32_t bits = visible(column);
      const int of_all = dropout_head(), entry = of_all / views.heads;
      const int head = of_all - entry * views.heads;
#pragma unroll 1
      for (int j = 0; j < kChunkColumns; ++j) {
        if ((bits >> j & 1u) == 0) continue;
        if (views.has_order) visit(j, views.place(entry, head, row_, column + j));
        for (int i = 0; i < views.count; ++i) {
          const DropoutZone& zone = views.zone[i];
          if (!zone.sees(row_, column + j)) continue;
          visit(j, zone.place(entry, views.heads, head, row_, column + j));
        }
      }
    }
  }
  __device__ int segments() const { return teams_.segments; }
  __device__ int team_warps() const { return teams_.warps; }
  __device__ int row_stride() const { return shape_.row_stride; }
  /// Of a pattern, whether it might: of scores that are all hidden the LSE is -inf by itself.
  __device__ bool sees_any() const { return !visible_.is_empty(); }

  __device__ std::size_t lse_index() const {
    return static_cast<std::size_t>(head_) * static_cast<std::size_t>(shape_.lse_stride) +
           static_cast<std::size_t>(row_);
  }
  /// In [heads, seqlen_q].
  __device__ std::size_t index() const {
    return static_cast<std::size_t>(head_) * static_cast<std::size_t>(shape_.mask.seqlen_q) +
           static_cast<std::size_t>(row_);
  }
  __device__ std::size_t offset() const {
    return index() * static_cast<std::size_t>(shape_.row_stride);
  }

  static __device__ int lane() { return static_cast<int>(threadIdx.x) % kLanes; }
  /// Of this thread in its team.
  __device__ int warp() const { return warp_; }
  /// Whether this is the thread that writes what a row has one of.
  __device__ bool leads() const { return columns_ > 0 && warp_ == 0 && lane() == 0; }

  /// The first of the columns of a chunk of all these lanes.
  template <int kChunks>
  __device__ int first_column(int segment, int chunk) const {
    return ((segment * kChunks + chunk) * teams_.warps + warp_) * (kLanes * kChunkColumns);
  }
  static __device__ int lane_column(int first_column) {
    return first_column + lane() * kChunkColumns;
  }
  /// Whether the row has the columns of a chunk, or some, which then are the first.
  __device__ bool has(int column) const { return column < columns_; }
  /// How much of a chunk is visible; which of its columns are, as bits.
  __device__ __forceinline__ TileCover cover(int column) const {
    if constexpr (kHasPattern) {
      const std::uint32_t bits = visible(column);
      return bits == 0             ? TileCover::kEmpty
             : bits == kWholeChunk ? TileCover::kFull
                                   : TileCover::kCut;
    } else {
      const int end = column + kChunkColumns;
      if (visible_.end <= column || end <= visible_.begin) return TileCover::kEmpty;
      return visible_.begin <= column && end <= visible_.end ? TileCover::kFull : TileCover::kCut;
    }
  }
  __device__ __forceinline__ std::uint32_t visible(int column) const {
    if constexpr (kHasPattern) {
      return has(column) ? bits_[column / kChunkColumns] : 0u;
    } else {
      return range_word(visible_, column);
    }
  }
  /// Whether each of these lanes sees all of its chunks of a segment. Then nothing is to be asked
  /// of any of them, which is a third of the instructions.
  template <int kChunks>
  __device__ bool sees_all(int segment) const {
    if constexpr (kHasPattern) {
      return false;
    } else {
      return visible_.begin <= first_column<kChunks>(segment, 0) &&
             first_column<kChunks>(segment, kChunks - 1) + kLanes * kChunkColumns <= visible_.end;
    }
  }
  /// Whether any of these lanes sees any of its chunk, or by a pattern this one of its own.
  __device__ bool reaches(int first_column) const {
    if constexpr (kHasPattern) {
      return visible(lane_column(first_column)) != 0;
    } else {
      return first_column < visible_.end && visible_.begin < first_column + kLanes * kChunkColumns;
    }
  }

 private:
  /// The two rows of a warp are 8 apart: they share blocks of the dropout mask (kernels/dropout.h).
  static __device__ __forceinline__ int row_of_team(int team) {
    if (kLanes == kWarpLanes) return team;
    const int of_16 = team % kPairedRows;
    return team - of_16 + of_16 / 2 + kPairedRows / 2 * (of_16 % 2);
  }

  const ScoreShape& shape_;
  const RowTeams& teams_;
  int head_, row_, warp_, columns_;
  Range visible_;
  const std::uint8_t* bits_ = nullptr;  // of the row
};

/// This lane's chunks of a segment. Hidden columns have a value of their own.
template <class T, int kChunks>
struct RowChunks {
  ScoreChunk<T> chunk[kChunks];

  template <bool kIsWhole, class Row>
  __device__ __forceinline__ void load(const Row& row, const T* columns, int segment,
                                       float hidden) {
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      const int column = row.lane_column(row.template first_column<kChunks>(segment, c));
      if constexpr (!kIsWhole) {
        chunk[c].fill(hidden);
        if (row.cover(column) == TileCover::kEmpty) continue;
      }
      chunk[c].load(columns, column, row.row_stride());
    }
  }

  /// Behind a load(), as late as it may be: this waits for what was loaded.
  template <bool kIsWhole, class Row>
  __device__ __forceinline__ void hide(const Row& row, int segment, float hidden) {
    if constexpr (!kIsWhole) {
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        const int column = row.lane_column(row.template first_column<kChunks>(segment, c));
        if (row.cover(column) == TileCover::kCut) chunk[c].hide(row.visible(column), hidden);
      }
    }
  }

  /// store(c, column, make(c)) for each chunk of the row, with zeros where it is hidden.
  template <bool kIsWhole, class Row, class Make, class Store>
  static __device__ __forceinline__ void store(const Row& row, int segment, Make make,
                                               Store store) {
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      const int column = row.lane_column(row.template first_column<kChunks>(segment, c));
      if constexpr (kIsWhole) {
        store(c, column, make(c));
      } else if (row.has(column)) {
        ScoreChunk<T> made;
        made.fill(0.0f);
        const TileCover cover = row.cover(column);
        if (cover != TileCover::kEmpty) made = make(c);
        if (cover == TileCover::kCut) made.hide(row.visible(column), 0.0f);
        store(c, column, made);
      }
    }
  }
};

/// Calls visit(whether all lanes see all of their chunks of the segment), as a constant; with false
/// unless kAsks. It is worth its registers where instructions are what a kernel runs out of.
template <bool kAsks, int kChunks, class Row, class Visit>
__device__ __forceinline__ void with_cover(const Row& row, int segment, Visit visit) {
  if constexpr (kAsks && Row::kMaySeeAll) {
    if (__all_sync(0xffffffffu, row.template sees_all<kChunks>(segment))) {
      visit(std::true_type());
      return;
    }
  }
  visit(std::false_type());
}

/// What a kernel wants of its teams, as measured.
struct TeamWishes {
  /// Of a row: of four chunks a lane, which are 1024 columns a warp. Longer rows have eight.
  int most_warps_of_four_chunks = 1;
  /// Rather than many warps on a multiprocessor, where a lane has eight chunks.
  bool wants_registers = false;
};

/// Of a lane.
template <class T>
inline constexpr int kMostChunks = sizeof(T) == sizeof(__half) ? 8 : 4;

/// Calls launch(shape of teams, whether it drops, teams), the first two as types: as many rows to a
/// warp, or as few warps to a row, as registers allow.
template <class T, class Launch>
void with_row_teams(const ScoreShape& shape, const TeamWishes& wishes, Launch launch) {
  const auto with_shape = [&](auto teams_shape) {
    const RowTeams teams = make_row_teams<decltype(teams_shape)>(shape);
    if (shape.dropout.threshold != 0) {
      launch(teams_shape, std::true_type(), teams);
    } else {
      launch(teams_shape, std::false_type(), teams);
    }
  };
  const auto with_pattern = [&](auto has_pattern) {
    constexpr bool kHasPattern = decltype(has_pattern)::value;
    using HalfWarps = TeamShape<kWarpLanes / 2, 4, 128, kHasPattern>;
    using FewWarps = TeamShape<kWarpLanes, 4, 128, kHasPattern>;
    using ManyWarps =
        TeamShape<kWarpLanes, kMostChunks<T>, kMostTeamWarps / 2 * kWarpLanes, kHasPattern>;
    using MostWarps =
        TeamShape<kWarpLanes, kMostChunks<T>, kMostTeamWarps * kWarpLanes, kHasPattern>;
    const int columns = shape.mask.seqlen_k;
    if (columns <= HalfWarps::kColumns) {
      with_shape(HalfWarps());
    } else if (columns <= wishes.most_warps_of_four_chunks * FewWarps::kColumnsOfWarp) {
      with_shape(FewWarps());
    } else if (columns <= ManyWarps::kColumns && !wishes.wants_registers) {
      with_shape(ManyWarps());
    } else {
      with_shape(MostWarps());
    }
  };
  if (shape.bits.bytes != nullptr) {
    with_pattern(std::true_type());
  } else {
    with_pattern(std::false_type());
  }
}

}  // namespace sparkbench
