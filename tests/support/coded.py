"""Runs the code that its argument is: `warm.run("coded", [code], …)`."""

import sys

exec(sys.argv[1], {"__name__": "__main__"})
