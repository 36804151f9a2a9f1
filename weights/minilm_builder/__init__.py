"""Builds the files of doxa-memory-minilm from the published float32 weights.

This is a build backend (PEP 517): `pip install ./weights` and `pip wheel ./weights` run it, and
nothing of it is installed. Read `backend.py` first, then `graph.py`.
"""
