// The calls of the C interface for masks that are prepared.
#include <memory>
#include <stdexcept>

#include "kernels/api/calls.h"
#include "kernels/api/prepared_mask.h"
#include "kernels/api/request.h"
#include "kernels/api/spark_attention.h"
#include "kernels/api/status.h"

extern "C" {

spark_attention_status spark_attention_mask_create(const char* text, int32_t seqlen_q,
                                                   int32_t seqlen_k, spark_attention_mask** mask) {
  return sparkbench::status_of([&] {
    using namespace sparkbench;
    spark_attention_mask*& made = written(mask, "mask");
    if (text == nullptr) throw std::invalid_argument("text is null; allowed: a mask's text");
    check_lengths(seqlen_q, seqlen_k);
    made = new spark_attention_mask{std::make_shared<PreparedMask>(text, seqlen_q, seqlen_k)};
  });
}

spark_attention_status spark_attention_prepare(const spark_attention_problem* problem,
                                               int32_t pass) {
  return sparkbench::status_of([&] {
    using namespace sparkbench;
    const Request request = request_of(problem, pass);
    if (request.has_text) {
      throw std::invalid_argument(
          "prepared_mask is null; allowed: what spark_attention_mask_create() made");
    }
    if (request.mask == nullptr || request.is_emulated) return;
    on_gpu(request.device, [&] {
      lists_on_gpu(request, pass == SPARK_ATTENTION_FORWARD ? Pass::kForward : Pass::kBackward,
                   nullptr);
    });
  });
}

void spark_attention_mask_destroy(spark_attention_mask* mask) { delete mask; }

}  // extern "C"
