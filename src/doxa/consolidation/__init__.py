"""Sessions and threads become summaries, events, facts, decisions, actions and questions, each
checked against the turns that it is drawn from."""
