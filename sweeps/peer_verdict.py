"""Verdicts and warnings, by the rules of harness/run/case_verdict.h."""

import math

import peer_record

TOLERANCE_FLOOR = 2.0**-11  # half a unit in the last place of fp16
MOST_GRANTED = 2.0**-5  # an unfused computation with a larger error cannot set a tolerance
OWN_FLOOR = 2.0**-8  # the error allowed without a comparison: harness/run/case_verdict.cc
OWN_FLOOR_OF_GRADIENTS = 2.0**-7
ROUNDING_ERROR = 2.0**-12  # about the error of rounding a result to fp16


def ratio_of(numerator, denominator):
    """0 / 0 is 0; anything else over 0 is infinite."""
    if denominator:
        return numerator / denominator
    return 0.0 if numerator == 0 else math.inf


def why_broken(name, error, unfused_error, ratio, floor, most):
    """For one condition of the rule; the unfused error allows at most `most`."""
    granted = ratio * unfused_error if ratio else 0.0
    measure = f"{ratio:g} x {unfused_error:.3g} (unfused)" if ratio else f"{floor:.3g}"
    if granted > most:
        granted = most
        measure = f"{granted:.3g}: the unfused computation errs by {unfused_error:.3g}, too much"
    return "" if error <= granted + floor else f"{name} {error:.3g} exceeds {measure}"


def cap_of_largest(unfused_error):
    """No cap if the unfused computation is a usable standard; otherwise twice as much for a largest
    error as for a mean."""
    return math.inf if unfused_error <= MOST_GRANTED else 2 * MOST_GRANTED


def why_wrong(error, of_unfused, ratio, floor=TOLERANCE_FLOOR):
    """Empty if acceptable; written so that NaN fails. With ratio 0 `of_unfused` is not read."""
    if error["nonfinite"]:
        return f"{error['nonfinite']} elements are not finite where the exact result is"
    cap = cap_of_largest(of_unfused["rel_l2"]) if ratio else math.inf
    for name, size, unit, most in (
        ("rel_l2", 1.0, ratio_of(error["unit_rms"], error["want_rms"]), MOST_GRANTED),
        ("max_abs", error["want_max_abs"], error["unit_max"], cap * error["want_max_abs"]),
    ):
        of_floor = max(floor * size, unit)
        unfused_error = of_unfused[name] if ratio else 0.0
        if why := why_broken(name, error[name], unfused_error, ratio, of_floor, most):
            return why
    return ""


def why_gradients_wrong(errors, of_unfused, ratio, floor=TOLERANCE_FLOOR):
    """The same for the three gradients, as in reference/gradient_errors.h: dQ and dK may cancel,
    completely if a query sees one key, so the largest gradient sets the scale for all."""
    for name, error in errors.items():
        if error["nonfinite"]:
            return f"{name}: {error['nonfinite']} elements are not finite where the exact result is"
        largest = {
            of: max(e[of] for e in errors.values())
            for of in ("want_rms", "want_max_abs", "unit_rms", "unit_max")
        }
        of_rmse = ratio_of(of_unfused[name]["rmse"], largest["want_rms"]) if ratio else 0.0
        for metric, of_want, of_unit, cap in (
            ("rmse", "want_rms", "unit_rms", MOST_GRANTED),
            ("max_abs", "want_max_abs", "unit_max", cap_of_largest(of_rmse)),
        ):
            most, of_floor = (factor * largest[of_want] for factor in (cap, floor))
            of_floor = max(of_floor, largest[of_unit])
            unfused_error = of_unfused[name][metric] if ratio else 0.0
            if why := why_broken(metric, error[metric], unfused_error, ratio, of_floor, most):
                return f"{name}: {why}"
    return ""


def why_errors_wrong(errors, of_unfused, ratio, floor=TOLERANCE_FLOOR):
    """For {"o": ...} or for the three gradients."""
    if "o" in errors:
        why = why_wrong(errors["o"], of_unfused["o"], ratio, floor)
        return why and f"o: {why}"
    return why_gradients_wrong(errors, of_unfused, ratio, floor)


def warning(code, message, value=None):
    return {"code": code, "message": message, "value": value}


def warnings_over_unfused(errors, of_unfused, ratio):
    """For a result that is ok but has more than `ratio` times the unfused computation's error.
    Errors below that of rounding to fp16 give no meaningful ratio."""
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


def warnings_of_measure(of_unfused):
    """If the unfused computation is finite but its error is too large for a standard."""
    size = max(error["want_rms"] for error in of_unfused.values())
    worst = max(ratio_of(error["rmse"], size) for error in of_unfused.values())
    if worst <= MOST_GRANTED:
        return []
    message = (
        f"the unfused computation in fp16 itself errs by {100 * worst:.3g} % on these inputs and "
        f"measures nothing: a kernel may err by {100 * MOST_GRANTED:.3g} %"
    )
    return [warning("W-UNFUSED-INACCURATE", message, worst)]


def judge(is_reference, errors, of_unfused, ratio):
    """(why it is incorrect, warnings) over every output: o, and the gradients together."""
    whys, warnings = [], {}
    for group in (["o"], [name for name in errors if name != "o"]):
        if not group or group[0] not in errors:
            continue
        why, of_group = judge_together(
            is_reference,
            {name: errors[name] for name in group},
            {name: of_unfused[name] for name in group},
            ratio,
        )
        whys += [why] if why else []
        warnings = {each["code"]: each for each in of_group} | warnings
    return "; ".join(whys), list(warnings.values())


def judge_together(is_reference, errors, of_unfused, ratio):
    """By the rules of harness/run/case_verdict.h. A baseline is incorrect only if it is not finite.
    If the unfused computation is not finite, the others are judged by their own errors. If its
    error is too large, the allowance is capped."""
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
        over = [] if why else warnings_over_unfused(errors, of_unfused, ratio)
        return why, ([] if is_reference else warnings_of_measure(of_unfused)) + over
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
    """Empty if no mask that is off by one key agrees with the output too; the mask itself is known
    to agree. Vendors give a window by its number of keys or by the offset of its last one."""
    for miss in mask.near_misses():
        if agrees_with(miss):
            return f"the output agrees with {mask.name} and with {miss.name}: nobody can tell which"
    return ""
