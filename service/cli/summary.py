"""The closing summary of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from service.messages.labels import Vocabulary
from service.models.auto import AutoLearner
from service.models.learner import Learner
from service.visible import one_line

_WEIGHTS_SHOWN: Final = 8


def summary_text(summary: Mapping[str, Any], learner: Learner, classes: Sequence[str]) -> str:
    """Lay out a summary: counts, error, confusion matrix and the weights that matter most."""
    lines = [
        f"{'events':<20} {summary['events']:>12,}",
        f"{'labelled':<20} {summary['labelled']:>12,}",
        f"{'mistakes':<20} {summary['mistakes']:>12,}",
        f"{'updates':<20} {summary['updates']:>12,}",
    ]
    if summary["labelled"]:
        lines.append(f"{'error rate':<20} {summary['error_rate']:>12.4f}")
    else:
        lines.append(f"{'error rate':<20} {'unknown':>12}: no event has a label")
    if "auc" in summary:
        lines.append(f"{'area under ROC':<20} {summary['auc']:>12.4f}")
    if "log_loss" in summary:
        lines.append(f"{'log loss':<20} {summary['log_loss']:>12.4f}")
        lines.append(f"{'calibration error':<20} {summary['expected_calibration_error']:>12.4f}")
    lines.append(f"{'rejected':<20} {summary['rejected']:>12,}")
    lines += [f"  {reason:<18} {count:>12,}" for reason, count in summary["rejected_by_reason"].items()]
    if summary.get("repeated_ids"):
        lines.append(f"{'repeated ids':<20} {summary['repeated_ids']:>12,}")
    lines.append(f"{'events per second':<20} {summary['events_per_second']:>12,.0f}")
    experts = experts_table(learner) if isinstance(learner, AutoLearner) else []
    return "\n".join(
        [*lines, *confusion_table(summary["confusion"]), *experts, *largest_weights(learner, classes)]
    )


def experts_table(learner: AutoLearner) -> list[str]:
    """List the learners of a mixture: the weight of each in the answer that leads, and its mistakes."""
    rows = [f"  {name:<44} {weight:>+8.3f} {mistakes:>10,}" for name, weight, mistakes, *_ in learner.experts]
    if not rows:
        return []
    head = f"{f'learners; the {learner.leader} leads':<46} {'weight':>8} {'mistakes':>10}"
    return ["", head, *rows]


def largest_weights(learner: Learner, classes: Sequence[str]) -> list[str]:
    """List the weights that matter most: the sign says for which of the `classes` a feature speaks."""
    known = learner.weights()
    if known is None:
        return []
    weights, bias = known
    ranked = sorted(weights.items(), key=lambda item: (-abs(item[1]), str(item[0])))[:_WEIGHTS_SHOWN]
    named = [(one_line(str(name)), weight) for name, weight in ranked]
    width = max((len(name) for name, _ in named), default=0)
    rows = [f"  {name:<{width}} {weight:>+12.4f}" for name, weight in named]
    if isinstance(bias, Mapping):
        biases = one_line(", ".join(f"{name}: {value:+g}" for name, value in bias.items()))
        title = (
            f"largest of {len(weights):,} weights (positive ones speak for the class named); bias {biases}"
        )
    else:
        positive = one_line(Vocabulary(classes).name(truth=True))
        title = f"largest of {len(weights):,} weights (positive ones speak for {positive}); bias {bias:+g}"
    return ["", title, *rows]


def confusion_table(confusion: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Lay out the confusion matrix; nothing for nothing."""
    if not confusion:
        return []
    names = [one_line(name) for name in confusion]
    width = max(10, *(len(name) + 2 for name in names))
    corner = "truth \\ predicted"
    head = f"{corner:<20}" + "".join(f"{name:>{width}}" for name in names)
    rows = [
        f"  {truth:<18}" + "".join(f"{count:>{width},}" for count in row.values())
        for truth, row in zip(names, confusion.values(), strict=True)
    ]
    return ["", head, *rows]
