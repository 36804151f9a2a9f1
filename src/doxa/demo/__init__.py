"""Demonstrations: a tour in the terminal, and a month of a small team's life for the page."""

from doxa.demo.team import PROJECT, fill
from doxa.demo.tour import command, run

__all__ = ["PROJECT", "command", "fill", "run"]
