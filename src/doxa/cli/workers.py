"""`doxa serve --workers N`: the process that supervises workers, and the one that is a worker."""

from __future__ import annotations

import signal
import socket
import sys
from pathlib import Path
from typing import Any

from doxa.cli.context import errors_reported
from doxa.cli.serving import Ready, ServePlan, serve_plan
from doxa.servers.prefork.supervisor import Supervisor, supervise, worker_command
from doxa.servers.prefork.worker import Worker


def serve_with_workers(plan: ServePlan, workers: int) -> int:
    """Serve a plan by several processes until interrupted. Returns the exit code."""
    from doxa.servers.credentials import Credentials
    from doxa.servers.telemetry.logs import log_as_json

    if plan.log == "json":
        log_as_json()
    known = None if plan.users is None else Credentials(plan.users)
    count = len(known.users()) if known else 0

    def ready(addresses: dict[str, str], path: str) -> None:
        Ready(Path(path), known, count, plan.as_json).show(addresses)

    listeners = {name: _listeners(name, dict(one)) for name, one in plan.options.items()}
    return supervise(
        Supervisor(
            worker_command(), plan._asdict(), workers=workers, listeners=listeners, ready=ready
        )
    )


def _listeners(name: str, options: dict[str, Any]) -> list[socket.socket]:
    """Open the listening sockets of an interface. Raises StoreError for an address that is not
    available; whether it requires a login or TLS is checked by the first worker, before anybody
    takes a connection."""
    host = options["host"]
    if name == "bolt":
        from doxa.servers.bolt.server import PORT, open_listeners

        return open_listeners(host, options.get("port", PORT))
    from doxa.servers.http.server import PORT as HTTP_PORT
    from doxa.servers.http.server import open_listener

    if name == "http":
        return [open_listener("HTTP", host, options.get("port", HTTP_PORT))]
    from doxa.servers.mcp.http import PORT as MCP_PORT

    return [open_listener("MCP", host, options.get("port", MCP_PORT))]


def main() -> None:
    """Be the worker whose channel has the handle that is the last argument."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the supervisor stops
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    worker = Worker(int(sys.argv[-1]))
    plan = ServePlan(**worker.order.plan)
    from doxa.app.models import share_caps

    share_caps(worker.number, worker.workers)
    with errors_reported(plan.as_json):
        serve_plan(plan, worker)


if __name__ == "__main__":
    main()
