"""What learners declare that the weight w of an example does: `WEIGHT`."""

from __future__ import annotations

from typing import Final

OF_STEP: Final = "multiplies the step"
"""As a learning rate does: with w = 2, the update is twice as large."""
OF_LOSS: Final = "multiplies the loss"
"""And so its gradient: one that scales its steps by earlier gradients need not go w times as far."""
OF_COUNTS: Final = "multiplies the counts"
OF_RESISTANCE: Final = "divides r"
OF_PRICE: Final = "multiplies C"
