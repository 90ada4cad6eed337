"""LitServe with the same file and the same payload: `python peer_litserve.py MODEL PORT`."""

from __future__ import annotations

import sys

import litserve
import numpy as np
import onnxruntime


class Perceptron(litserve.LitAPI):
    def setup(self, device: str) -> None:  # noqa: ARG002  # the base class names it
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            sys.argv[1], options, providers=["CPUExecutionProvider"]
        )

    def decode_request(self, request: dict[str, list[float]]) -> np.ndarray:
        return np.asarray(request["x"], np.float32)

    def batch(self, inputs: list[np.ndarray]) -> np.ndarray:
        return np.stack(inputs)

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self.session.run(None, {"x": x})[0]

    def unbatch(self, output: np.ndarray) -> list[np.ndarray]:
        return list(output)

    def encode_response(self, output: np.ndarray) -> dict[str, list[float]]:
        return {"y": output.tolist()}


if __name__ == "__main__":
    api = Perceptron(max_batch_size=32, batch_timeout=0.001, api_path="/predict")
    server = litserve.LitServer(api, accelerator="cpu", workers_per_device=1)
    server.run(
        host="127.0.0.1", port=int(sys.argv[2]), generate_client_file=False, log_level="error"
    )
