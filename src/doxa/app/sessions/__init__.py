"""The verbs of a session, by what they are about. `doxa.app.session.Session` inherits them all."""
