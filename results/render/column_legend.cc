#include "results/render/column_legend.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <string_view>

#include "results/render/case_columns.h"
#include "results/render/number_format.h"
#include "results/study/prediction_check.h"

namespace sparkbench {
namespace {

/// The columns that are shown, and the cases in them.
class Shown {
 public:
  Shown(const std::vector<std::string>& names, const RunRecord& run) : names_(names), run_(run) {}

  bool has(std::initializer_list<std::string_view> names) const {
    return std::any_of(names.begin(), names.end(), [&](std::string_view name) {
      return std::find(names_.begin(), names_.end(), name) != names_.end();
    });
  }

  template <class Holds>
  bool any(Holds holds) const {
    return std::any_of(run_.cases.begin(), run_.cases.end(), holds);
  }

  /// "A or B": the distinct names over the cases.
  template <class NameOf>
  std::string names(NameOf name_of_case) const {
    std::set<std::string> names;
    for (const CaseRecord& record : run_.cases) {
      if (std::optional<std::string> name = name_of_case(record)) names.insert(*name);
    }
    return fmt::format("{}", fmt::join(names, " or "));
  }

  const RunRecord& run() const { return run_; }

 private:
  const std::vector<std::string>& names_;
  const RunRecord& run_;
};

std::string peak_legend(const Shown& shown) {
  const auto& peak = shown.run().environment.device.peak_tflops;
  if (!shown.has({"peak"}) || !peak) return "";
  return fmt::format("peak % is of the device's {} TFLOP/s\n", significant(*peak, 4));
}

std::string memory_legend(const Shown& shown) {
  std::string legend;
  if (shown.has({"density"})) legend += "density is the visible pairs over all, of patterns\n";
  const auto has_unfused = [](const CaseRecord& record) {
    return record.memory_bytes && record.memory_bytes->unfused;
  };
  if (shown.has({"unfused_memory"}) && shown.any(has_unfused)) {
    legend += "unfused memory is predicted, of the unfused computation in fp16\n";
  }
  return legend;
}

std::string prediction_legend(const Shown& shown) {
  std::string legend;
  const std::string baselines = shown.names([](const CaseRecord& record) {
    const bool has_any = record.predicted && record.predicted->speedup;
    return has_any ? std::optional(record.predicted->speedup->over) : std::nullopt;
  });
  if (shown.has({"predicted_speedup"}) && !baselines.empty()) {
    legend += fmt::format("predicted speed-up is over {}\n", baselines);
  }
  const auto is_checked = [](const CaseRecord& record) {
    return check_prediction(record).has_value();
  };
  if (shown.has({"over_predicted"}) && shown.any(is_checked)) {
    legend += "measured/predicted is the time over the likely one; outside: of the band\n";
  }
  return legend;
}

std::string speedup_legend(const Shown& shown) {
  const std::string names = shown.names([](const CaseRecord& record) {
    return record.speedup ? std::optional(record.speedup->over) : std::nullopt;
  });
  if (!shown.has({"speedup"}) || names.empty()) return "";
  return fmt::format("speed-up is over {}\n", names);
}

bool is_not_finite(const CaseRecord& record) {
  const std::vector<const Accuracy*> accuracies = accuracies_of(record);
  return std::any_of(accuracies.begin(), accuracies.end(),
                     [](const Accuracy* accuracy) { return accuracy->nonfinite != 0; });
}

std::string error_legend(const Shown& shown) {
  std::string legend;
  const auto has_ratio = [](const CaseRecord& record) {
    return worst_error_over_unfused(record).has_value();
  };
  if (shown.has({"error_over_unfused"}) && shown.any(has_ratio)) {
    legend += fmt::format("error/unfused is {}\n", kErrorOverUnfusedMeaning);
  }
  const auto is_backward = [](const CaseRecord& record) {
    return record.gradient_accuracy.has_value();
  };
  if (shown.has({"error_over_unfused", "rel_l2", "max_abs"}) && shown.any(is_backward)) {
    legend += "one error for a backward pass is the largest of its gradients'\n";
  }
  if (shown.any(is_not_finite)) legend += "an output that is not finite has no error: -\n";
  return legend;
}

}  // namespace

std::string legend_of(const std::vector<std::string>& names, const RunRecord& run) {
  const Shown shown(names, run);
  return peak_legend(shown) + memory_legend(shown) + prediction_legend(shown) +
         speedup_legend(shown) + error_legend(shown);
}

}  // namespace sparkbench
