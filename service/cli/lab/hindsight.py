"""What `replay` shows of a run in hindsight: thresholds that reach a goal, and the surest mistakes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

from perceptron_core.logistic import logistic
from service.cli.table import ABSENT, ratio_text, table
from service.lab.score_curve import GOALS, ScoreCurve
from service.lab.surest_mistakes import ExplainedMistake
from service.messages.labels import Vocabulary
from service.redaction import one_line

_HEAD: Final = ("threshold", "score from", "probability", "precision", "recall", "FPR", "events")
_LONGEST_ID: Final = 40


class Goal(click.ParamType[tuple[str, float]]):
    """The type of an option such as precision=0.95."""

    name = "goal=ratio"

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[str, float]:
        """Return the goal and its value."""
        name, _, text = str(value).partition("=")
        try:
            ratio = float(text)
        except ValueError:
            ratio = -1.0
        if name not in GOALS or not 0 <= ratio <= 1:
            self.fail(f"{value!r} is not {'|'.join(GOALS)}=RATIO, with a ratio from 0 to 1", param, ctx)
        return name, ratio


def reached(
    curve: ScoreCurve | None, goals: Sequence[tuple[str, float]], *, has_log_odds: bool
) -> list[dict[str, Any]]:
    """Return for each goal the threshold that reaches it; the goal alone where none does."""
    rows = []
    for name, ratio in goals:
        found = curve.at(name, ratio) if curve else None
        row: dict[str, Any] = {"goal": f"{name}={ratio:g}"}
        if found:
            row |= found._asdict()
            row |= {"probability": logistic(found.score)} if has_log_odds else {}
        rows.append(row)
    return rows


def thresholds_text(summary: Mapping[str, Any]) -> list[str]:
    """Lay out the thresholds; nothing where none was asked for."""
    rows = [
        (
            each["goal"],
            f"{each['score']:.6g}" if "score" in each else "not reached",
            *(ratio_text(each.get(name)) for name in ("probability", *GOALS)),
            f"{each['decided']:,}" if "decided" in each else ABSENT,
        )
        for each in summary.get("thresholds", ())
    ]
    return ["", table([_HEAD, *rows])] if rows else []


def mistakes_as_json(mistakes: Sequence[ExplainedMistake], classes: Sequence[str]) -> list[dict[str, Any]]:
    """Return mistakes as `--format json` prints them."""
    name_of = Vocabulary(classes).name
    return [
        {
            "id": each.event_id,
            "truth": name_of(each.truth),
            "predicted": name_of(each.predicted),
            "score": each.score,
            **({} if each.probability is None else {"probability": each.probability}),
            "terms": [
                {"feature": term.feature, "value": term.value, "contribution": term.contribution}
                for term in each.terms
            ],
        }
        for each in mistakes
    ]


def mistakes_text(summary: Mapping[str, Any]) -> list[str]:
    """Lay out the surest mistakes, each with its largest terms; nothing where none was asked for."""
    if "errors" not in summary:
        return []
    lines = ["", "surest mistakes, with what added most to the score" if summary["errors"] else "no mistake"]
    for each in summary["errors"]:
        event_id = one_line(each["id"])
        shown = event_id if len(event_id) <= _LONGEST_ID else event_id[: _LONGEST_ID - 1] + "…"
        sure = f", probability {each['probability']:.4f}" if "probability" in each else ""
        truth, predicted = one_line(each["truth"]), one_line(each["predicted"])
        lines.append(f"  {shown}: {predicted}, but is {truth}; score {each['score']:+.4g}{sure}")
        lines += [
            f"    {term['contribution']:>+10.4f}  {one_line(term['feature'])}" for term in each["terms"]
        ]
    return lines
