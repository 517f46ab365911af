// How a kernel hides scores of a partial tile, in one of two forms with the same result. *By
// words*: mask bits for 32 keys of each row, for all of a warp's tile. *By ends*: one comparison
// each with the row's first and last key, only for those 32 keys in which rows begin or end, which
// in most tiles is one side. By ends takes fewer instructions, but the compiler schedules the two
// forms differently. So each kernel was measured in both, and has the faster one by the cycle
// model. Varlen kernels use words.
#pragma once

#include "kernels/volta/forward/choices.h"

namespace sparkbench::volta {

/// The form; and whether the mask comes before what a loop does between a tile's last scores and
/// their maxima: the loads of V with one buffer of K and V (they compete for registers with the
/// mask), or the store of V's first piece if they come in pieces. Loops with two buffers have only
/// one position.
struct CutMask {
  bool is_by_ends, precedes_values;
};

namespace cut_masks {
inline constexpr CutMask kWords{false, false}, kWordsFirst{false, true}, kEnds{true, false},
    kEndsFirst{true, true};
inline constexpr DropoutChoices<CutMask> kAllWords{kWords, kWords}, kAllEnds{kEnds, kEnds},
    kAllWordsFirst{kWordsFirst, kWordsFirst}, kAllEndsFirst{kEndsFirst, kEndsFirst};

inline constexpr KernelChoices<CutMask> kOfLong = {
    {kAllWords, kAllEnds, {kEndsFirst, kWords}, {kEnds, kWords}, kAllWords, kAllEnds},
    {kAllWords, kAllWords, {kWords, kEndsFirst}, {kEnds, kWords}, kAllWords, kAllEnds}};
inline constexpr KernelChoices<CutMask> kOfShort = {
    {kAllWords, kAllEndsFirst, kAllWords, kAllWords, kAllWordsFirst, kAllWords},
    {kAllWords, {kWordsFirst, kWords}, kAllWords, kAllWords, {kWordsFirst, kWords}, kAllWords}};
inline constexpr ColumnChoices<CutMask> kWordsOfAllColumns = {kAllWords, kAllWords, kAllWords,
                                                              kAllWords, kAllWords, kAllWords};
inline constexpr KernelChoices<CutMask> kOfPacked = {kWordsOfAllColumns, kWordsOfAllColumns};
// Partial tiles of patterns have their mask bits in memory: only the position is chosen.
inline constexpr KernelChoices<CutMask> kOfPatterns = {
    {kAllWords, kAllWords, kAllWords, kAllWords, kAllWordsFirst, kAllWords}, kWordsOfAllColumns};
}  // namespace cut_masks

constexpr const KernelChoices<CutMask>& cut_masks_of(ForwardWalk walk) {
  return walk == ForwardWalk::kLong     ? cut_masks::kOfLong
         : walk == ForwardWalk::kShort  ? cut_masks::kOfShort
         : walk == ForwardWalk::kPacked ? cut_masks::kOfPacked
                                        : cut_masks::kOfPatterns;
}

/// Keys that have branches of their own by ends.
inline constexpr int kCutKeys = 32;

}  // namespace sparkbench::volta
