"""Erasure of single properties and texts, retention, legal holds, and the proof that bytes are
gone."""
