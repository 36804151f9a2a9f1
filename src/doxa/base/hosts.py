"""Which network addresses are this machine's own: what is sent there stays here, so doors and
endpoints ask for less."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
