"""The streams that the demo can show."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final, NamedTuple

from service.datasets.stream_simulator import StreamSimulator
from service.messages.labels import Vocabulary

_N_TEXTS: Final = 1500
_SPAM_RATIO: Final = 0.14
_DRIFT_EVERY: Final = 500
_PAGES: Final = ("legitimate", "phishing")
_TEXTS: Final = ("ham", "spam")
_ABOUT_PAGES: Final = "web pages, phishing or not (River's Phishing data set)"

_SHARED: Final = "you your the a to for now call free at on me please reply text today is not and we"
_HAM: Final = (
    "home lunch later ok sorry train meeting love tomorrow dinner bus class happy mum night school work "
    "late thanks coming movie sleep bring friend weekend key door coffee really lol"
)
_SPAM: Final = (
    "prize winner claim urgent cash award guaranteed offer mobile voucher won selected txt stop ringtone "
    "bonus code customer service credit entry weekly tone camera account unsubscribe"
)


class Demonstrated(NamedTuple):
    """A stream of labelled events."""

    about: str
    classes: tuple[str, str]
    """The negative one first."""
    messages: Sequence[bytes]
    """As `perceptron produce` would send them."""


def _written(kind: str, examples: Sequence[tuple[Mapping[str, object], str]]) -> list[bytes]:
    return [
        json.dumps({"id": f"{kind}-{number}", **x, "label": label}).encode()
        for number, (x, label) in enumerate(examples, start=1)
    ]


def phishing() -> Demonstrated:
    """Return River's data set of web pages: nine numbers of each."""
    from river import datasets  # noqa: PLC0415  imports pandas and scikit-learn

    pages = [({"features": x}, _PAGES[y]) for x, y in datasets.Phishing()]
    return Demonstrated(_ABOUT_PAGES, _PAGES, _written("page", pages))


def drift() -> Demonstrated:
    """Return the same pages twice; after each 500 the two classes exchange their names."""
    once = phishing()
    simulator = StreamSimulator(Vocabulary(_PAGES), _DRIFT_EVERY)
    messages = [simulator.play(message) for message in once.messages]
    simulator.id_suffix = "-2"
    messages += [simulator.play(message) for message in once.messages]
    about = f"{_ABOUT_PAGES}, whose classes change places every {_DRIFT_EVERY}"
    return Demonstrated(about, _PAGES, messages)


def texts() -> Demonstrated:
    """Return short messages of random words, which spam and ham draw from lists that overlap."""
    random = Random(11)  # noqa: S311  nothing to guess here
    shared, ham, spam = _SHARED.split(), _HAM.split(), _SPAM.split()
    examples = []
    for _ in range(_N_TEXTS):
        is_spam = random.random() < _SPAM_RATIO
        own, other = (spam, ham) if is_spam else (ham, spam)
        words = [
            random.choice(random.choices((shared, own, other), (0.55, 0.37, 0.08))[0])
            for _ in range(random.randint(4, 14))
        ]
        examples.append(({"text": " ".join(words)}, _TEXTS[is_spam]))
    return Demonstrated("short messages of random words, spam or ham", _TEXTS, _written("sms", examples))


STREAMS: Final[Mapping[str, Callable[[], Demonstrated]]] = {
    "phishing": phishing,
    "sms-like": texts,
    "drift": drift,
}
