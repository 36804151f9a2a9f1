"""The server of the MCPB bundle: `doxa mcp`, from the package that uv installs next to it."""

import sys

from doxa.cli import main

if __name__ == "__main__":
    sys.argv[1:1] = ["mcp"]
    main()
