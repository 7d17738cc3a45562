"""`python -m rag_lab`: hands the arguments to the command line."""
import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
