"""Producers: each makes a structure of a transcript, and none is trusted.

    rules      no model; whole sentences, found by language/
    model      a configured language model, by concurrent calls
    host       the agent that calls, which passes the structure itself or is asked for it
    command    a program of the person's, such as `claude -p --output-format json`

One contract (`contract.py`) and one test class for all: what any of them gives goes through
`validate`.
"""
