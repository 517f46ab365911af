// The figures of a mask as text and as JSON.
#pragma once

#include <string>

#include "harness/cli/mask/mask_figures.h"
#include "results/render/text_table.h"

namespace sparkbench {

/// Lines, with a drawing of each union in characters.
std::string format_mask(const MaskQuestion& question, const MaskAnswer& found,
                        const TableView& view = {});

/// One document; keys are added within a major version, never renamed or removed.
std::string mask_to_json(const MaskQuestion& question, const MaskAnswer& found);

}  // namespace sparkbench
