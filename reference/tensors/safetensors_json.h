// The JSON of a safetensors header, as written: whether its numbers make sense is for
// reference/tensors/safetensors.h to say.
#pragma once

#include <string_view>

#include "reference/tensors/safetensors.h"

namespace sparkbench {

/// Offsets are as in the text, from the end of the header. Reads in one pass, without recursion,
/// and keeps nothing but what it returns, so that the memory it takes is bounded by the length of
/// `text`. Throws std::invalid_argument, in one printable line, for what is not JSON, not of the
/// format's structure, or there twice.
StoredTensors parse_safetensors_json(std::string_view text);

}  // namespace sparkbench
