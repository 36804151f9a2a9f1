"""Packets, leases, the governor and the contracts of consumers."""
