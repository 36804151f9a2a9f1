"""Conversations that go on: sessions, topics, knowledge, archive, handoffs, checkpoints."""
