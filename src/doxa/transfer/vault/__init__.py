"""Beliefs as a folder of Markdown notes, which people read and edit, and back."""
