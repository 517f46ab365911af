// A zone: the pairs (q, k) of one axis with q, k and k - q each in a range. Windows, bands, blocks,
// global keys and prefixes are zones of one axis or a product of zones of several.
//
// q and k are positions of a row and a key on the axis. Rows [a, b) of a zone see
//   hull   the keys that some row sees   [max(k0, a + d0), min(k1, b - 1 + d1))
//   core   the keys that every row sees  [max(k0, b - 1 + d0), min(k1, a + d1))
// so a tile of keys is empty outside of the hull, full inside of the core, and otherwise partial.
// Both only use that a row's two bounds never fall from a row to the next.
#pragma once

#include "kernels/base/host_device.h"
#include "kernels/mask/key_mask.h"

namespace sparkbench {

/// Farther than any two positions are apart, and small enough that sums of two do not overflow.
inline constexpr int kUnbounded = 1 << 29;

/// The longest sequence of a pattern.
inline constexpr int kLongestSequence = 1 << 26;

struct Zone {
  int q0 = -kUnbounded, q1 = kUnbounded;  // q in [q0, q1)
  int k0 = -kUnbounded, k1 = kUnbounded;  // k in [k0, k1)
  int d0 = -kUnbounded, d1 = kUnbounded;  // k - q in [d0, d1)

  SPARK_HD bool sees(int q, int k) const {
    return q0 <= q && q < q1 && k0 <= k && k < k1 && d0 <= k - q && k - q < d1;
  }
  /// The keys of a row in [q0, q1).
  SPARK_HD Range keys(int q) const { return {most_of(k0, q + d0), least_of(k1, q + d1)}; }

  constexpr bool operator==(const Zone& other) const {
    return q0 == other.q0 && q1 == other.q1 && k0 == other.k0 && k1 == other.k1 && d0 == other.d0 &&
           d1 == other.d1;
  }
};

constexpr Zone zone_of_offsets(int d0, int d1) {
  Zone zone;
  zone.d0 = d0;
  zone.d1 = d1;
  return zone;
}

SPARK_HD Range overlap(const Range& a, const Range& b) {
  return {most_of(a.begin, b.begin), least_of(a.end, b.end)};
}

/// AND: the pairs of both.
SPARK_HD Zone both(const Zone& a, const Zone& b) {
  return {most_of(a.q0, b.q0),  least_of(a.q1, b.q1), most_of(a.k0, b.k0),
          least_of(a.k1, b.k1), most_of(a.d0, b.d0),  least_of(a.d1, b.d1)};
}

/// The pairs (k, q).
SPARK_HD Zone transposed(const Zone& zone) {
  return {zone.k0, zone.k1, zone.q0, zone.q1, 1 - zone.d1, 1 - zone.d0};
}

/// Whether the zone has no pair. Narrows each range by the other two, which is exact for three
/// differences.
SPARK_HD bool is_empty(const Zone& zone) {
  const Zone narrow = both(zone, {zone.k0 - zone.d1 + 1, zone.k1 - zone.d0, zone.q0 + zone.d0,
                                  zone.q1 + zone.d1 - 1, zone.k0 - zone.q1 + 1, zone.k1 - zone.q0});
  return narrow.q1 <= narrow.q0 || narrow.k1 <= narrow.k0 || narrow.d1 <= narrow.d0;
}

/// The keys that some of these rows see.
SPARK_HD Range hull(const Zone& zone, const Range& rows) {
  const Range inside = overlap(rows, {zone.q0, zone.q1});
  if (inside.is_empty() || zone.d1 <= zone.d0) return {0, 0};
  return {most_of(zone.k0, inside.begin + zone.d0), least_of(zone.k1, inside.end - 1 + zone.d1)};
}

/// The keys that each of at least one row sees.
SPARK_HD Range core(const Zone& zone, const Range& rows) {
  if (rows.begin < zone.q0 || zone.q1 < rows.end) return {0, 0};
  return {most_of(zone.k0, rows.end - 1 + zone.d0), least_of(zone.k1, rows.begin + zone.d1)};
}

}  // namespace sparkbench
