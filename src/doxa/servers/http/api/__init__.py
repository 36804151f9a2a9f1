"""The HTTP API: every verb as a resource, made from the verb table."""
