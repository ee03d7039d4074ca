"""What a program writes to a terminal that it is given."""

import os


def shown(ours):
    """All that comes out of a terminal until its other end is closed; it is closed then."""
    seen = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # its other end is closed
            break
        if not part:
            break
        seen += part
    os.close(ours)
    return seen.decode()
