"""Agent frameworks: doxa behind the interface that each of them has for memory.

One module for each framework, of that name. Nothing is imported here: a module imports its
framework, so import the one that you need, as in `from doxa.adapters.langgraph import DoxaStore`.
The session given to the constructor is the whole scope: its project, actor and role. The arguments
of a call choose within it, and never reach beyond it.
"""
