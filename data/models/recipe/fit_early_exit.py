#!/usr/bin/env python3
"""Fits `early-exit.json`: a linear probe that estimates a reranker's logit after its first layers. The estimates only
need to be good enough to find the likely passages of a list.

    python3 fit_early_exit.py --model data/models/mneme-reranker-minilm-l6 --lists lists.jsonl [--layers 2] [--pairs 60000]

`lists.jsonl` has one question per line, with relevant and irrelevant passages: {"q": "...", "d": ["...", ...]}. For a model
whose tokenizer is no Hugging Face file, a line has the tokens of the pairs, as the engine makes them:
{"pairs": [{"token_ids": [...], "first_length": 7}, ...]}; `first_length` is the number of tokens of the first text. No
relevance judgements are needed, because the model itself is the teacher. The script fits a ridge regression of the logit, clipped to +-8
like in the ranking, on three mean hidden states after `--layers` layers: first token, tokens of the first text, tokens of the
second text. One list in ten is held out; the script prints the quality of the estimates on these lists. Needs numpy, onnx,
onnxruntime, and tokenizers for questions and passages as text.
"""
import argparse, hashlib, json, os
import numpy as np, onnx, onnxruntime

CLIP = 8.0
RIDGE = 30.0
# Minimum standard deviation of a component. Components with less are left out, because they would be mostly rounding
# error, which differs between encoders.
DEVIATION_MIN = 1e-3
REFERENCES = 4
BATCH = 32


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--model", required=True)
    a.add_argument("--lists", required=True)
    a.add_argument("--layers", type=int, default=2)
    a.add_argument("--pairs", type=int, default=60_000)
    a = a.parse_args()
    described = json.load(open(os.path.join(a.model, "model.json")))
    path = os.path.join(a.model, described["file"])
    with open(path, "rb") as file:
        sha256 = hashlib.sha256(file.read()).hexdigest()
    assert sha256 == described["sha256"], "model.json has the checksum of another file"

    pairs, lists = tokenise(a, described)
    features, logits = run_model(path, a.layers, pairs)
    held_out = lists % 10 == 0
    weights, bias = ridge_regression(features[~held_out], np.clip(logits[~held_out], -CLIP, CLIP))
    report(features[held_out] @ weights + bias, logits[held_out], lists[held_out])
    weights, bias = [round(float(w), 6) for w in weights], round(float(bias), 6)
    estimates = features @ np.array(weights) + bias
    references = [
        {"token_ids": pairs[at][0], "first_length": pairs[at][1], "logit_estimate": round(float(estimates[at]), 4)}
        for at in np.flatnonzero(held_out)[:REFERENCES]
    ]
    probe = {"model_sha256": sha256, "layers": a.layers, "bias": bias, "weights": weights, "references": references}
    out = os.path.join(a.model, "early-exit.json")
    with open(out, "w") as file:
        json.dump(probe, file)
        file.write("\n")
    print("written to", out)


def tokenise(a, described):
    """Returns (token ids, length of the first text) per pair, and the list number of each pair."""
    pairs, lists = [], []
    encode = None
    for number, line in enumerate(open(a.lists, encoding="utf-8")):
        if len(pairs) >= a.pairs:
            break
        given = json.loads(line)
        if "pairs" not in given:
            encode = encode or pair_encoder(a, described)
        found = [(pair["token_ids"], pair["first_length"]) for pair in given["pairs"]] if "pairs" in given else encode(given)
        pairs += found
        lists += [number] * len(found)
    return pairs, np.array(lists)


def pair_encoder(a, described):
    """Returns a function that tokenises a question and its passages with the model's Hugging Face tokenizer."""
    from tokenizers import Tokenizer
    file = described["tokenizer"] if isinstance(described["tokenizer"], str) else described["tokenizer"]["file"]
    tokenizer = Tokenizer.from_file(os.path.join(a.model, file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    cls, sep = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")

    def encode(given):
        question, *passages = (e.ids for e in tokenizer.encode_batch([given["q"], *given["d"]], add_special_tokens=False))
        first = [cls, *question[: described["max_query_tokens"]], sep]
        return [([*first, *passage[: described["max_tokens"] - len(first) - 1], sep], len(first)) for passage in passages]

    return encode


def run_model(path, layers, pairs):
    """Returns mean hidden states after `layers` layers, `[pairs, 3 * hidden]`, and logits, `[pairs]`."""
    model = onnx.load(path)
    norms = [node for node in model.graph.node if node.op_type == "LayerNormalization"]
    states = norms[2 * layers].output[0]
    model.graph.output.append(onnx.helper.make_tensor_value_info(states, onnx.TensorProto.FLOAT, None))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = {given.name for given in session.get_inputs()}
    features, logits = [None] * len(pairs), np.zeros(len(pairs), np.float32)
    by_length = sorted(range(len(pairs)), key=lambda at: len(pairs[at][0]))
    for begin in range(0, len(pairs), BATCH):
        batch = by_length[begin : begin + BATCH]
        width = max(len(pairs[at][0]) for at in batch)
        ids, mask, types = (np.zeros((len(batch), width), np.int64) for _ in range(3))
        for row, at in enumerate(batch):
            tokens, first = pairs[at]
            ids[row, : len(tokens)], mask[row, : len(tokens)], types[row, first : len(tokens)] = tokens, 1, 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        found, answers = session.run([states, "logits"], {name: feeds[name] for name in feeds if name in wanted})
        found = found.reshape(len(batch), width, -1)
        for row, at in enumerate(batch):
            tokens, first = pairs[at]
            of_pair = found[row]
            features[at] = np.concatenate([of_pair[0], of_pair[:first].mean(0), of_pair[first : len(tokens)].mean(0)])
            logits[at] = answers.reshape(-1)[row]
        if begin // BATCH % 50 == 0:
            print(f"{begin} of {len(pairs)} pairs", flush=True)
    return np.array(features, np.float64), logits


def ridge_regression(features, targets):
    """Returns the weights and bias of the ridge regression, for features that are not standardised."""
    mean, deviation = features.mean(0), features.std(0)
    standard = np.where(deviation < DEVIATION_MIN, 0, (features - mean) / np.maximum(deviation, DEVIATION_MIN))
    gram = standard.T @ standard + RIDGE * np.eye(standard.shape[1])
    weights = np.linalg.solve(gram, standard.T @ (targets - targets.mean())) / np.maximum(deviation, DEVIATION_MIN)
    return weights, targets.mean() - mean @ weights


def report(estimates, logits, lists):
    """Prints how well the estimates match the logits in the lists that were held out."""
    within, best = [], []
    for number in np.unique(lists):
        of_list = lists == number
        guess, truth = estimates[of_list], logits[of_list]
        if len(truth) > 2:
            within.append(np.corrcoef(guess, truth)[0, 1])
            best.append(truth.argmax() in np.argsort(-guess)[: (len(truth) + 1) // 2])
    print(f"held out: correlation {np.corrcoef(estimates, logits)[0, 1]:.3f}, within lists {np.nanmean(within):.3f}; share of lists whose best passage is in the better half: {np.mean(best):.3f}")


if __name__ == "__main__":
    main()
