"""Answer the lines of a body with a line each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from fastapi import Request, Response
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool

from service.messages.rejection import Rejection
from service.monitoring.live_model import LiveModel
from service.monitoring.live_models import LiveModels
from service.monitoring.questions import Question
from service.web.lines.bodies import NDJSON, lines_of
from service.web.lines.problems import LineProblems

_AT_ONCE: Final = 32
"""Lines that a model answers in one turn, for which its loop waits."""


async def predict_lines(
    request: Request, live: LiveModels, partition: int | None, *, is_own: bool
) -> Response:
    """Answer each line of a body as a request of its own, in order; one that is rejected, with its problem.

    Any other error is that of the whole body: nothing is lost with it.
    """
    lines = await lines_of(request)

    def answer_all() -> bytes:
        tell, answers = LineProblems(request).tell, []
        for start in range(0, len(lines), _AT_ONCE):
            part = _predicted(live, lines[start : start + _AT_ONCE], partition, is_own=is_own)
            for number, answer in enumerate(part, start + 1):
                answers.append(to_json(tell(number, answer)) if isinstance(answer, Rejection) else answer)
        return b"".join(line + b"\n" for line in answers)

    return Response(await run_in_threadpool(answer_all), media_type=NDJSON)


def _predicted(
    live: LiveModels, lines: Sequence[bytes], partition: int | None, *, is_own: bool
) -> Sequence[bytes | Rejection]:
    answers: list[bytes | Rejection] = [b""] * len(lines)
    by_model: defaultdict[LiveModel, list[tuple[int, Question]]] = defaultdict(list)
    for place, line in enumerate(lines):
        try:
            question = live.questions.read(line, is_own=is_own)
        except Rejection as rejection:
            answers[place] = rejection
        else:
            by_model[live.get(partition, question.id)].append((place, question))
    for model, asked in by_model.items():
        predicted = model.predict_all([question for _, question in asked])
        for (place, question), answer in zip(asked, predicted, strict=True):
            if isinstance(answer, Rejection):
                answers[place] = answer
            else:
                owned = live.owns(model.partition, question.id)
                fields = {**answer, "partition": model.partition, "owned": owned}
                answers[place] = to_json(fields, inf_nan_mode="null")
    return answers
