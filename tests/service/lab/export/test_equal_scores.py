"""What is exported gives the scores and the labels of the model, in each language."""

import json
import pickle
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from perceptron_core.base.linear_rule import LinearRule
from perceptron_core.base.multiclass import MulticlassClassifier
from perceptron_core.learners import learners
from service.errors import ConfigurationError
from service.lab.export import as_c, as_javascript, as_json, as_onnx, as_sklearn, as_vw
from service.lab.export.linear import linear_model
from service.models.registry import make_learner
from service.settings.load import Settings
from tests.docs.documents import ROOT, blocks
from tests.service.lab.export.cases import TEXTS, trained

GUIDE = ROOT / "docs/guides/export.md"
LINEAR = [
    name
    for name, kind in learners().items()
    if issubclass(kind, (LinearRule, MulticlassClassifier)) and name != "bayesian-logistic"
]
CASES = {
    "features": {"model": "perceptron", "model_params": {"tie": True, "threshold": 0.5}},
    "words": {"model": "arow", "ngrams": "1-2", "token_pattern": "[a-zé0-9]+", "classes": 'ham,s"p'},
    "characters": {"model": "normalized-adagrad", "text": "chars", "ngrams": "2-4", "normalize": "l2"},
    "hashed": {"model": "normalized-adagrad", "hash_bits": 8, "ngrams": "1-3", "text_values": "counts"},
    "hashed l2": {"model": "logistic-regression", "hash_bits": 5, "normalize": "l2", "lowercase": False},
    "several": {"model": "multiclass-normalized-adagrad", "classes": "a,b é,</script>*/"},
    "several hashed": {
        "model": "multiclass-arow",
        "classes": "a,b,c",
        "hash_bits": 7,
        "text": "chars",
        "ngrams": "4",
    },
    "two": {"model": "multiclass-perceptron"},
}
C_DRIVER = r"""
#include "model.c"
#include <stdio.h>
static char *text_of(size_t *size) {
    char *text;
    if (scanf("%zu", size) != 1 || getchar() != ' ' || !(text = malloc(*size + 1))) exit(2);
    if (fread(text, 1, *size, stdin) != *size) exit(2);
    return text;
}
int main(void) {
    perceptron_event *event = perceptron_new();
    size_t n, size;
    double value, scores[PERCEPTRON_SCORES];
    while (scanf("%zu", &n) == 1) {
        char *text;
        for (; n; n--) {
            text = text_of(&size);
            if (scanf("%lf", &value) != 1 || !perceptron_add(event, text, size, value)) return 3;
            free(text);
        }
        text = text_of(&size);
        if (!perceptron_add_text(event, text, size)) return 4;
        free(text);
        perceptron_score(event, scores);
        printf("%d", perceptron_decide(scores));
        for (n = 0; n < PERCEPTRON_SCORES; n++) printf(" %.17g", scores[n]);
        puts("");
        perceptron_clear(event);
    }
    for (n = 0; n < PERCEPTRON_CLASSES; n++) puts(PERCEPTRON_LABELS[n]);
    perceptron_free(event);
    return 0;
}
"""
JS_DRIVER = """
const perceptron = require("./model.js");
const events = JSON.parse(require("fs").readFileSync(0, "utf8"));
const asked = events.map(([features, text]) => ({ features: new Map(features), text }));
const answers = asked.map((event) => [perceptron.scores(event), perceptron.predict(event).label]);
console.log(JSON.stringify(answers));
"""


@pytest.fixture(params=CASES)
def case(request):
    return trained(**CASES[request.param])


def needs(program):
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"there is no {program}")


def as_numbers(features):
    """Return what a caller of the C functions gives."""
    return {
        (f"{k}={v}" if isinstance(v, str) else k): (1.0 if isinstance(v, str) else float(v))
        for k, v in features.items()
    }


@pytest.mark.slow
@needs("cc")
def test_c_gives_the_same_bits(case, tmp_path):
    tmp_path.joinpath("model.c").write_bytes(as_c.export(case.model))
    tmp_path.joinpath("main.c").write_text(C_DRIVER)
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"]
    subprocess.run(["cc", *strict, "main.c", "-o", "main", "-lm"], cwd=tmp_path, check=True)
    asked = b""
    for features, text in case.asked:
        found = [(name.encode(), value) for name, value in as_numbers(features).items()]
        asked += b"%d " % len(found) + b"".join(
            b"%d %b %r " % (len(name), name, value) for name, value in found
        )
        asked += b"%d %b " % (len(text.encode()), text.encode())
    done = subprocess.run([tmp_path / "main"], input=asked, capture_output=True, check=True)
    lines = done.stdout.decode().splitlines()
    names = lines[len(case.asked) :]
    assert names == case.model.label_names
    for (features, text), line in zip(case.asked, lines, strict=False):
        decided, *scores = line.split()
        assert [*map(float, scores)] == case.scores(features, text)
        assert case.model.labels[int(decided)] == case.label(features, text)


@needs("node")
def test_javascript_gives_the_same_bits(case, tmp_path):
    tmp_path.joinpath("model.js").write_bytes(as_javascript.export(case.model))
    asked = json.dumps([[[*features.items()], text] for features, text in case.asked])
    done = subprocess.run(
        ["node", "-e", JS_DRIVER], cwd=tmp_path, input=asked.encode(), capture_output=True, check=True
    )
    expected = [[case.scores(*event), case.label(*event)] for event in case.asked]
    assert json.loads(done.stdout) == expected


def of_the_guide(language):
    (block,) = (each for each in blocks(GUIDE) if each.language == language)
    return block.code


@pytest.fixture
def spam():
    """Return the model of the guide."""
    learner = make_learner("perceptron", {}, ("ham", "spam"))
    learner.learn({"text=prize": 1.0}, True)
    return linear_model(learner.model, Settings(classes="ham,spam"))


@needs("cc")
def test_the_program_in_c_of_the_guide_runs(spam, tmp_path):
    tmp_path.joinpath("spam.c").write_bytes(as_c.export(spam))
    tmp_path.joinpath("main.c").write_text(of_the_guide("c"))
    subprocess.run(["cc", "-std=c99", "main.c", "-o", "main", "-lm"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"], capture_output=True, check=True).stdout == b"spam\n"


@needs("node")
def test_the_program_in_javascript_of_the_guide_runs(spam, tmp_path):
    tmp_path.joinpath("spam.js").write_bytes(as_javascript.export(spam))
    done = subprocess.run(
        ["node", "-p", of_the_guide("js")], cwd=tmp_path, capture_output=True, check=True, text=True
    )
    assert done.stdout == "{ label: 'spam', score: 2 }\n"


def test_scripts_have_nothing_that_a_web_page_or_a_compiler_could_take_for_its_own(case):
    script = as_javascript.export(case.model)
    assert script.isascii()
    assert b"<script" not in script.partition(b"*/")[2]
    assert b"</" not in script.partition(b"*/")[2]
    assert as_c.export(case.model).isascii()


@pytest.mark.parametrize("name", LINEAR)
def test_every_linear_learner_is_told_to_the_last_weight(name):
    case = trained(name)
    told = json.loads(as_json.export(case.model))
    for features, text in case.asked:
        sums = list(told["bias"])
        for feature, value in case.extractor.extract(features, text).items():
            if feature in told["weights"] and value:
                scale = told["scales"].get(feature)
                counted = value / max(abs(value), scale) if scale else value
                sums = [s + w * counted for s, w in zip(sums, told["weights"][feature], strict=True)]
        assert sums == pytest.approx(case.scores(features, text), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", sorted({*learners()} - {*LINEAR}))
def test_every_other_learner_is_refused_with_a_way_that_takes_it(name):
    model = make_learner(name, {}).model
    with pytest.raises(ConfigurationError, match="no linear model") as refused:
        linear_model(model, Settings(model=name))
    assert "mlflow" in refused.value.hint


@pytest.mark.parametrize(
    "given",
    [
        {"model": "normalized-adagrad"},
        {"model": "perceptron", "model_params": {"tie": True}},
        {"model": "multiclass-normalized-adagrad", "classes": "a,b,ç"},
    ],
    ids=str,
)
def test_onnx_gives_the_same_scores_and_labels(given):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    case = trained(texts=False, **given)
    session = runtime.InferenceSession(as_onnx.export(case.model), providers=["CPUExecutionProvider"])
    names = json.loads(session.get_modelmeta().custom_metadata_map["features"])
    rows = [[as_numbers(features).get(name, 0.0) for name in names] for features, _ in case.asked]
    labels, scores = session.run(["label", "scores"], {"features": np.array(rows)})
    assert scores.tolist() == [
        pytest.approx(case.scores(*event), rel=1e-12, abs=1e-12) for event in case.asked
    ]
    spelt = dict(zip(case.model.labels, case.model.label_names, strict=True))
    assert labels.tolist() == [spelt[case.label(*event)] for event in case.asked]


@pytest.mark.parametrize(
    ("parts", "given"),
    [
        ({"texts": False}, {"model": "logistic-regression"}),
        ({"texts": False}, {"model": "multiclass-perceptron", "classes": "a,b,c"}),
        ({"features": False}, {"model": "normalized-adagrad", "ngrams": "1-2", "classes": "ham,spam"}),
        ({"features": False}, {"model": "perceptron", "text_values": "counts"}),
    ],
    ids=str,
)
def test_scikit_learn_gives_the_same_scores_and_labels(parts, given):
    case = trained(**parts, **given)
    pipeline = pickle.loads(as_sklearn.export(case.model))
    asked = (
        [text for _, text in case.asked]
        if "features" in parts
        else [
            {name: float(value) if not isinstance(value, str) else value for name, value in features.items()}
            for features, _ in case.asked
        ]
    )
    expected = [case.scores(*event) for event in case.asked]
    assert np.reshape(pipeline.decision_function(asked), (len(asked), -1)).tolist() == [
        pytest.approx(each, rel=1e-12, abs=1e-12) for each in expected
    ]
    assert pipeline.predict(asked).tolist() == [case.label(*event) for event in case.asked]


@pytest.mark.parametrize(
    "given",
    [
        {"model": "perceptron"},
        {"model": "arow", "hash_bits": 18, "text_values": "counts"},
        {"model": "multiclass-arow", "classes": "a,b,c"},
    ],
    ids=str,
)
def test_vowpal_wabbit_gives_the_same_scores_in_single_precision(given, tmp_path):
    workspace = pytest.importorskip("vowpalwabbit").Workspace
    case = trained(features=False, **given)
    path = tmp_path / "model.vw"
    path.write_bytes(as_vw.export(case.model))
    several = len(case.model.biases) > 1
    reader = workspace(f"--quiet -t -i {path}" + (" --scores" if several else ""))
    for text in TEXTS:
        counts = Counter(re.findall(r"\w+", text.lower()))
        line = "| " + " ".join(
            f"text={word}:{count if case.settings.hash_bits else 1}" for word, count in counts.items()
        )
        found = reader.predict(line)
        assert (found if several else [found]) == pytest.approx(case.scores({}, text), rel=1e-5, abs=1e-5)
    reader.finish()


@pytest.mark.parametrize(
    ("form", "given", "reason"),
    [
        (as_c, {"model": "perceptron", "token_pattern": r"\w+'?"}, "token_pattern"),
        (as_c, {"model": "perceptron", "text": "scripts"}, "text=scripts"),
        (as_javascript, {"model": "perceptron", "token_pattern": r"\d+|\w+"}, "token_pattern"),
        (as_onnx, {"model": "perceptron"}, "cuts or hashes"),
        (as_sklearn, {"model": "perceptron"}, "beside a text"),
        (as_sklearn, {"model": "perceptron", "hash_bits": 8}, "hashing"),
        (as_sklearn, {"model": "normalized-adagrad", "texts": False}, "larger than all before"),
        (as_vw, {"model": "normalized-adagrad"}, "larger than all before"),
        (as_vw, {"model": "perceptron"}, "cannot name the feature"),
        (as_vw, {"model": "perceptron", "features": False, "normalize": "l2"}, "normalize"),
    ],
)
def test_what_a_format_cannot_say_is_refused_with_formats_that_can(form, given, reason):
    pytest.importorskip({as_onnx: "onnx", as_vw: "vowpalwabbit"}.get(form, "json"))
    with pytest.raises(ConfigurationError, match=reason) as refused:
        form.export(trained(**given).model)
    assert refused.value.hint == "--format json, c and js say all of a linear model"


def test_a_model_that_has_learned_nothing_is_refused():
    with pytest.raises(ConfigurationError, match="learned nothing"):
        linear_model(make_learner("perceptron", {}).model, Settings())


def test_the_templates_are_in_the_package():
    folder = Path(as_c.__file__).parent
    assert {path.name for path in folder.glob("template.*")} == {"template.c", "template.js"}
