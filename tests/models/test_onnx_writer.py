"""The ONNX writer, against bytes derived by hand from the protobuf encoding, and by running a graph
where the runtime is installed."""

from __future__ import annotations

import numpy as np
import pytest

from minilm_builder.onnx_writer import GraphWriter, model_bytes, value_info


def test_value_info_bytes() -> None:
    # name = 1: "x"; type = 2 { tensor_type = 1 { elem_type = 1: 7, shape = 2 { dim = 1 { dim_param
    # = 2: "n" }, dim = 1 { dim_value = 1: 300 } } } }
    shape = b"\x0a\x03\x12\x01n" + b"\x0a\x03\x08\xac\x02"
    tensor = b"\x08\x07\x12" + bytes([len(shape)]) + shape
    expected = b"\x0a\x01x\x12" + bytes([len(tensor) + 2]) + b"\x0a" + bytes([len(tensor)]) + tensor
    assert value_info("x", element="int64", shape=["n", 300]) == expected


def test_attributes_and_negative_numbers() -> None:
    graph = GraphWriter()
    graph.node("Softmax", ["x"], axis=-1)
    # i = 3: -1 as ten bytes of two's complement, then type = 20: INT
    assert b"\x18" + b"\xff" * 9 + b"\x01" + b"\xa0\x01\x02" in graph.graph_bytes(
        "g", inputs=[], outputs=[]
    )


def test_runs() -> None:
    runtime = pytest.importorskip(
        "onnxruntime", reason="onnxruntime is not installed (extra: local)"
    )
    graph = GraphWriter()
    turned = graph.node("Transpose", ["x"], perm=[1, 0])
    total = graph.node("Add", [turned, graph.constant("one", np.ones((1,), dtype=np.float32))])
    shape = [value_info("x", element="float32", shape=[2, "n"])]
    body = graph.graph_bytes(
        "g", inputs=shape, outputs=[value_info(total, element="float32", shape=["n", 2])]
    )
    session = runtime.InferenceSession(
        model_bytes(body, producer="test"), providers=["CPUExecutionProvider"]
    )
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(session.run(None, {"x": x})[0], x.T + 1)
