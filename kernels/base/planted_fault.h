// Faults that a study plants into the kernels, one at a time, to learn whether the program and the
// kernels' tests find them (harness/e2e/planted_faults_study.py). A macro is around what is right:
//   SPARK_PLANTED(kFault, sound, faulty)     an expression, and what the fault makes of it
//   SPARK_UNLESS_PLANTED(kFault, statement)  a statement, which the fault leaves out
// A normal build compiles the sound code, token for token, and nothing else: its machine code is
// what it would be without the macro. A build with the CMake option SPARKBENCH_PLANT_FAULTS has
// both, on the emulated devices only, and SPARKBENCH_PLANTED_FAULT names the one that is planted.
#pragma once

#ifdef SPARKBENCH_PLANT_FAULTS
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#endif

/// F(name, kernels that it is planted into, what is wrong).
// clang-format off
#define SPARK_PLANTED_FAULTS(F) \
  /* softmax */ \
  F(kMaximumOfOneLane, volta, "m of a row is the largest score that one lane has") \
  F(kSumNotRescaled, both, "l is not rescaled where m rises") \
  F(kSumOfOneLane, both, "l of a row is the sum of one lane's keys") \
  F(kScoreRoundedToHalf, both, "scores are rounded to fp16 before the softmax") \
  F(kOutputNotRescaled, volta, "O is not rescaled where m rises") \
  F(kHopperOutputNotRescaled, hopper, "O is not rescaled where m rises") \
  F(kProbabilityOfEightBits, hopper, "P loses its last three bits on its way to the tensor cores") \
  F(kScaleAppliedTwice, both, "the softmax has the scale twice") \
  /* log-sum-exp, and rows without keys */ \
  F(kLseWithoutMaximum, volta, "LSE is log(l), without m") \
  F(kLseInBase2, hopper, "LSE has log2(l)") \
  F(kLseOfFirstEntry, hopper, "LSE of every batch entry is stored as the first one's") \
  F(kEmptyRowHasLse, both, "a row that sees no key has a finite LSE") \
  F(kEmptyRowDivided, both, "a row that sees no key is divided by l = 0") \
  F(kEmptyRowNotHidden, both, "backward, a row that sees no key is none of its own") \
  F(kLseOfBackwardInBase2, both, "backward, LSE is taken for one in base 2") \
  /* mask */ \
  F(kMaskPastEnd, both, "a row sees the key behind its last: diagonal, band, prefix, end") \
  F(kMaskBeforeBegin, both, "a row sees the key before its first: left edge of windows and bands") \
  F(kMaskWordPastEnd, volta, "the same behind its last where the mask comes as words of bits") \
  F(kCutTileAsWhole, volta, "a tile of which rows do not see the last key has no mask") \
  F(kHopperCutTileAsWhole, hopper, "a tile of which rows do not see the last key has no mask") \
  F(kBackwardCutStepAsWhole, volta, "backward, a step whose rows miss the last key has no mask") \
  F(kKeysBehindEndVisible, hopper, "keys behind the end take part where rows see all keys") \
  F(kTransposedMaskPastEnd, hopper, "backward, a key is seen by the row behind its last") \
  F(kTransposedMaskBeforeBegin, hopper, "backward, a key is seen by the row before its first") \
  /* tiles and rows */ \
  F(kTileOfLastKeySkipped, volta, "a last tile of one key is skipped") \
  F(kHopperLastKeyTileSkipped, hopper, "the last, partial tile of keys is skipped") \
  F(kDqOfLastTileLost, volta, "dQ alone lacks a last tile of one key") \
  F(kLastPartialRowsNotStored, volta, "O of the last rows that fill no 16 is not stored") \
  F(kHopperLastRowNotStored, hopper, "the last row of a tensor is not stored") \
  F(kLastKeyNotStored, volta, "dK and dV of the last key are not stored") \
  F(kRowBehindEndStored, volta, "the row behind the last is stored") \
  F(kKeysOfFirstEntry, volta, "K and V are those of the first batch entry") \
  F(kKeyHeadModulo, both, "a query head h reads key head h % heads_k") \
  /* dropout */ \
  F(kDropoutOfFirstEntry, both, "forward, all batch entries have the first one's dropout") \
  F(kDropoutOfOtherRows, both, "dropout is that of 16 rows below") \
  F(kDropoutOfFirstColumns, both, "dropout of each 64 keys is that of the first 64") \
  F(kDropoutStrandsSwapped, hopper, "P of a row is dropped as that 8 rows below") \
  F(kDropoutOffsetIgnored, both, "the offset of the dropout mask in device memory is ignored") \
  F(kKeepScaleLost, both, "O is not multiplied by 1 / (1 - p)") \
  F(kDqKeepScaleLost, volta, "dQ alone is not multiplied by 1 / (1 - p)") \
  F(kKeyGradientKeepScaleLost, volta, "dK and dV are not multiplied by 1 / (1 - p)") \
  F(kHopperDvKeepScaleLost, hopper, "dV is not multiplied by 1 / (1 - p)") \
  F(kBackwardDropoutOfKeyHead, volta, "dK and dV have the dropout of another head") \
  F(kHopperDropoutOfFirstHead, hopper, "dK, dV have the dropout of the group's first head") \
  F(kDqDropoutDiffers, hopper, "dQ alone has the dropout of other keys") \
  F(kDvOfUndroppedP, volta, "dV is of P without dropout") \
  F(kHopperDvOfUndroppedP, hopper, "dV is of P without dropout") \
  F(kDpNotDropped, volta, "dP is not dropped") \
  F(kHopperDpNotDropped, hopper, "dP is not dropped") \
  F(kDeltaWithoutDropout, both, "D is subtracted from dP without 1 / (1 - p)") \
  /* gradients */ \
  F(kDeltaLeftOut, volta, "D is not subtracted from dP") \
  F(kHopperDqDeltaLeftOut, hopper, "dQ alone does not subtract D from dP") \
  F(kDeltaOfOtherQuery, hopper, "dK has D of a neighbouring row") \
  F(kOtherHeadsOfGroupLost, volta, "dK and dV lack the heads of a group behind the first") \
  F(kHopperLastHeadOfGroupLost, hopper, "dK and dV lack the last head of a group") \
  F(kOtherTeamLost, volta, "dK and dV lack what the block's other team has") \
  F(kDkNotScaled, volta, "dK lacks the scale") \
  F(kDqNotScaled, volta, "dQ of sums lacks the scale") \
  F(kDsOfOtherRows, volta, "dS of 16 rows is stored as that of the step's others") \
  F(kDsOfOtherQueries, hopper, "dQ of sums has dS in another order of queries") \
  F(kDqSumsOfFirstEntry, hopper, "dQ of all batch entries is added to the first one's sums") \
  F(kDqLastColumnsNotAdded, hopper, "the last 8 columns of dQ are not added to its sums") \
  F(kDqOfNextRow, hopper, "dQ of sums is stored as that of the neighbouring row") \
  F(kRelaySumsNotCleared, volta, "the first block of a relay does not set the sums of dQ to zero") \
  F(kRelayTurnNotAwaited, volta, "a block of a relay does not wait for its turn") \
  F(kCarriedDqLost, hopper, "dQ that is carried lacks the tiles before") \
  F(kCarriedTurnNotAwaited, hopper, "a tile does not wait for dQ of the one before") \
  /* barriers and stages */ \
  F(kTileBarrierMissing, volta, "no barrier ends a tile of the forward pass") \
  F(kStepBarrierMissing, volta, "no barrier stands between dS and its products") \
  F(kScoresNotAwaited, hopper, "scores are read, and keys let go of, before the product is done") \
  F(kStageFilledEarly, hopper, "a stage of the ring is filled before the warps have let go of it") \
  F(kFenceMissing, hopper, "no fence shows dS to the tensor cores") \
  /* packed sequences */ \
  F(kPackedKeysOfSequenceBefore, both, "a packed sequence has the keys of the one before") \
  F(kPackedKeyOfNextSequence, both, "a packed sequence sees one key of the next") \
  F(kPackedPrefixLost, both, "packed sequences lose the mask's prefix") \
  F(kPackedLseOfFirstSequence, volta, "LSE of each packed sequence is stored as the first one's") \
  /* patterns */ \
  F(kPartialBlockAsFull, both, "a partial block of a pattern is taken for a full one") \
  F(kPartialKeysAsFull, hopper, "backward, half of a partial block's keys are taken for full") \
  F(kWordOfOtherHalf, both, "the last 32 keys of a partial block have the mask of the first") \
  F(kPatternOfFirstHead, both, "all heads have the first one's pattern") \
  F(kOtherHalfOfTile, volta, "of a tile that a warp sees half of it takes the other half") \
  F(kPartWeightLost, both, "parts of a row are added without their weights") \
  F(kPartGradientLost, both, "the last part's gradient is lost") \
  F(kPassWeightLost, both, "passes of a pattern are added without their weights") \
  F(kPassLseOfFirstEntry, both, "backward, passes have the LSE of the first batch entry") \
  F(kPassGradientLost, both, "the gradient of the last of several passes is lost")
// clang-format on

namespace sparkbench {

#define SPARK_FAULT_NAME(name, kernels, sentence) name,
enum class Fault { SPARK_PLANTED_FAULTS(SPARK_FAULT_NAME) };
#undef SPARK_FAULT_NAME

#ifndef SPARKBENCH_PLANT_FAULTS

#define SPARK_PLANTED(fault, sound, faulty) sound
#define SPARK_UNLESS_PLANTED(fault, ...) __VA_ARGS__

/// No fault is planted in a normal build.
constexpr bool planted(Fault /*fault*/) { return false; }

#else

#define SPARK_PLANTED(fault, sound, faulty) \
  (::sparkbench::planted(::sparkbench::Fault::fault) ? (faulty) : (sound))
#define SPARK_UNLESS_PLANTED(fault, ...) \
  if (!::sparkbench::planted(::sparkbench::Fault::fault)) __VA_ARGS__

/// The number of the fault that the environment names; -1 if it names none. Throws
/// std::invalid_argument for a name that no fault has.
inline int planted_fault_of_environment() {
  const char* const wanted = std::getenv("SPARKBENCH_PLANTED_FAULT");
  if (wanted == nullptr || *wanted == '\0') return -1;
#define SPARK_FAULT_FOUND(name, kernels, sentence) \
  if (std::string(wanted) == #name) return static_cast<int>(Fault::name);
  SPARK_PLANTED_FAULTS(SPARK_FAULT_FOUND)
#undef SPARK_FAULT_FOUND
  throw std::invalid_argument("SPARKBENCH_PLANTED_FAULT: no fault is called '" +
                              std::string(wanted) + "'; kernels/base/planted_fault.h lists them");
}

/// Whether this fault is planted. Says so on the standard error where it is first reached: a fault
/// that is never reached cannot be found.
inline bool planted(Fault fault) {
  static const int of_process = planted_fault_of_environment();
  if (static_cast<int>(fault) != of_process) return false;
  static std::atomic<bool> is_told = false;
  if (!is_told.load(std::memory_order_relaxed) && !is_told.exchange(true)) {
    std::fprintf(stderr, "planted fault reached: %s\n", std::getenv("SPARKBENCH_PLANTED_FAULT"));
  }
  return true;
}

#endif

}  // namespace sparkbench
