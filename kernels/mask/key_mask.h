// Which keys a row sees: the one definition for kernels, references and counts.
//
// A row sees the keys of one range whose two ends never fall from a row to the next (monotone). So
// two rows' bounds answer every question about a block of rows or of keys: with rows [a, b] and
// keys [c, d],
//   hull   the keys that some row sees   [begin(a), end(b))
//   core   the keys that every row sees  [begin(b), end(a))
// A tile outside the hull is empty, one inside the core is full, any other is partial (kCut). A
// mask that is a union of such ranges has the same functions: loops ask for the next tile, and a
// row's keys are mask bits.
#pragma once

#include <cstdint>

#include "kernels/base/host_device.h"
#include "kernels/mask/mask_spec.h"

namespace sparkbench {

/// The whole numbers from begin to below end: none unless begin < end.
struct Range {
  int begin, end;

  SPARK_HD bool is_empty() const { return end <= begin; }
  SPARK_HD bool contains(int value) const { return value >= begin && value < end; }
  SPARK_HD bool contains(const Range& other) const {
    return begin <= other.begin && other.end <= end;
  }
  SPARK_HD int size() const { return is_empty() ? 0 : end - begin; }
};

/// How a mask covers a tile of scores.
enum class TileCover { kEmpty, kCut, kFull };

SPARK_HD int least_of(int a, int b) { return a < b ? a : b; }
SPARK_HD int most_of(int a, int b) { return a > b ? a : b; }

/// A mask over sequences of known lengths, each below 2^30. A tile may have rows past the last.
struct KeyMask {
  int seqlen_q, seqlen_k;
  int begin_offset;  // row q sees from q + begin_offset on,
  int end_offset;    // up to and without q + end_offset,
  int prefix;        // and where the former is not above 0, all below `prefix`

  /// The keys that `row` sees; those of a row that sees none are an empty range.
  SPARK_HD Range keys(int row) const { return {most_of(0, begin(row)), end(row)}; }
  /// Its ends; the first may be before the first key.
  SPARK_HD int begin(int row) const { return row + begin_offset; }
  SPARK_HD int end(int row) const { return least_of(seqlen_k, most_of(prefix, row + end_offset)); }
  SPARK_HD bool sees(int row, int key) const { return keys(row).contains(key); }

  /// The inverse: the rows that see `key`.
  SPARK_HD Range rows(int key) const {
    return {key < prefix ? 0 : most_of(0, key - end_offset + 1),
            least_of(seqlen_q, key - begin_offset + 1)};
  }

  /// Hull and core of at least one row.
  SPARK_HD Range keys_of_any(const Range& rows) const {
    return {keys(rows.begin).begin, keys(rows.end - 1).end};
  }
  SPARK_HD Range keys_of_all(const Range& rows) const {
    return {keys(rows.end - 1).begin, keys(rows.begin).end};
  }
  /// The same for keys: the rows that see any of them, and all of them.
  SPARK_HD Range rows_of_any(const Range& keys) const {
    return {rows(keys.begin).begin, rows(keys.end - 1).end};
  }
  SPARK_HD Range rows_of_all(const Range& keys) const {
    return {rows(keys.end - 1).begin, rows(keys.begin).end};
  }

  /// Whether each of these rows sees each of these keys. Written for few instructions, because
  /// loops call it.
  SPARK_HD bool all_see(const Range& of_rows, const Range& of_keys) const {
    return of_rows.end - 1 + begin_offset <= of_keys.begin && of_keys.end <= seqlen_k &&
           of_keys.end <= most_of(prefix, of_rows.begin + end_offset);
  }

  /// The tile must have at least one row and one key.
  SPARK_HD TileCover cover(const Range& of_rows, const Range& of_keys) const {
    const Range hull = keys_of_any(of_rows);
    if (of_keys.end <= hull.begin || hull.end <= of_keys.begin) return TileCover::kEmpty;
    return all_see(of_rows, of_keys) ? TileCover::kFull : TileCover::kCut;
  }

  /// Whether the last rows see more keys than the first: the order in which blocks start.
  SPARK_HD bool grows() const { return keys(seqlen_q - 1).size() > keys(0).size(); }
};

/// The first tile, of kKeys keys, that a loop over the keys of a hull visits, and the next one.
template <int kKeys>
SPARK_HD int first_tile(const Range& hull) {
  return hull.begin / kKeys * kKeys;
}
template <int kKeys>
SPARK_HD int next_tile(const Range& /*hull*/, int tile) {
  return tile + kKeys;
}

/// Bit i is whether first + i is in the range: 32 keys of a row, for tests that cost one
/// instruction each.
SPARK_HD std::uint32_t bits_below(int count) {
  return count <= 0 ? 0u : count >= 32 ? ~0u : (1u << count) - 1u;
}
SPARK_HD std::uint32_t range_word(const Range& range, int first) {
  return bits_below(range.end - first) & ~bits_below(range.begin - first);
}

/// A mask whose lengths are not known yet, for kernels that find them in device memory: the bounds
/// of mask_table.h, clamped to the largest distance of a key from a row.
struct OpenMask {
  int begin, end, prefix;
};
OpenMask open_mask(const MaskSpec& mask);

/// The mask over these lengths, each below 2^30; either may be 0.
SPARK_HD KeyMask key_mask_of(const OpenMask& mask, int seqlen_q, int seqlen_k) {
  const int to_p = seqlen_k - seqlen_q;
  // Beyond these, a bound moves neither a row's keys nor those of a tile's rows past the last.
  const int lowest = -(1 << 30), highest = seqlen_k;
  return {seqlen_q, seqlen_k, least_of(most_of(to_p + mask.begin, lowest), highest),
          least_of(most_of(to_p + mask.end, lowest), highest), least_of(mask.prefix, highest)};
}

/// `mask` over these lengths.
KeyMask make_key_mask(const MaskSpec& mask, int seqlen_q, int seqlen_k);

/// Pairs (row, key) that are visible, in closed form.
std::uint64_t visible_pairs(const KeyMask& mask);

/// Twice the pairs that one head is credited with: the visible ones, except that a causal mask of
/// equal lengths counts as half of the square, as in every published figure.
std::uint64_t twice_credited_pairs(const MaskSpec& mask, int seqlen_q, int seqlen_k);

}  // namespace sparkbench
