"""`python -m rag_lab`: hands the arguments to the command line."""
import gc
import sys

from .cli import main

if __name__ == "__main__":
    gc.freeze()   # what is loaded by now stays to the end: nothing in it is garbage, so no look at it is needed
    sys.exit(main())
