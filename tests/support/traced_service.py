"""The `perceptron` command, and on SIGUSR1 its stacks on stderr: what it was doing when it was killed.

The stacks are written by the signal handler itself, so that they come in the middle of whatever it is.
"""

from __future__ import annotations

import faulthandler
import signal

faulthandler.register(signal.SIGUSR1, all_threads=True)

if __name__ == "__main__":
    from service.cli import main

    main()
