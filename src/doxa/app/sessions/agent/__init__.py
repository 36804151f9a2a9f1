"""The verbs of the agent's runtime, as methods of a session."""
