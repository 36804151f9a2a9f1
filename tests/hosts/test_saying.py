"""What counts as said by the user: an assertion of the belief's words, in their roles."""

from __future__ import annotations

import pytest

from doxa.agent.context.saying import says

SAID = [
    # plainly, or with more around it
    ("From today we ship releases on Mondays.", "We ship releases on Mondays"),
    ("Please store the invoices in Frankfurt.", "Invoices are stored in Frankfurt"),
    ("We decided to host the wiki on Hetzner. Please move it.", "We host the wiki on Hetzner"),
    ("Hi!\nThe staging server is called orca.\nCan you restart it?", "Staging server is orca"),
    ("Do we ship on Mondays? Yes, we ship releases on Mondays.", "We ship releases on Mondays"),
    # denied on both sides
    ("Never merge without a review.", "Never merge without a review"),
    ("Avoid raw queries in handlers.", "No raw queries in handlers"),
    ("We do not log passwords.", "We never log passwords"),
    # a contrast in the same direction
    ("For caching, use Valkey instead of Redis.", "Use Valkey instead of Redis for caching"),
    ("Use Valkey instead of Redis for caching.", "Use Valkey for caching"),
    ("Prefer tabs over spaces in Go.", "In Go prefer tabs over spaces"),
    ("Correction: the port is 9090, not 8080.", "The port is 9090"),
    # a condition on both sides
    ("If the disk is full, we rotate the logs.", "We rotate the logs if the disk is full"),
    ("The staging cluster is in Oslo, not in Bergen.", "Staging cluster is in Oslo, not Bergen"),
]
QUESTIONS = [
    ("Do we ship releases on Mondays?", "We ship releases on Mondays"),
    ("Are invoices stored in Frankfurt?", "Invoices are stored in Frankfurt"),
    ("What if we host the wiki on Hetzner?", "We host the wiki on Hetzner"),
    ("The staging server is orca, right?", "The staging server is orca"),
    ("Why do we log passwords?", "We log passwords"),
    ("I wonder whether we cache with Valkey.", "We cache with Valkey"),
    ("Can you check if the API uses gRPC?", "The API uses gRPC"),
    ("Could we pin Node 22 in CI?", "Pin Node 22 in CI"),
    ("Who owns the billing schema?", "Owns the billing schema"),
    ("Hosten wir das Wiki auf Hetzner?", "Wir hosten das Wiki auf Hetzner"),
    ("我们把发票存放在法兰克福吗？", "我们把发票存放在法兰克福"),
    ("Is Rust the language of the parser?", "Rust is the language of the parser"),
]
CONDITIONS = [
    ("If the disk is full, we rotate the logs.", "We rotate the logs"),
    ("We rotate the logs when the disk is full.", "We rotate the logs"),
    ("Unless Ana objects, we host the wiki on Hetzner.", "We host the wiki on Hetzner"),
    ("Assuming the audit passes, invoices are stored in Frankfurt.", "Invoices in Frankfurt"),
    ("We ship releases on Mondays only if QA agrees.", "We ship releases on Mondays"),
    ("Once the migration is done the API uses gRPC.", "The API uses gRPC"),
    ("We would cache with Valkey.", "We cache with Valkey"),
    ("Tom says we log passwords.", "We log passwords"),
    ("Maybe we ship releases on Mondays.", "We ship releases on Mondays"),
    ("We used to host the wiki on Hetzner.", "We host the wiki on Hetzner"),
    ("Wenn der Test scheitert, nehmen wir den alten Stand.", "Wir nehmen den alten Stand"),
    ("We rotate the logs.", "We rotate the logs if the disk is full"),
    ("The staging server is orca. Scratch that.", "The staging server is orca"),
    ("Let's pretend.\nThe staging server is orca.", "The staging server is orca"),
]
REVERSALS = [
    ("Use Redis instead of Valkey for caching.", "Use Valkey instead of Redis for caching"),
    ("Use Redis instead of Valkey for caching.", "Use Valkey for caching"),
    ("Prefer spaces over tabs in Go.", "Prefer tabs over spaces in Go"),
    ("Run Oracle rather than SQLite in tests.", "Run SQLite rather than Oracle in tests"),
    ("Avoid raw queries in handlers.", "Raw queries in handlers"),
    ("Stop shipping releases on Mondays.", "Ship releases on Mondays"),
    ("We decided against Kubernetes for staging.", "We decided Kubernetes for staging"),
    ("Merge without a review.", "Merge with a review"),
    ("The cluster is in Bergen, not in Oslo.", "The cluster is in Oslo, not in Bergen"),
    ("Don't use MySQL, use SQLite for tests.", "Don't use SQLite, use MySQL for tests"),
    ("Never merge without a review.", "Merge without a review"),
    ("Replace Redis with Valkey.", "Replace Valkey with Redis"),
    ("We migrate from Oracle to SQLite.", "We migrate from SQLite to Oracle"),
]
SHOWN = [
    ("Should we deploy on Thursdays?", "We deploy on Thursdays"),
    (
        "Use MySQL instead of PostgreSQL for billing.",
        "Use PostgreSQL instead of MySQL for billing",
    ),
    ("Avoid force pushes to main.", "Force pushes to main"),
    ("If the tests fail we deploy the old build.", "We deploy the old build"),
]


@pytest.mark.parametrize(("message", "belief"), SAID)
def test_what_is_asserted_is_said(message: str, belief: str) -> None:
    assert says(message, belief)


@pytest.mark.parametrize(("message", "belief"), [*SHOWN, *QUESTIONS, *CONDITIONS, *REVERSALS])
def test_what_is_asked_conditional_or_reversed_is_not_said(message: str, belief: str) -> None:
    assert not says(message, belief)
