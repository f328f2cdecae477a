#!/usr/bin/env python3
"""Writes the reader that train_reader.py trained as data/models/mneme-reader.

  export_reader.py --state checkpoint.pt --lists dev.jsonl --out ../mneme-reader

The graph is that of the embedder mneme-e5-small (int8 weights of 7 bits, one activation scale per token row, its
smoothing factors) with the reader's layers, token types and heads. The word table (`emb.q4`, `emb.q4s`) is not in the
file: it is the embedder's, bit for bit. Messages of Protocol Buffers merge when their bytes are joined, so model.onnx
followed by a message with these two tensors (`word_table`) is a whole graph for onnxruntime.

inputs   input_ids, attention_mask, token_type_ids (int64 [batch, sequence]); type 1: tokens of the passage
outputs  logits [batch, 2]: relevance, answer; spans [batch, sequence, 2]: begin, end of the answer, for every token

reference.json: pairs of --lists (as `train_reader.py prepare` makes them) with the values of the exported file by
onnxruntime, one pair at a time. model.json: the two curves of the file that is there stay; without one, they are neutral.
Prints how far the exported logits are from those of the checkpoint. Needs the packages of train_reader.py.
"""
import argparse, hashlib, json, os, random
import numpy as np, onnx
from onnx import TensorProto, helper as h, numpy_helper as nph
import train_reader
from train_reader import EMBEDDER, LAYERS, PAIR_TOKENS, QUERY_TOKENS, tokenizer
from tune_embedder import layer_values, put_values

POSITIONS = 160
REFERENCE_PAIRS = 24


def word_table():
    """The two tensors that the file lacks, as bytes that are joined to those of model.onnx."""
    whole = onnx.load(os.path.join(EMBEDDER, "model.onnx"))
    return h.make_model(h.make_graph([], "", [], [], [i for i in whole.graph.initializer if i.name in ("emb.q4", "emb.q4s")])).graph


def joined(path):
    """model.onnx with the word table, as bytes."""
    part = onnx.ModelProto(); part.graph.initializer.extend(word_table().initializer)
    return open(path, "rb").read() + part.SerializeToString()


def graph_of(net):
    model = onnx.load(os.path.join(EMBEDDER, "model.onnx")); graph = model.graph
    last = next(k for k, n in enumerate(graph.node) if f"l{LAYERS - 1}.ln2.g" in n.input); nodes = []
    for n in graph.node[:last + 1]:
        nodes.append(n)
        if n.op_type == "Add" and "Slice_7_out" in n.input:
            nodes.append(h.make_node("Gather", ["emb.type", "token_type_ids"], ["types"], name="types"))
            nodes.append(h.make_node("Add", [n.output[0], "types"], ["typed"], name="typed"))
        if n.op_type == "Reshape" and n.input[0] == "Add_8_out": n.input[0] = "typed"
    nodes += [h.make_node("Reshape", [nodes[-1].output[0], "Concat_3_out"], ["token_embeddings"], name="states"),
              h.make_node("Gather", ["token_embeddings", "first_index"], ["first"], name="first", axis=1),
              h.make_node("Gemm", ["first", "pool.w", "pool.b"], ["pool_sum"], name="pool", transB=1), h.make_node("Tanh", ["pool_sum"], ["pooled"], name="pooled"),
              h.make_node("Gemm", ["pooled", "cls.w", "cls.b"], ["logits"], name="heads", transB=1),
              h.make_node("MatMul", ["token_embeddings", "span.w"], ["span_sum"], name="span"), h.make_node("Add", ["span_sum", "span.b"], ["spans"], name="spans")]
    array = lambda x: x.detach().float().numpy()
    I = {i.name: nph.to_array(i) for i in graph.initializer}
    values = {"emb.ln.g": array(net.norm.weight), "emb.ln.b": array(net.norm.bias)}
    for i, layer in enumerate(net.layers): values.update(layer_values(I, i, {k: v.float().numpy() for k, v in layer.state_dict().items()}))
    put_values(model, values)
    new = {"emb.pos": array(net.position)[:POSITIONS], "emb.type": array(net.kind), "first_index": np.array(0, np.int64), "pool.w": array(net.pool.weight), "pool.b": array(net.pool.bias),
           "cls.w": np.concatenate([array(net.relevance.weight), array(net.answer.weight)]), "cls.b": np.concatenate([array(net.relevance.bias), array(net.answer.bias)]),
           "span.w": array(net.span.weight).T, "span.b": array(net.span.bias)}
    used = {x for n in nodes for x in n.input}
    kept = [i for i in graph.initializer if i.name in used and i.name not in new and i.name not in ("emb.q4", "emb.q4s")]
    inputs = [h.make_tensor_value_info(n, TensorProto.INT64, ["batch", "sequence"]) for n in ("input_ids", "attention_mask", "token_type_ids")]
    outputs = [h.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 2]), h.make_tensor_value_info("spans", TensorProto.FLOAT, ["batch", "sequence", 2])]
    made = h.make_graph(nodes, "mneme-reader", inputs, outputs, kept + [nph.from_array(np.array(v, order="C"), k) for k, v in new.items()])
    return h.make_model(made, opset_imports=model.opset_import, ir_version=model.ir_version, producer_name="mneme-export")


class Exported:
    """The exported file in onnxruntime."""
    def __init__(self, path, threads=1):
        import onnxruntime
        options = onnxruntime.SessionOptions(); options.intra_op_num_threads = threads; options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(joined(path), options, providers=["CPUExecutionProvider"])

    def read(self, ids, first):
        """[relevance, answer] and [tokens, 2] of one pair; `first` is the first token of the passage."""
        types = [int(first <= k < len(ids) - 1) for k in range(len(ids))]
        feed = {"input_ids": [list(map(int, ids))], "attention_mask": [[1] * len(ids)], "token_type_ids": [types]}
        logits, spans = self.session.run(["logits", "spans"], {k: np.array(v, np.int64) for k, v in feed.items()})
        return logits[0], spans[0], types


def pair_of(encode, question, passage, most=PAIR_TOKENS):
    (q, _), (p, _) = encode([question, passage]); head = [0] + q[:QUERY_TOKENS] + [2]
    return np.array(head + p[:most - 1 - len(head)] + [2], np.int32), len(head)


def loaded(path):
    """The network with the averaged weights of a checkpoint."""
    import torch
    net = train_reader.network(); state = torch.load(path, weights_only=False)
    net.load_state_dict({**state["net"], **state["average"]}); return net.eval()


def sha256(path): return hashlib.sha256(open(path, "rb").read()).hexdigest()


def main():
    import torch
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--state", "--lists", "--out"): ap.add_argument(name, required=True)
    a = ap.parse_args(); torch.set_num_threads(1); os.makedirs(a.out, exist_ok=True)
    net = loaded(a.state); path = os.path.join(a.out, "model.onnx"); onnx.save(graph_of(net), path); exported = Exported(path)
    encode = tokenizer(os.path.join(EMBEDDER, "unigram.bin")); rng = random.Random(4); by_group = {}
    lists = [json.loads(l) for l in open(a.lists, encoding="utf8")]; rng.shuffle(lists)
    for o in lists: by_group.setdefault(o["g"], []).append(o)
    chosen = [(o["q"], o["d"][k]) for g in sorted(by_group, key=lambda g: (not g.startswith("made-"), g)) for o in by_group[g][:1] for k in ((0, len(o["d"]) - 1) if g == "made-en" else (0,))]
    made = []
    for question, passage in chosen[:REFERENCE_PAIRS]:
        ids, first = pair_of(encode, question, passage); logits, spans, types = exported.read(ids, first); number = lambda x: float(f"{x:.5g}")
        made.append({"query": question, "passage": passage, "token_ids": ids.tolist(), "token_type_ids": types, "logits": list(map(number, logits)), "begin": list(map(number, spans[:, 0])), "end": list(map(number, spans[:, 1]))})
    with open(os.path.join(a.out, "reference.json"), "w", encoding="utf8") as f: f.write("[\n" + ",\n".join(json.dumps(o, ensure_ascii=False, separators=(",", ":")) for o in made) + "\n]\n")
    difference = []
    with torch.inference_mode():
        for o in lists[:150]:
            for k in (0, len(o["d"]) - 1):
                ids, first = pair_of(encode, o["q"], o["d"][k]); logits, _, _ = exported.read(ids, first); relevance, answer, _ = net([(ids, first)])
                difference.append((logits[0], relevance.item(), logits[1], answer.item()))
    d = np.array(difference)
    for k, name in ((0, "relevance"), (2, "answer")): print(f"{name}: mean difference {np.abs(d[:, k] - d[:, k + 1]).mean():.3f}, largest {np.abs(d[:, k] - d[:, k + 1]).max():.3f}, correlation {np.corrcoef(d[:, k], d[:, k + 1])[0, 1]:.4f}, spread {d[:, k + 1].std():.2f}")
    embedder = json.load(open(os.path.join(EMBEDDER, "model.json"))); manifest = os.path.join(a.out, "model.json")
    before = json.load(open(manifest)) if os.path.exists(manifest) else {}
    model = {"id": "mneme-reader", "name": "mneme-reader", "kind": "reader", "file": "model.onnx", "sha256": sha256(path), "words": {"model": embedder["id"], "sha256": embedder["sha256"]},
             "reference": "reference.json", "licence": "MIT", "languages": embedder["languages"], "max_tokens": POSITIONS, "max_query_tokens": QUERY_TOKENS,
             "evidence": before.get("evidence", {"score_slope": 1, "codes_slope": 5, "names_slope": 2, "answer_slope": .5, "offset": 0}),
             "min_evidence": before.get("min_evidence", {m: .25 for m in ("fast", "hybrid", "balanced", "precise")})}
    languages = json.dumps(model["languages"]); text = json.dumps(model, indent=1).replace(json.dumps(model["languages"], indent=1).replace("\n", "\n "), languages)
    open(manifest, "w").write(text + "\n"); print(os.path.getsize(path), "bytes")


if __name__ == "__main__":
    main()
