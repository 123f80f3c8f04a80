"""`python -m causeway`: the same as the `causeway` program."""

import sys

from causeway.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
