"""Figures of runs, drawn by plot.py. The drawing modules need matplotlib; cases.py and panels.py do
not."""
