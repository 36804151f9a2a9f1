"""Agent hosts: their hooks, what these inject, and the set-up of both.

Nothing is imported here: `doxa hook` runs before each turn of an agent, and pays for every import.
"""
