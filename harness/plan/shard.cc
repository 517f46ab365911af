#include "harness/plan/shard.h"

#include <fmt/format.h>

#include "results/record/case_id.h"
#include "sweeps/list_flag.h"
#include "sweeps/usage_error.h"

namespace sparkbench {
namespace {

struct Shard {
  int index = 1;  // from 1
  int count = 1;
};

Shard parse_shard(const std::string& text) {
  if (text.empty()) return {};
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    throw UsageError(fmt::format("--shard: '{}' is not I/N; allowed: 1/8 to 8/8, say", text));
  }
  const Shard shard{parse_extent("--shard", text.substr(0, slash)),
                    parse_extent("--shard", text.substr(slash + 1))};
  if (shard.index > shard.count) {
    throw UsageError(fmt::format("--shard: there is no part {} of {}; allowed: 1/{} to {}/{}",
                                 shard.index, shard.count, shard.count, shard.count, shard.count));
  }
  return shard;
}

}  // namespace

std::vector<std::size_t> positions_of_shard(const std::vector<CaseRecord>& cases,
                                            const std::string& shard) {
  const auto [index, count] = parse_shard(shard);
  std::vector<std::size_t> positions;
  std::string problem;
  int turn = count;  // the shard that gets the problem, from 1
  for (std::size_t position = 0; position < cases.size(); ++position) {
    const std::string key = make_problem_key(cases[position].problem);
    if (key != problem) turn = turn % count + 1;
    problem = key;
    if (turn == index) positions.push_back(position);
  }
  return positions;
}

}  // namespace sparkbench
