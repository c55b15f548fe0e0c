"""The `perceptron` command."""

from __future__ import annotations

try:
    import signal
    import sys
    from collections.abc import Iterator
    from contextlib import contextmanager

    @contextmanager
    def interrupts_held() -> Iterator[None]:
        """Deliver Ctrl-C at the end of the block only. Processes that are started in it never get one."""
        if sys.platform == "win32":
            yield
            return
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    with interrupts_held():
        from service.cli.app import main
except KeyboardInterrupt:  # the imports take a tenth of a second, before `main` catches it
    raise SystemExit(130) from None

__all__ = ["interrupts_held", "main"]
