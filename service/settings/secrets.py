"""Read secrets that are mounted as files."""

from __future__ import annotations

from pathlib import Path

from service.errors import ConfigurationError


def read_secret(name: str, path: str, origin: str) -> str:
    """Read a secret; the end of its last line does not belong to it.

    Parameters
    ----------
    name
        The setting that names the file.
    path
        The file.
    origin
        The source of the setting.

    Raises
    ------
    ConfigurationError
        The file cannot be read, or holds nothing; the message shows nothing of what it holds.

    """
    try:
        secret = Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 at byte {error.start}"
    else:
        if secret:
            return secret
        reason = "the file is empty"
    hint = f"{name} names a file that holds the secret and nothing else, readable by this process"
    raise ConfigurationError(f"{name} = {path!r} (from {origin}): {reason}", hint=hint)
