"""A server as a service of the system: what it says to systemd, and how it stops."""
