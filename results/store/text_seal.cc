#include "results/store/text_seal.h"

#include "results/record/case_id.h"

namespace sparkbench {
namespace {

constexpr std::size_t kHashDigits = 16;

/// The end of JSON text before sealing.
std::string_view end_of(const Seal& seal) { return seal.after.substr(1); }

}  // namespace

std::string sealed(std::string json, const Seal& seal) {
  const std::string hash = to_hex(fnv1a(json));
  json.resize(json.size() - end_of(seal).size());
  return json.append(seal.before).append(hash).append(seal.after);
}

SealState seal_state(std::string_view text, const Seal& seal) {
  const std::size_t seal_bytes = seal.before.size() + kHashDigits + seal.after.size();
  if (text.size() <= seal_bytes || !text.ends_with(seal.after)) return SealState::kNone;
  const std::size_t at = text.size() - seal_bytes;
  if (!text.substr(at).starts_with(seal.before)) return SealState::kNone;
  const std::string_view hash = text.substr(at + seal.before.size(), kHashDigits);
  const std::uint64_t expected = fnv1a(end_of(seal), fnv1a(text.substr(0, at)));
  return hash == to_hex(expected) ? SealState::kFits : SealState::kBroken;
}

}  // namespace sparkbench
