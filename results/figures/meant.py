"""Parsing of flag values: numbers, and suggestions for misspelt names."""

import argparse
import difflib


def did_you_mean(typed, known):
    """", did you mean 'causal'?", to append to an error; "" if no name is close enough."""
    lower = {name.lower(): name for name in known}
    near = difflib.get_close_matches(typed.lower(), lower, n=1, cutoff=0.7)
    return f", did you mean '{lower[near[0]]}'?" if near else ""


def one_of(known):
    """The type of an argparse flag that takes one of these names."""

    def checked(typed):
        if typed in known:
            return typed
        hint = did_you_mean(typed, known)
        raise argparse.ArgumentTypeError(f"unknown '{typed}'{hint}; allowed: {', '.join(known)}")

    return checked


def number_within(least, most):
    """The type of an argparse flag that takes a number from `least` to `most`."""

    def checked(typed):
        try:
            number = float(typed)
        except ValueError:
            number = float("nan")
        if least <= number <= most:
            return number
        raise argparse.ArgumentTypeError(f"'{typed}': allowed: a number from {least:g} to {most:g}")

    return checked
