"""online-perceptron, the streaming service: receive x, predict, receive y, update on a mistake.

`load` reads a model file in Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from service.lab.loaded_model import LoadedModel, PathName


def load(path: PathName) -> LoadedModel:
    """Read a file that `checkpoint export`, `replay --save` or `train --save` wrote; run no code of it.

    Parameters
    ----------
    path
        The model file.

    Raises
    ------
    InputFileError
        There is no such file, or no valid model in it.
    ConfigurationError
        A setting in the environment or in `.env` contradicts it.

    Examples
    --------
    >>> import service
    >>> model = service.load("model.bin")  # doctest: +SKIP
    >>> model.predict({"text": "win a prize"})  # doctest: +SKIP
    'spam'

    """
    from service.lab.loaded_model import load_model  # noqa: PLC0415 - takes long to import

    return load_model(path)
