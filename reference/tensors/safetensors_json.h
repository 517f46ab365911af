// The JSON of a safetensors header, as written. reference/tensors/safetensors.h checks whether its
// numbers make sense.
#pragma once

#include <string_view>

#include "reference/tensors/safetensors.h"

namespace sparkbench {

/// Offsets are as in the text, from the end of the header. Reads in one pass, without recursion,
/// and keeps only what it returns, so that memory is bounded by the length of `text`. Throws
/// std::invalid_argument, in one printable line, for text that is not JSON, does not have the
/// format's structure, or has a duplicate.
StoredTensors parse_safetensors_json(std::string_view text);

}  // namespace sparkbench
