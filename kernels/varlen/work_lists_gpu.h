// The lists of blocks of packed sequences (work_lists.h) on a GPU.
#pragma once

#include "kernels/varlen/work_lists.h"

struct CUstream_st;

namespace sparkbench {

/// Lists the blocks of those lists that have room for one, before what is launched next.
void launch_lists(const WorkListParams& first, const WorkListParams& second, CUstream_st* stream);

}  // namespace sparkbench
