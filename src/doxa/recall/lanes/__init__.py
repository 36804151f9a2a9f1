"""The lanes of recall: ranking signals, each of which gives every candidate a value.

A lane that is switched off, or has nothing to report, is zero for all candidates (policy: one) and
costs nothing. `fusion.py` describes the values and combines them.
"""
