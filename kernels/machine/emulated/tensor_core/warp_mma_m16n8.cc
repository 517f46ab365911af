#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels/machine/emulated/tensor_core/block_dot.h"
#include "kernels/machine/emulated/tensor_core/warp_mma.h"

namespace sparkbench {
namespace {

template <int kK>
struct Operands {
  Half a[16][kK];  // [row][k]
  Half b[8][kK];   // [column][k]
};

/// A register of a fragment holds two neighbours in k, the lower one in its lower half.
void store_pair(std::uint32_t packed, Half* first) { std::memcpy(first, &packed, sizeof packed); }

template <int kK>
Operands<kK> gather(const M16n8Operands<kK> (&lanes)[32]) {
  Operands<kK> operands;
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane >> 2;
    const int k = 2 * (lane & 3);
    for (int r = 0; r < kK / 4; ++r) {
      store_pair(lanes[lane].a[r], &operands.a[group + 8 * (r & 1)][k + 8 * (r >> 1)]);
    }
    for (int r = 0; r < kK / 8; ++r) {
      store_pair(lanes[lane].b[r], &operands.b[group][k + 8 * r]);
    }
  }
  return operands;
}

template <int kK>
void update(const ArithmeticProfile& profile, const Operands<kK>& operands, int lane,
            M16n8Accumulator<Accumulator::kFp32>& c) {
  for (int i = 0; i < 4; ++i) {
    const int row = (lane >> 2) + 8 * (i >> 1);
    const int column = 2 * (lane & 3) + (i & 1);
    c.element[i] = dot_accumulate(profile, operands.a[row], operands.b[column], c.element[i]);
  }
}

template <int kK>
void update(const ArithmeticProfile& profile, const Operands<kK>& operands, int lane,
            M16n8Accumulator<Accumulator::kFp16>& c) {
  for (int i = 0; i < 2; ++i) {
    const int row = (lane >> 2) + 8 * i;
    const int column = 2 * (lane & 3);
    Half element[2];
    std::memcpy(element, &c.pair[i], sizeof element);
    for (int j = 0; j < 2; ++j) {
      element[j] = dot_accumulate(profile, operands.a[row], operands.b[column + j], element[j]);
    }
    std::memcpy(&c.pair[i], element, sizeof element);
  }
}

template <int kK, Accumulator kAccumulator>
void mma(const ArithmeticProfile& profile, const M16n8Operands<kK> (&lanes)[32],
         M16n8Accumulator<kAccumulator>* const (&c)[32]) {
  if (!(kK == 8 ? profile.has_m16n8k8 : profile.has_m16n8k16)) {
    throw std::invalid_argument("no m16n8k" + std::to_string(kK) + " in the arithmetic profile " +
                                std::string(profile.name));
  }
  const Operands<kK> operands = gather(lanes);
  for (int lane = 0; lane < 32; ++lane) update(profile, operands, lane, *c[lane]);
}

}  // namespace

void warp_mma_m16n8k8(const ArithmeticProfile& profile, const M16n8Operands<8> (&operands)[32],
                      M16n8Accumulator<Accumulator::kFp32>* const (&c)[32]) {
  mma(profile, operands, c);
}

void warp_mma_m16n8k8(const ArithmeticProfile& profile, const M16n8Operands<8> (&operands)[32],
                      M16n8Accumulator<Accumulator::kFp16>* const (&c)[32]) {
  mma(profile, operands, c);
}

void warp_mma_m16n8k16(const ArithmeticProfile& profile, const M16n8Operands<16> (&operands)[32],
                       M16n8Accumulator<Accumulator::kFp32>* const (&c)[32]) {
  mma(profile, operands, c);
}

void warp_mma_m16n8k16(const ArithmeticProfile& profile, const M16n8Operands<16> (&operands)[32],
                       M16n8Accumulator<Accumulator::kFp16>* const (&c)[32]) {
  mma(profile, operands, c);
}

}  // namespace sparkbench
