"""Recognise loopback addresses. Traffic to them stays on this machine, so servers and model
endpoints apply weaker requirements to them."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """Return whether only programs on this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
