"""Runs the code that its argument is: `warm.run("coded", [code], …)`."""

import sys

if __name__ == "__main__":  # not where multiprocessing imports it again
    exec(sys.argv[1], {"__name__": "__main__"})
