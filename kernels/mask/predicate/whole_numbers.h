// What expressions of masks compute with: whole numbers of 64 bits, with C's meaning, and with a
// meaning where C has none. Host and device have it from here, and NVRTC compiles this very text,
// so that no standard header is included. C++17.
//   sums, products, shifts   modulo 2^64, as two's complement
//   a / b, a % b             towards 0, with the sign of a; a / 0 is 0, and a % 0 is a
//   a << b, a >> b           by b modulo 64; to the right copies of the sign come in
#pragma once

#include "kernels/base/host_device.h"

namespace sparkbench {

using Whole = long long;

SPARK_HD unsigned long long bits_of_whole(Whole a) { return static_cast<unsigned long long>(a); }

SPARK_HD Whole whole_sum(Whole a, Whole b) {
  return static_cast<Whole>(bits_of_whole(a) + bits_of_whole(b));
}
SPARK_HD Whole whole_difference(Whole a, Whole b) {
  return static_cast<Whole>(bits_of_whole(a) - bits_of_whole(b));
}
SPARK_HD Whole whole_product(Whole a, Whole b) {
  return static_cast<Whole>(bits_of_whole(a) * bits_of_whole(b));
}
SPARK_HD Whole whole_negative(Whole a) { return whole_difference(0, a); }
SPARK_HD Whole whole_size(Whole a) { return a < 0 ? whole_negative(a) : a; }

/// The least number divided by -1 is itself, as in any other product of the two.
SPARK_HD Whole whole_quotient(Whole a, Whole b) {
  return b == 0 ? 0 : b == -1 ? whole_negative(a) : a / b;
}
SPARK_HD Whole whole_remainder(Whole a, Whole b) { return b == 0 ? a : b == -1 ? 0 : a % b; }

SPARK_HD Whole whole_shifted_left(Whole a, Whole b) {
  return static_cast<Whole>(bits_of_whole(a) << (bits_of_whole(b) & 63u));
}
SPARK_HD Whole whole_shifted_right(Whole a, Whole b) {
  const auto count = static_cast<unsigned>(bits_of_whole(b) & 63u);
  return a < 0 ? ~static_cast<Whole>(bits_of_whole(~a) >> count)
               : static_cast<Whole>(bits_of_whole(a) >> count);
}

}  // namespace sparkbench
