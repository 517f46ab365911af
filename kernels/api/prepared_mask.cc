#include "kernels/api/prepared_mask.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/jit/device_sights.h"
#include "kernels/mask/pattern/zones_file.h"
#include "kernels/strided/kernel_passes.h"
#include "kernels/strided/pass_dropout.h"

namespace sparkbench {
namespace {

std::string named_lengths(int seqlen_q, int seqlen_k) {
  return std::to_string(seqlen_q) + " rows and " + std::to_string(seqlen_k) + " keys";
}

/// With what the files hold that it names: a file may change between two calls.
std::string with_files(std::string_view text) {
  std::string all(text);
  const PatternSpec spec = spec_of_mask(text);
  for (const std::vector<PatternAtom>& atoms : spec.unions) {
    for (const PatternAtom& atom : atoms) {
      if (atom.file.empty()) continue;
      all.append(1, '\0').append(zones_file_text(atom.file));
    }
  }
  return all;
}

class TextMasks {
 public:
  std::shared_ptr<PreparedMask> of(std::string_view text, int seqlen_q, int seqlen_k) {
    const Key key(with_files(text), seqlen_q, seqlen_k);
    std::shared_ptr<PreparedMask> dropped;  // beyond the lock: its memory may be a GPU's
    const std::lock_guard lock(mutex_);
    auto found = kept_.find(key);
    if (found == kept_.end()) {
      auto made = std::make_shared<PreparedMask>(text, seqlen_q, seqlen_k);
      if (kept_.size() == kMost) dropped = take_oldest();
      found = kept_.emplace(key, Kept{std::move(made), 0}).first;
    }
    found->second.asked = ++asked_;
    return found->second.mask;
  }

 private:
  static constexpr std::size_t kMost = 64;
  using Key = std::tuple<std::string, int, int>;
  struct Kept {
    std::shared_ptr<PreparedMask> mask;
    std::uint64_t asked;
  };

  std::shared_ptr<PreparedMask> take_oldest() {
    const auto oldest = std::min_element(kept_.begin(), kept_.end(), [](auto& a, auto& b) {
      return a.second.asked < b.second.asked;
    });
    std::shared_ptr<PreparedMask> taken = std::move(oldest->second.mask);
    kept_.erase(oldest);
    return taken;
  }

  std::mutex mutex_;
  std::map<Key, Kept> kept_;
  std::uint64_t asked_ = 0;
};

}  // namespace

PatternSpec spec_of_mask(std::string_view text) {
  try {
    return parse_pattern_spec(text);
  } catch (const PatternTextError& error) {
    throw std::invalid_argument("mask, from character " + std::to_string(error.position() + 1) +
                                " on: " + error.what());
  }
}

PreparedMask::PreparedMask(std::string_view text, int seqlen_q, int seqlen_k)
    : text_(text), seqlen_q_(seqlen_q), seqlen_k_(seqlen_k) {
  const PatternSpec spec = spec_of_mask(text);
  mask_ = mask_spec_of(spec);
  has_heads_ = names_heads(spec);
  // A mask that names heads is laid over the lengths of one now, to say what does not fit.
  if (!mask_) sparse_of(1);
}

std::shared_ptr<const SparseMask> PreparedMask::sparse_of(int heads) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const SparseMask>& sparse = sparse_[has_heads_ ? heads : 0];
  if (sparse != nullptr) return sparse;
  try {
    sparse = make_uncounted_sparse_mask(text_, seqlen_q_, seqlen_k_, heads);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument("mask '" + text_ + "' of " + named_lengths(seqlen_q_, seqlen_k_) +
                                ": " + error.what());
  }
  return sparse;
}

void PreparedMask::give_to(Problem& problem) const {
  if (problem.seqlen_q != seqlen_q_ || problem.seqlen_k != seqlen_k_) {
    throw std::invalid_argument("prepared_mask is of " + named_lengths(seqlen_q_, seqlen_k_) +
                                ", and the problem has " +
                                named_lengths(problem.seqlen_q, problem.seqlen_k));
  }
  problem.mask = mask_.value_or(MaskSpec::full());
  problem.sparse = mask_ ? nullptr : sparse_of(problem.heads);
}

std::shared_ptr<const SparseMask> PreparedMask::seen_by(
    int device, const std::shared_ptr<const SparseMask>& sparse) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const SparseMask>& seen = seen_[{device, sparse.get()}];
  if (seen == nullptr) seen = with_device_sights(sparse).mask;
  return seen;
}

std::shared_ptr<const PassLists> PreparedMask::lists(const AttentionKernel& kernel,
                                                     const Problem& problem, Pass pass,
                                                     bool is_deterministic, int device,
                                                     const CopyToDevice& copy) {
  const bool drops = problem.dropout().threshold != 0;
  const Launch launch(device, &kernel, pass, pass != Pass::kForward && is_deterministic,
                      problem.head_dim, drops, has_mask_passes(problem), problem.sparse.get());
  Problem seen = problem;
  if (device >= 0) seen.sparse = seen_by(device, problem.sparse);
  const std::lock_guard lock(mutex_);  // another thread that asks for the same waits for it
  std::shared_ptr<const PassLists>& made = lists_[launch];
  if (made != nullptr) return made;
  PatternLists lists = sparse_lists(kernel, seen, pass, is_deterministic);
  std::vector<std::byte> bytes(lists.bytes());
  lists.write(bytes.data());
  std::shared_ptr<const void> memory = copy(bytes);
  made = std::make_shared<const PassLists>(PassLists{std::move(lists), std::move(memory)});
  return made;
}

std::shared_ptr<PreparedMask> mask_of_text(std::string_view text, int seqlen_q, int seqlen_k) {
  // Never freed: at the end of a process there may be no CUDA any more to free what it holds.
  static TextMasks& masks = *new TextMasks();
  return masks.of(text, seqlen_q, seqlen_k);
}

}  // namespace sparkbench
