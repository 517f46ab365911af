// The figures of a mask as text and as JSON.
#pragma once

#include <string>

#include "harness/cli/mask/mask_figures.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// Lines, with a character drawing of each per-head pattern.
std::string format_mask(const MaskQuestion& question, const MaskAnswer& found,
                        const TableView& view = {});

/// One document. A minor version may add keys, and never renames or removes one.
std::string mask_to_json(const MaskQuestion& question, const MaskAnswer& found);

}  // namespace sparkbench
