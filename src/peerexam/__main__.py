"""`python -m peerexam` is the same as `peerexam`."""

import sys

from peerexam.cli import main

if __name__ == "__main__":
    sys.exit(main())
