"""What counts as wrong, and what warrants a warning: as harness/cases/case_verdict.h judges."""

import math

import peer_record

TOLERANCE_FLOOR = 2.0**-11  # half a unit in the last place of fp16
OWN_FLOOR = 2.0**-8  # what an error may be by itself: harness/cases/case_verdict.cc
OWN_FLOOR_OF_GRADIENTS = 2.0**-7
ROUNDING_ERROR = 2.0**-12  # about what rounding a result to fp16 costs


def ratio_of(numerator, denominator):
    """Of nothing to nothing 0, of something to nothing infinite."""
    if denominator:
        return numerator / denominator
    return 0.0 if numerator == 0 else math.inf


def why_wrong(error, of_unfused, ratio, floor=TOLERANCE_FLOOR):
    """Empty when it is acceptable; written so that NaN is not. With ratio 0 `of_unfused` is not
    read."""
    if error["nonfinite"]:
        return f"{error['nonfinite']} elements are not finite where the exact result is"
    for name, size in (("rel_l2", 1.0), ("max_abs", error["want_max_abs"])):
        unfused_error = of_unfused[name] if ratio else 0.0
        limit = ratio * unfused_error + floor * size
        if not error[name] <= limit:
            measure = f"{ratio:g} x {unfused_error:.3g} (unfused)" if ratio else f"{limit:.3g}"
            return f"{name} {error[name]:.3g} exceeds {measure}"
    return ""


def why_gradients_wrong(errors, of_unfused, ratio, floor=TOLERANCE_FLOOR):
    """The same of the three gradients, as reference/gradient_errors.h has it: dQ and dK may cancel,
    wholly where a query sees one key, so the largest gradient measures all."""
    for name, error in errors.items():
        if error["nonfinite"]:
            return f"{name}: {error['nonfinite']} elements are not finite where the exact result is"
        for metric, of_want in (("rmse", "want_rms"), ("max_abs", "want_max_abs")):
            size = max(e[of_want] for e in errors.values())
            limit = (ratio * of_unfused[name][metric] if ratio else 0.0) + floor * size
            if not error[metric] <= limit:
                return f"{name}: {metric} {error[metric]:.3g} exceeds {limit:.3g}"
    return ""


def why_errors_wrong(errors, of_unfused, ratio, floor=TOLERANCE_FLOOR):
    """Of {"o": ...} or of the three gradients."""
    if "o" in errors:
        why = why_wrong(errors["o"], of_unfused["o"], ratio, floor)
        return why and f"o: {why}"
    return why_gradients_wrong(errors, of_unfused, ratio, floor)


def warning(code, message, value=None):
    return {"code": code, "message": message, "value": value}


def warnings_over_unfused(errors, of_unfused, ratio):
    """Of what is ok, and yet errs more than `ratio` times what the unfused computation does. Beside
    less than the error of rounding to fp16 no ratio says anything."""
    rmse, want_rms = (max(e[name] for e in errors.values()) for name in ("rmse", "want_rms"))
    worst = max(ratio_of(e["rel_l2"], of_unfused[name]["rel_l2"]) for name, e in errors.items())
    if not worst > ratio or rmse <= ROUNDING_ERROR * want_rms:
        return []
    return [
        warning(
            "W-ERROR-OVER-UNFUSED",
            f"the error is over {ratio:g} times that of the unfused computation with FP32 "
            "accumulators",
            peer_record.finite(worst),
        )
    ]


def judge(is_reference, errors, of_unfused, ratio):
    """(why it is incorrect, warnings), as harness/cases/case_verdict.h judges: a reference measures
    others, so only what is not finite is incorrect; and an unfused computation that is not finite
    is no measure, so what is beside it is judged by its error alone."""
    own_floor = OWN_FLOOR if "o" in errors else OWN_FLOOR_OF_GRADIENTS
    is_finite = not any(error["nonfinite"] for error in errors.values())
    has_measure = not any(error["nonfinite"] for error in of_unfused.values())
    warnings = []
    if is_reference and is_finite:
        if why := why_errors_wrong(errors, of_unfused, 0.0, own_floor):
            doubt = "these inputs do not suit fp16, or the reference is wrong"
            warnings = [warning("W-REFERENCE-INACCURATE", f"{why}: {doubt}")]
        return "", warnings + (
            warnings_over_unfused(errors, of_unfused, ratio) if has_measure else []
        )
    if has_measure:
        why = why_errors_wrong(errors, of_unfused, ratio)
        return why, [] if why else warnings_over_unfused(errors, of_unfused, ratio)
    if not is_reference:
        warnings = [
            warning(
                "W-UNFUSED-NOT-FINITE",
                "the unfused computation in fp16 with the same accumulator is not finite on these "
                "inputs: the kernel is judged by its error alone",
            )
        ]
    return why_errors_wrong(errors, of_unfused, 0.0, own_floor), warnings


def why_in_doubt(mask, agrees_with):
    """Empty where no mask that is a key off agrees with the output too: exactly one does, since the
    mask itself has been found to. Vendors count a window's keys, or its last one's offset."""
    for miss in mask.near_misses():
        if agrees_with(miss):
            return f"the output agrees with {mask.name} and with {miss.name}: nobody can tell which"
    return ""
