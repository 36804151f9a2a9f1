"""`python -m tests.cases` runs all cases; `--rewrite` replaces the expected results."""

from __future__ import annotations

import sys

from tests.cases.runner import answered, differences, files, read, write


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--rewrite"]):
        sys.stderr.write("Use: python -m tests.cases [--rewrite]\n")
        return 2
    failed = 0
    for name, path in files().items():
        text = path.read_text()
        found = differences(name, text)
        if arguments and found:
            path.write_text(write(answered(name, read(text))))
        sys.stdout.write("".join(f"{one}\n\n" for one in found))
        failed += len(found)
    sys.stdout.write(f"{failed} answers {'rewritten' if arguments else 'differ'}\n")
    return 1 if failed and not arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
