// Faults that real attention kernels have had, one for each kernel of the plug-ins beside this
// file, and kernels that differ and are right. The test beside them wants every fault found, and
// none of the right ones called wrong.
#pragma once

namespace sparkbench::faults {

// X(identifier, name, what the kernel does)
#define SPARKBENCH_FAULTS(X)                                                                      \
  /* Masks. */                                                                                    \
  X(kSeesOneMore, "causal-sees-one-more", "row p sees key p + 1")                                 \
  X(kSeesOneLess, "causal-misses-own", "row p does not see key p")                                \
  X(kTopLeft, "causal-top-left", "the first row sees the first key, not the last row the last")   \
  X(kMaskIgnored, "mask-ignored", "every row sees every key")                                     \
  X(kMaskByTile, "mask-by-tile", "masks by tiles of 16 keys")                                     \
  X(kLastTileUnmasked, "last-tile-unmasked", "the last tile of keys is not masked")               \
  X(kWindowOneMore, "window-one-more", "a window reaches one key further back")                   \
  X(kWindowOneLess, "window-one-less", "a window ends one key early")                             \
  X(kLeftIgnored, "window-as-causal", "a window's left bound is ignored")                         \
  X(kRightIgnored, "band-without-right", "a band's right bound is ignored")                       \
  X(kPrefixIgnored, "prefix-ignored", "keys of the prefix are seen by rows behind them alone")    \
  X(kHeadZeroMask, "first-heads-mask", "every head has the mask of the first one")                \
  X(kNegativeMask, "mask-adds-ten", "masked scores lose 10 instead of infinity")                  \
  X(kEmptyRowNan, "empty-row-nan", "a row without keys divides 0 by 0")                           \
  X(kEmptyRowMean, "empty-row-mean", "a row without keys averages V")                             \
  X(kEmptyRowLse, "empty-row-lse", "a row without keys has LSE 0")                                \
  /* Heads. */                                                                                    \
  X(kHeadModulo, "gqa-interleaved", "query head h reads key head h % heads_k")                    \
  X(kHeadZero, "gqa-first-head", "every query head reads the first key head")                     \
  X(kHeadOff, "gqa-last-group", "the last query head of a group reads the next key head")         \
  X(kDkLastHead, "dk-one-head", "dK is of one query head of the group")                           \
  X(kDvLastHead, "dv-one-head", "dV is of one query head of the group")                           \
  X(kBatchZero, "first-batch", "every sequence reads the keys of the first one")                  \
  /* Scale. */                                                                                    \
  X(kNoScale, "no-scale", "scores are not scaled")                                                \
  X(kScaleByDim, "scale-by-dim", "the scale is 1 / head_dim")                                     \
  X(kScaleTwice, "scale-twice", "scores are scaled twice")                                        \
  X(kScalePadded, "scale-of-padding", "the scale is of head_dim rounded up to 64")                \
  X(kDqUnscaled, "dq-unscaled", "dQ lacks the scale")                                             \
  X(kDkUnscaled, "dk-unscaled", "dK lacks the scale")                                             \
  X(kScaleInBackward, "backward-other-scale", "the backward pass recomputes P with 1 / head_dim") \
  /* LSE and softmax. */                                                                          \
  X(kLseBase2, "lse-base-2", "LSE is a logarithm to base 2")                                      \
  X(kLseNoMax, "lse-without-max", "LSE lacks the maximum")                                        \
  X(kLseNoLog, "lse-sum", "LSE is the sum, without the logarithm")                                \
  X(kLseIsMax, "lse-is-max", "LSE is the maximum")                                                \
  X(kLseTransposed, "lse-transposed", "LSE lies as [batch, seqlen, heads]")                       \
  X(kNoMax, "no-max", "scores are exponentiated without a maximum")                               \
  X(kSumNotRescaled, "sum-not-rescaled", "a new maximum does not rescale the sum")                \
  X(kOutputNotRescaled, "output-not-rescaled", "a new maximum does not rescale O")                \
  X(kFirstTileMax, "max-of-first-tile", "the maximum is of the first tile")                       \
  X(kExpBase2, "exp-base-2", "2^x in the place of e^x")                                           \
  X(kNotDivided, "not-divided", "O is not divided by the sum")                                    \
  X(kSmallSkipped, "small-p-skipped", "probabilities below 1/64 are left out")                    \
  X(kCoarseP, "p-of-4-bits", "P has 3 fraction bits")                                             \
  X(kFp16Sum, "output-summed-in-fp16", "O is summed in 16 bits, the kernel says FP32")            \
  X(kFp16Scores, "scores-summed-in-fp16", "scores are summed in 16 bits, the kernel says FP32")   \
  /* Tails and layouts. */                                                                        \
  X(kLastKeyMissed, "last-key-missed", "the last key is missed, unless seqlen_k % 16 is 0")       \
  X(kPaddingCounted, "padding-counted", "keys behind the end count with score 0")                 \
  X(kLastRowMissed, "last-row-unwritten",                                                         \
    "the last row is not written, unless seqlen_q % 16 is 0")                                     \
  X(kLastDimMissed, "last-dims-missed", "the last 8 dims take no part in scores")                 \
  X(kFirstKeys, "first-64-keys", "keys behind the 64th are not seen")                             \
  X(kOTransposed, "o-transposed", "O lies as [batch, heads, seqlen, head_dim]")                   \
  X(kKStride, "k-stride-of-q", "sequences of K are seqlen_q rows apart")                          \
  X(kKContiguous, "k-contiguous", "K is read as if it were contiguous, whatever its strides")     \
  X(kVStridesOfK, "v-strides-of-k", "V is read with K's strides")                                 \
  X(kDvStridesOfDk, "dv-strides-of-dk", "dV is written with dK's strides")                        \
  X(kOContiguous, "o-contiguous", "O is written as if it were contiguous, whatever its strides")  \
  X(kDqContiguous, "dq-contiguous", "dQ is written as if it were contiguous")                     \
  X(kVIsK, "v-is-k", "K is read in the place of V")                                               \
  X(kDkDvSwapped, "dk-dv-swapped", "dK and dV change places")                                     \
  /* Dropout. */                                                                                  \
  X(kDropoutIgnored, "dropout-ignored", "nothing is dropped")                                     \
  X(kDropoutUnscaled, "dropout-unscaled", "kept elements are not scaled")                         \
  X(kDropoutInverted, "dropout-inverted", "the other elements are dropped")                       \
  X(kDropoutOneHead, "dropout-one-head", "every head drops what the first one does")              \
  X(kDropoutTransposed, "dropout-transposed", "row and key change places in the mask")            \
  X(kDropoutInSum, "dropout-in-sum", "dropped elements leave the sum, too")                       \
  X(kDropoutNotBackward, "dropout-forward-only", "the backward pass drops nothing")               \
  X(kDropoutOtherSeed, "dropout-other-seed", "the backward pass has another seed")                \
  X(kDropoutDvOnly, "dropout-not-in-dp", "the backward pass drops in dV and not in dP")           \
  /* Backward. */                                                                                 \
  X(kNoDelta, "no-delta", "dS lacks the row sum of dO O")                                         \
  X(kDeltaOfHead, "delta-of-head-0", "the row sum is of the first head")                          \
  X(kBackwardUnmasked, "backward-unmasked", "the backward pass has no mask")                      \
  X(kDqAdds, "dq-adds", "dQ is added to what is there")                                           \
  X(kDvOfO, "dv-of-o", "dV multiplies by O, not by dO")                                           \
  X(kDqSign, "dq-sign", "dQ has the other sign")                                                  \
  X(kDkPartial, "dk-first-rows", "dK leaves out rows behind the 64th")                            \
  X(kPNotNormalised, "backward-p-unnormalised", "the backward pass has exp(s - max)")             \
  /* State and memory. */                                                                         \
  X(kWritesBehind, "writes-behind-o", "one element behind O is written")                          \
  X(kWritesInput, "writes-input", "the first element of K is written")                            \
  X(kReadsWorkspace, "reads-workspace", "O takes up what the workspace has at first")             \
  X(kThirdCall, "every-third-call", "every third call leaves the last row as it was")             \
  X(kNondeterministic, "random-dq",                                                               \
    "dQ differs from call to call by a thousandth, though "                                       \
    "deterministic bits are asked for")

// Right kernels that differ.
#define SPARKBENCH_VARIANTS(X)                                                  \
  X(kNone, "naive", "as written down")                                          \
  X(kHalfP, "p-in-fp16", "P is rounded to 16 bits, the sum is not")             \
  X(kHalfPSummed, "p-in-fp16-summed", "P is rounded to 16 bits, and so summed") \
  X(kScaleInQ, "scale-in-q", "Q is scaled and rounded to 16 bits first")        \
  X(kReverse, "keys-reversed", "keys from the last to the first")               \
  X(kTruncated, "o-truncated", "O is truncated to 16 bits, not rounded")        \
  X(kTwoHalves, "split-keys", "two halves of the keys, combined")               \
  X(kLazyMax, "lazy-max", "the maximum is renewed when it grows by 8")

// Kernels that are right while they are verified, and less work while they are timed. Only on
// a GPU.
#define SPARKBENCH_CHEATS(X)                                                                    \
  X(kNothingLater, "cheat-nothing-later", "does nothing from the fourth call on")               \
  X(kReplay, "cheat-replay", "copies the O of the first call")                                  \
  X(kReplayIfSameQ, "cheat-replay-if-same-q", "the same where Q begins as in the first call")   \
  X(kInPrepare, "cheat-in-prepare", "keeps the O of the first call of any problem of the size") \
  X(kOtherStream, "cheat-other-stream", "works on a stream that is not joined")                 \
  X(kForkedStream, "cheat-forked-stream", "the same, after what the given stream has")          \
  X(kLegacyStream, "cheat-legacy-stream", "works on the legacy default stream")                 \
  X(kThread, "cheat-thread", "launches from a thread, a millisecond later")                     \
  X(kDeferred, "cheat-deferred", "launches what the call before asked for")                     \
  X(kHalfLater, "cheat-half-later",                                                             \
    "computes the first half of the heads from the fourth call on")                             \
  X(kCoarseLater, "cheat-coarse-later", "rounds P to 3 fraction bits from the fourth call on")  \
  X(kFullLater, "cheat-unmasked-later", "drops the mask from the fourth call on")               \
  X(kZeroLater, "cheat-zero-later", "writes zeros from the fourth call on")                     \
  X(kCopiesV, "cheat-copies-v", "copies V from the fourth call on")                             \
  X(kScalesInput, "cheat-easier-input", "zeroes K, so that later calls are easier")             \
  X(kSkipsSmallLater, "cheat-skips-small-later", "skips P below 1/64 from the fourth call on")  \
  X(kFewKeysLater, "cheat-64-keys-later", "sees the first 64 keys from the fourth call on")     \
  X(kUndroppedLater, "cheat-undropped-later", "drops nothing from the fourth call on")          \
  X(kNoLseLater, "cheat-no-lse-later", "writes no LSE from the fourth call on")                 \
  X(kOneBatchLater, "cheat-one-batch-later", "copies the first batch entry to the others")      \
  X(kOldInputs, "cheat-old-inputs", "computes with a copy of the first call's inputs")          \
  X(kOneInTen, "cheat-one-in-ten", "does nothing in every tenth call")                          \
  X(kLate, "cheat-late", "does nothing from the 13th call on")                                  \
  X(kBackwardNothing, "cheat-backward-nothing-later",                                           \
    "the backward pass does nothing from the fourth call on")                                   \
  X(kBackwardReplay, "cheat-backward-replay", "copies the gradients of the first call")         \
  X(kBackwardDqAlone, "cheat-backward-dq-alone",                                                \
    "the backward pass leaves dK and dV out from the fourth call on")

enum class Fault : int {
#define SPARKBENCH_NAME(id, name, does) id,
  SPARKBENCH_VARIANTS(SPARKBENCH_NAME) SPARKBENCH_FAULTS(SPARKBENCH_NAME)
      SPARKBENCH_CHEATS(SPARKBENCH_NAME)
#undef SPARKBENCH_NAME
};

struct FaultInfo {
  Fault fault;
  const char* name;
  const char* does;
};

/// Right kernels come last: what faulty ones do to memory must not make them wrong.
inline constexpr FaultInfo kFaults[] = {
#define SPARKBENCH_INFO(id, name, does) {Fault::id, name, does},
    SPARKBENCH_CHEATS(SPARKBENCH_INFO) SPARKBENCH_FAULTS(SPARKBENCH_INFO)
        SPARKBENCH_VARIANTS(SPARKBENCH_INFO)
#undef SPARKBENCH_INFO
};
inline constexpr int kCheatCount = 26;  // of kFaults, the first ones

}  // namespace sparkbench::faults
