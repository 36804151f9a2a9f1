"""Three agents that build a short film from a brief, each a process of its own, with a person who
approves. docs/guides/pipelines.md walks through it.

    brief ──approved──► image        ──► plates
    plate ──approved──► compositing  ──► comps
    comps ──approved──► edit         ──► cut

They share one memory file and one folder. Nobody calls anybody: an agent follows the events of the
file by a cursor of its own, finds what was approved by address and tag, compares the file on disk
with its digest, makes its own file, and stores that as one unit with its lineage.
"""
