// Rows of S, P or dP in GPU memory and the lanes that process them, for the kernels between the
// GEMMs of the unfused computation. A team processes one row: half a warp, or 1 to 16 warps. It
// keeps a segment of the row in registers. The segment is the whole row unless the row is longer
// than 32768 halves or 16384 floats. So each row is read once and written once.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/machine/cuda_check.h"
#include "kernels/mask/dropout_views.h"
#include "kernels/problem/attention.h"
#include "reference/cublas/score_chunk.cuh"

namespace sparkbench {

inline constexpr int kWarpLanes = 32;
inline constexpr int kMostTeamWarps = 16;

/// If a warp has two teams, it takes rows 8 apart, permuted within this many rows.
inline constexpr int kPairedRows = 16;

/// A pattern as the mask: one bit per column, one byte per chunk, in rows of whole 64-bit words,
/// [patterns, seqlen_q, row_bytes]. The heads of a batch element cycle through the patterns.
struct PatternBits {
  const std::uint8_t* bytes = nullptr;  // null: no pattern
  int unions = 1, heads_of_element = 1, row_bytes = 0;
};

/// Shape of [heads of all batch elements, seqlen_q, row_stride], of which seqlen_k columns are
/// used. Rows are aligned to 16 bytes.
struct ScoreShape {
  int heads;
  int row_stride;
  KeyMask mask;
  Dropout dropout;
  int first_head;  // the first head's index for dropout
  int lse_stride;  // offset from one head's LSE to the next; differs from seqlen_q for varlen
  PatternBits bits;
  DropoutViews views;  // of the pattern
};

/// The assignment of rows to threads: the grid of a launch.
struct RowTeams {
  int warps;  // per team
  int rows_per_block;
  int blocks_per_head;
  int segments;  // per row
  unsigned threads;
};

template <int kLanesOfRow, bool kHasPattern>
class TeamRow;

/// Lanes per row in a warp, chunks per lane, the largest block, and whether a pattern hides
/// columns.
template <int kLanesOfRow, int kChunksOfLane, int kMostThreads, bool kHasPattern>
struct TeamShape {
  using Row = TeamRow<kLanesOfRow, kHasPattern>;
  static constexpr int kLanes = kLanesOfRow;
  static constexpr int kChunks = kChunksOfLane;
  static constexpr int kThreads = kMostThreads;
  using WithMostThreads = TeamShape<kLanes, kChunks, kMostTeamWarps * kWarpLanes, kHasPattern>;
  static constexpr int kColumnsOfWarp = kLanes * kChunkColumns * kChunks;
  /// The longest row that fits in registers.
  static constexpr int kColumns =
      kLanes < kWarpLanes ? kColumnsOfWarp : kThreads / kWarpLanes * kColumnsOfWarp;
};

template <class Shape>
RowTeams make_row_teams(const ScoreShape& shape) {
  constexpr int kThreadsOfSmallTeams = 128;  // threads of a block if a warp has one or two rows
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

/// Maximum over this lane's kLanes neighbours.
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

/// The row of this thread's team. The last heads come first: the previous GEMM wrote them last, so
/// they are still in the L2 cache. At the end the cache holds the first heads, which the next GEMM
/// reads first. A team past a head's last row gets a row without columns.
template <int kLanesOfRow, bool kHasPattern>
class TeamRow {
 public:
  static constexpr int kLanes = kLanesOfRow;
  /// If false, sees_all() always returns false.
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

  /// The head index that dropout uses.
  __device__ int dropout_head() const { return shape_.first_head + head_; }
  __device__ int row() const { return row_; }
  __device__ const Dropout& dropout() const { return shape_.dropout; }
  /// Whether a strided view of a pattern covers any columns.
  __device__ __forceinline__ bool has_views() const {
    if constexpr (kHasPattern) {
      return shape_.views.count != 0;
    } else {
      return false;
    }
  }
  /// Calls visit(column of the chunk, its dropout position) for the visible columns of a chunk that
  /// a pattern's strided views cover. The dropout position of the other columns is
  /// their position in the sequence.
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
  /// For a pattern this may be true although the row sees nothing; with all scores hidden the LSE
  /// is -inf anyway.
  __device__ bool sees_any() const { return !visible_.is_empty(); }

  __device__ std::size_t lse_index() const {
    return static_cast<std::size_t>(head_) * static_cast<std::size_t>(shape_.lse_stride) +
           static_cast<std::size_t>(row_);
  }
  /// Index in [heads, seqlen_q].
  __device__ std::size_t index() const {
    return static_cast<std::size_t>(head_) * static_cast<std::size_t>(shape_.mask.seqlen_q) +
           static_cast<std::size_t>(row_);
  }
  __device__ std::size_t offset() const {
    return index() * static_cast<std::size_t>(shape_.row_stride);
  }

  static __device__ int lane() { return static_cast<int>(threadIdx.x) % kLanes; }
  /// Index of this thread's warp in its team.
  __device__ int warp() const { return warp_; }
  /// Whether this thread writes the values that a row has once.
  __device__ bool leads() const { return columns_ > 0 && warp_ == 0 && lane() == 0; }

  /// The lowest first column of a chunk over all these lanes.
  template <int kChunks>
  __device__ int first_column(int segment, int chunk) const {
    return ((segment * kChunks + chunk) * teams_.warps + warp_) * (kLanes * kChunkColumns);
  }
  static __device__ int lane_column(int first_column) {
    return first_column + lane() * kChunkColumns;
  }
  /// Whether the row has any column of a chunk. Existing columns are the first ones.
  __device__ bool has(int column) const { return column < columns_; }
  /// How much of a chunk is visible; which columns are visible, as bits.
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
  /// Whether each of these lanes sees all of its chunks of a segment. Then no column needs a test,
  /// which saves a third of the instructions.
  template <int kChunks>
  __device__ bool sees_all(int segment) const {
    if constexpr (kHasPattern) {
      return false;
    } else {
      return visible_.begin <= first_column<kChunks>(segment, 0) &&
             first_column<kChunks>(segment, kChunks - 1) + kLanes * kChunkColumns <= visible_.end;
    }
  }
  /// Whether any of these lanes sees any column of its chunk; under a pattern, whether this lane
  /// does.
  __device__ bool reaches(int first_column) const {
    if constexpr (kHasPattern) {
      return visible(lane_column(first_column)) != 0;
    } else {
      return first_column < visible_.end && visible_.begin < first_column + kLanes * kChunkColumns;
    }
  }

 private:
  /// The two rows of a warp are 8 apart, so that they share blocks of the dropout mask
  /// (kernels/problem/dropout.h).
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

/// This lane's chunks of a segment. Hidden columns get a fixed value.
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

  /// Call after load(), as late as possible: it waits for the loaded data.
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

  /// Calls store(c, column, make(c)) for each chunk of the row, with zeros in hidden columns.
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

/// Calls visit(whether all lanes see all of their chunks of the segment) with a compile-time
/// constant; false unless kAsks. The test pays for its registers only in kernels bound by
/// instructions.
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

/// A kernel's preferred teams, from measurements.
struct TeamWishes {
  /// Warps per row with four chunks a lane, that is 1024 columns a warp. Longer rows use eight
  /// chunks.
  int most_warps_of_four_chunks = 1;
  /// Prefer more registers over more warps per multiprocessor if a lane has eight chunks.
  bool wants_registers = false;
};

/// Most chunks per lane.
template <class T>
inline constexpr int kMostChunks = sizeof(T) == sizeof(__half) ? 8 : 4;

/// Calls launch(shape of teams, whether it drops, teams); the first two are types. Chooses as many
/// rows per warp, or as few warps per row, as the registers allow.
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
