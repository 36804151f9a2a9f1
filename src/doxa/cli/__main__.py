"""`python -m doxa.cli` is the `doxa` command."""

from doxa.cli import main

if __name__ == "__main__":
    main()
