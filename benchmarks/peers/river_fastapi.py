"""What `POST /predict` does, as one writes it by hand with FastAPI, Pydantic and River.

river_fastapi.py PORT
"""

from __future__ import annotations

import sys
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from river import feature_extraction, linear_model

app = FastAPI()
model: Any = feature_extraction.BagOfWords() | linear_model.Perceptron()
model.learn_one("win a prize", True)  # noqa: FBT003 - the label
model.learn_one("see you at lunch", False)  # noqa: FBT003


class Event(BaseModel):
    """What is asked about."""

    id: str
    text: str


class Prediction(BaseModel):
    """What is returned."""

    id: str
    label: bool
    score: float


@app.post("/predict")
async def predict(event: Event) -> Prediction:
    """Predict an event; on the event loop, as a thread for each request would cost more."""
    score = model.predict_proba_one(event.text)[True]
    return Prediction(id=event.id, label=score > 0.5, score=score)


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=False, log_level="warning")
