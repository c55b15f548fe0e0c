"""Models of every kind, trained on events with hostile names, and what they answer."""

from dataclasses import dataclass
from typing import Any

from perceptron_core import HashedClassifier
from service.lab.export.linear import LinearModel, linear_model
from service.messages.labels import Vocabulary
from service.models.learner import Learner
from service.models.registry import make_learner
from service.partition.factory import make_extractor
from service.settings.load import Settings

HOSTILE = [
    '"',
    "\\",
    "a\nb",
    "\0",
    "*/",
    "??/",
    "'); //",
    "</script>",
    "@MODEL@",
    "__proto__",
    "é",
    "𝄞",
    "",
    "%s",
    "1",
]
TEXTS = [
    "Win a BIG prize, win! ΌΣΟΣ ΣΑΣ Σ ΑΣ' ΑΣΑ",
    "see you at noon; İstanbul straße ǅ ⅷ ²½ ٣٤ 中文字",
    "",
    "lunch at noon at noon K Å café café ʰΣ aʰΣ",
    "call 0800 now\r\n\t<b>&amp;</b> 𝄞𐐀𐐨 ﬁ",
    "win win win",
]


def events():
    for number, text in enumerate(TEXTS * 4):
        features: dict[str, Any] = {
            name: (number * 7 + at * 5) % 11 / 4 - 1
            for at, name in enumerate(HOSTILE)
            if at % 3 != number % 3
        }
        features |= {
            "lang": ["en", 'd"e', "é"][number % 3],
            "known": number % 2 == 0,
            "length": len(text) / 7,
        }
        yield features, text


@dataclass
class Case:
    """A trained model, and events with its answers."""

    learner: Learner
    extractor: Any
    settings: Settings
    asked: list
    model: LinearModel

    @property
    def raw(self):
        model = self.learner.model
        return model.learner if isinstance(model, HashedClassifier) else model

    def scores(self, features, text):
        x = self.extractor.extract(features, text)
        if len(self.model.biases) == 1:
            return [self.raw.score_one(x)]
        return list(self.raw.scores_one(x).values())

    def label(self, features, text):
        predicted, _ = self.learner.assess(self.extractor.extract(features, text))
        vocabulary = Vocabulary(self.settings.classes)
        return vocabulary.spell(predicted, vocabulary.first_spelling())


def trained(model, *, texts=True, features=True, **given):
    """Train a model on a part of the events; those not learned from are asked about too."""
    settings = Settings(model=model, **given)
    learner = make_learner(model, settings.model_params, settings.classes, b"", settings.hash_bits)
    extractor = make_extractor(settings)
    found = [(each if features else {}, text if texts else "") for each, text in events()]
    truths = settings.classes if len(settings.classes) > 2 else (False, True)
    for number, (each, text) in enumerate(found[:-6]):
        learner.learn(extractor.extract(each, text), truths[(number * number + number // 2) % len(truths)])
    more = [
        ({**each, "length": 1000.0, "unknown": 3.0} if features else each, text) for each, text in found[:3]
    ]
    return Case(learner, extractor, settings, found + more, linear_model(learner.model, settings))
