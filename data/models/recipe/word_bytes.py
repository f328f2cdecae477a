#!/usr/bin/env python3
"""Stores the word table of a model as signed bytes with one scale per word, instead of 16-bit floats.

  word_bytes.py MODEL_FOLDER [--bits 6]

Rewrites model.onnx, its checksum in model.json and early-exit.json, and the logits of reference.json, in place. The
probe of early-exit.json stays: its estimates change by less than rounding to int8 changes them. `--bits` is how many bits
of a byte are used: fewer compress better. Needs numpy, onnx, onnxruntime.
"""
import argparse, hashlib, json, os
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T, helper as h, numpy_helper as nph

TABLE = "emb.word"


def quantised(words, bits):
    """Returns bytes [words, hidden] and 16-bit scales [words, 1]. The largest number of a word has all bits."""
    largest = 2 ** (bits - 1) - 1
    scales = (np.abs(words).max(1, keepdims=True) / largest).astype(np.float16)
    steps = np.where(scales == 0, 1, scales).astype(np.float32)
    return np.clip(np.rint(words / steps), -largest, largest).astype(np.int8), scales


def with_bytes(model, bits):
    graph = model.graph
    table = next(tensor for tensor in graph.initializer if tensor.name == TABLE)
    numbers, scales = quantised(nph.to_array(table).astype(np.float32), bits)
    gather = next(at for at, node in enumerate(graph.node) if node.op_type == "Gather" and node.input[0] == TABLE)
    cast = graph.node[gather + 1]
    assert cast.op_type == "Cast" and cast.input[0] == graph.node[gather].output[0], "the table is not of 16-bit floats"
    [words] = cast.output
    nodes = []
    for name in ("emb.q8", "emb.q8s"):
        nodes.append(h.make_node("Gather", [name, "input_ids"], [f"{name}.rows"], name=f"{name}.gather"))
        nodes.append(h.make_node("Cast", [f"{name}.rows"], [f"{name}.floats"], name=f"{name}.cast", to=T.FLOAT))
    nodes.append(h.make_node("Mul", ["emb.q8.floats", "emb.q8s.floats"], [words], name="emb.q8.words"))
    rest = list(graph.node)
    tensors = [nph.from_array(numbers, "emb.q8"), nph.from_array(scales, "emb.q8s")]
    tensors += [tensor for tensor in graph.initializer if tensor.name != TABLE]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(rest[:gather] + nodes + rest[gather + 2:])
    graph.initializer.extend(tensors)
    onnx.checker.check_model(model)
    return model


def main():
    options = argparse.ArgumentParser()
    options.add_argument("folder")
    options.add_argument("--bits", type=int, default=6)
    given = options.parse_args()
    path = os.path.join(given.folder, "model.onnx")
    with_bytes_model = with_bytes(onnx.load(path), given.bits).SerializeToString()
    open(path, "wb").write(with_bytes_model)
    sha256 = hashlib.sha256(with_bytes_model).hexdigest()
    was = json.load(open(os.path.join(given.folder, "model.json")))["sha256"]
    for name in ("model.json", "early-exit.json"):
        named = os.path.join(given.folder, name)
        text = open(named).read()
        open(named, "w").write(text.replace(was, sha256))
    session = ort.InferenceSession(with_bytes_model, providers=["CPUExecutionProvider"])
    reference = os.path.join(given.folder, "reference.json")
    cases = json.load(open(reference))
    changes = []
    for case in cases:
        ids, types = case["token_ids"], case["token_type_ids"]
        inputs = {"input_ids": [ids], "attention_mask": [[1] * len(ids)], "token_type_ids": [types]}
        [[logit]] = session.run(["logits"], {name: np.array(value, np.int64) for name, value in inputs.items()})[0]
        changes.append(abs(float(logit) - case["logit"]))
        case["logit"] = round(float(logit), 4)
    lines = ",\n".join(json.dumps(case, ensure_ascii=False, separators=(",", ":")) for case in cases)
    open(reference, "w").write(f"[\n{lines}\n]\n")
    print(f"{sha256}: {len(with_bytes_model)} bytes; logits change by {np.mean(changes):.4f}, at most {max(changes):.3f}")


if __name__ == "__main__":
    main()
