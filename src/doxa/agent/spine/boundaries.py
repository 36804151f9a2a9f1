"""Hard boundaries that a target shows by itself: what no verdict of a caller lowers.

    protected_state   the memory file, identity files, the operator's key and settings
    credentials       keys and passwords

The patterns are compared with the last parts of a target, without regard to case.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

# Actions of these classes only look: reading an identity file crosses nothing, reading a key does.
_LOOKING = frozenset(("ordinary_conversation", "read_only_investigation"))
_CREDENTIALS = (
    "*.pem", "*.key", "*.p12", "*.keystore", "id_rsa*", "id_ed25519*", "id_ecdsa*", ".env",
    ".env.*", ".netrc", ".pgpass", "credentials", "credentials.*", ".ssh/*", ".gnupg/*", ".aws/*",
)  # fmt: skip
_PROTECTED = (
    "*.doxa", "*.doxa-wal", "*.doxa-shm", "doxa.toml", "soul.md", "agents.md", "anchor.md",
    "tools.md", "memory.md", "authorized_keys", "sudoers", "sudoers.d/*",
)  # fmt: skip


def crossed_by(action_class: str, target: str) -> tuple[str, ...]:
    """Return the boundaries that an action on a target crosses, by name."""
    parts = target.casefold().replace("\\", "/").rstrip("/").split("/")
    tails = (parts[-1], "/".join(parts[-2:]))
    found = []
    if any(fnmatchcase(tail, pattern) for tail in tails for pattern in _CREDENTIALS):
        found.append("credentials")
    if action_class not in _LOOKING and any(
        fnmatchcase(tail, pattern) for tail in tails for pattern in _PROTECTED
    ):
        found.append("protected_state")
    return tuple(found)
