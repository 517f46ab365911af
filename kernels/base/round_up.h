// The next multiple of a size.
#pragma once

namespace sparkbench {

template <class Integer>
constexpr Integer round_up(Integer value, Integer multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace sparkbench
