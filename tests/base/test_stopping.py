"""A child that was asked to end leaves no open pipe and no zombie, whatever it had not read yet."""

from __future__ import annotations

import subprocess
import sys

from doxa.base.stopping import release


def test_a_child_that_ends_is_released() -> None:
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin and child.stdout
    child.stdin.write(b"not read by anyone")
    child.kill()
    release(child)
    assert child.returncode is not None
    assert child.stdin.closed and child.stdout.closed
