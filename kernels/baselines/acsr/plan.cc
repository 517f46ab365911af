#include "kernels/baselines/acsr/plan.h"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/base/saturating.h"
#include "kernels/baselines/acsr/instance_table.h"
#include "kernels/baselines/acsr/params.h"
#include "kernels/launch/serving_instance.h"

namespace sparkbench::acsr {
namespace {

class ChainPlan {
 public:
  explicit ChainPlan(const PlanRequest& request)
      : request_(request),
        problem_(request.problem),
        tables_(static_cast<const ChainTables&>(*request.tables)),
        rows_(tables_.rows) {}

  std::vector<Step> forward(Workspace& workspace) {
    const MemoryPart values = take_values("values", workspace);
    if (request_.table_memory == nullptr) return {};  // the caller only sizes the workspace
    tables_bytes_ = rows_.bytes();
    const ParamBytes params(
        chain_params(problem_, *request_.forward, rows_, halves(values), request_.table_memory));
    add("sddmm", params).writes = {values};
    add("softmax", params, {values}).writes = {values};
    add("spmm", params, {values});
    return std::move(steps_);
  }

  std::vector<Step> backward(Workspace& workspace) {
    const MemoryPart probabilities = take_values("values", workspace);
    const MemoryPart gradients = take_values("gradients", workspace);
    if (request_.table_memory == nullptr) return {};  // as above
    tables_bytes_ = rows_.bytes() + tables_.keys->bytes();
    const GradientParams params =
        gradient_params(problem_, *request_.backward, rows_, *tables_.keys, halves(probabilities),
                        halves(gradients), request_.table_memory);
    add("sddmm", ParamBytes(params.softmax.scores)).writes = {gradients};
    add("softmax-gradient", ParamBytes(params.softmax), {gradients, probabilities}).writes = {
        gradients};
    add("spmm", ParamBytes(params.dq), {gradients});
    add("spmm-transposed", ParamBytes(params.dv), {probabilities});
    add("spmm-transposed", ParamBytes(params.dk), {gradients});
    return std::move(steps_);
  }

 private:
  static Half* halves(const MemoryPart& part) {
    return static_cast<Half*>(const_cast<void*>(part.first));
  }

  /// One 16-bit value for each visible pair, with padding.
  MemoryPart take_values(const char* name, Workspace& workspace) const {
    const std::uint64_t bytes =
        saturating_product({sizeof(Bits128), static_cast<std::uint64_t>(problem_.batch),
                            rows_.chunks_of_heads(problem_.heads)});
    return {name, workspace.take(name, bytes), bytes};
  }

  const KernelInstance& instance_for(std::string_view pass) const {
    for (const KernelInstance& instance : instances()) {
      if (instance.pass() == pass && instance.element == problem_.element &&
          instance.serves(problem_.head_dim)) {
        return instance;
      }
    }
    throw NoInstance("no kernel of the chain is for head_dim " + std::to_string(problem_.head_dim) +
                     " in this element type");
  }

  Step& add(std::string_view pass, ParamBytes params, std::vector<MemoryPart> reads = {}) {
    Step step;
    step.instance = &instance_for(pass);
    const bool of_keys = pass == "spmm-transposed";
    const int blocks = of_keys ? tables_.keys->blocks_of_head() : rows_.blocks_of_head();
    step.grid = {parts_of(*step.instance) * blocks, of_keys ? problem_.key_heads() : problem_.heads,
                 problem_.batch};
    step.params = std::move(params);
    step.reads = std::move(reads);
    step.reads.push_back({"rows", request_.table_memory, tables_bytes_});
    steps_.push_back(std::move(step));
    return steps_.back();
  }

  const PlanRequest& request_;
  const Problem& problem_;
  const ChainTables& tables_;
  const MaskRows& rows_;
  std::uint64_t tables_bytes_ = 0;
  std::vector<Step> steps_;
};

}  // namespace

ChainTables::ChainTables(const Problem& problem, Pass pass) : rows(problem) {
  if (pass != Pass::kForward) keys.emplace(problem, rows);
}

std::vector<std::byte> ChainTables::bytes() const {
  std::vector<std::byte> bytes = rows.all_bytes();
  if (!keys) return bytes;
  const std::vector<std::byte> of_keys = keys->all_bytes();
  bytes.insert(bytes.end(), of_keys.begin(), of_keys.end());
  return bytes;
}

std::shared_ptr<const MaskTables> make_tables(const Problem& problem, Pass pass) {
  return std::make_shared<const ChainTables>(problem, pass);
}

std::vector<Step> plan(const PlanRequest& request, Workspace& workspace) {
  if (request.lengths != nullptr) throw NoInstance("the chain is for sequences of one length");
  if (request.tables == nullptr) throw std::logic_error("a plan of the chain needs its tables");
  ChainPlan plan(request);
  return request.forward != nullptr ? plan.forward(workspace) : plan.backward(workspace);
}

}  // namespace sparkbench::acsr
