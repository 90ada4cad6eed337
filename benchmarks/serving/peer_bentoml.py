"""BentoML with the same file and the same payload: `bentoml serve peer_bentoml:Perceptron`."""

from __future__ import annotations

import os
from typing import Annotated

import bentoml
import numpy as np
import onnxruntime
from bentoml.validators import DType, Shape


@bentoml.service(workers=1, traffic={"timeout": 60}, logging={"access": {"enabled": False}})
class Perceptron:
    def __init__(self) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            os.environ["MODEL"], options, providers=["CPUExecutionProvider"]
        )

    @bentoml.api(batchable=True, max_batch_size=32, max_latency_ms=1000)
    def predict(self, x: Annotated[np.ndarray, Shape((-1, 784)), DType("float32")]) -> np.ndarray:
        return self.session.run(None, {"x": x})[0]
