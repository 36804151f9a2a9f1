"""Imports of what other programs keep: histories of agent hosts, exports of chats, and documents.

Nothing is imported here: each part names what it needs."""
