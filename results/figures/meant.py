"""Which of the known names was meant by one that is none of them."""

import difflib


def did_you_mean(typed, known):
    """", did you mean 'causal'?", for behind what was wrong; "" where none is near enough."""
    lower = {name.lower(): name for name in known}
    near = difflib.get_close_matches(typed.lower(), lower, n=1, cutoff=0.7)
    return f", did you mean '{lower[near[0]]}'?" if near else ""
