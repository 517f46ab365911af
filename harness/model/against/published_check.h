// How far the model is from times that others published.
#pragma once

#include <string>
#include <vector>

#include "harness/model/against/published_times.h"
#include "harness/model/predict/problem_time.h"
#include "results/study/prediction_check.h"

namespace sparkbench {

/// Throws std::invalid_argument if a set has a head_dim that none of its kernels serves.
void require_kernels(const PublishedTimes& times);

/// The point's time by the same rules as a record's: a foreign kernel's grid is scheduled from its
/// cycles, the chain and the layer go by rates, and launches that the publisher's software adds go
/// by their bytes. Throws as require_kernels().
PassTime time_of_published(const PublishedTimes& times, const PublishedSet& set,
                           const PublishedPoint& point);

/// The points of a class, those held out apart.
struct PublishedSummary {
  std::string class_name;
  bool is_held_out = false;
  int points = 0, in_band = 0;
  double mean_ratio = 0;   // of predicted likely over published
  double mean_error = 0;   // of |ratio - 1|
  double worst_ratio = 1;  // the furthest from 1
  double limit = 0;

  bool is_over_limit() const { return mean_error > limit; }
};

/// In the order of the sets, the points that are held out after the others.
std::vector<PublishedSummary> summarize_published(const PublishedTimes& times);

/// As the programs say them: held-out points count as the others.
ModelErrors model_errors(const std::vector<PublishedSummary>& summaries);

}  // namespace sparkbench
