"""Figures of runs: plot.py's parts. Those that draw take matplotlib; cases.py and panels.py do not."""
