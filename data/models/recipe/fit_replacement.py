#!/usr/bin/env python3
"""Fits `replacement` in the manifest of an embedder: how to tell that a newer note has replaced an older one.

    bun bench/replacement-signs.ts --out signs.jsonl
    python3 fit_replacement.py --signs signs.jsonl

Prints the JSON object. Ridge logistic regressions on the vectors give the probes: notes that replaced others against all
other notes, events against notes that were replaced, and, on the difference of the vectors of two notes, pairs of which one
replaced the other against pairs that only look so. A network with one hidden layer weighs the signs of each pair. The values of
the probes of change and of replaced notes come from five folds, because they know their own notes. The network's bias lets
FALSE_SHARE of the pairs of persons that are no replacement pass, in five folds. `cosine_gap_max` keeps notes that do not answer
the question from being replaced: the pairs have none. Needs numpy.
"""
import argparse, base64, json, sys, zlib
import numpy as np

FOLDS = 5
# Weight of the pairs of persons that are no replacement: there are many. With 1, fewer replaced notes are found. The shipped
# weights were fitted with a random fourth of the questions instead.
OTHERS_WEIGHT = 0.3
CHANGE_RIDGE, EVENT_RIDGE, REPLACED_RIDGE = 60.0, 30.0, 50.0
FALSE_SHARE = 0.0065
# Of the network: units of each part, parts (which begin with other weights), steps, rate and decay of AdamW.
UNITS, PARTS, STEPS, RATE, DECAY = 16, 2, 250, 1e-2, 1e-2
# Share of the replaced notes that are farther from the question than the newer note by more than `cosine_gap_max`.
GAP_SHARE = 0.02
# Vectors of unit length are multiplied by this, so that the penalty fits them.
VECTOR_SCALE = 10.0


def fit(features, labels, weights, ridge, rounds=60):
    x = np.hstack([features, np.ones((len(features), 1))])
    penalty = np.eye(x.shape[1]) * ridge
    penalty[-1, -1] = 1e-6
    b = np.zeros(x.shape[1])
    for _ in range(rounds):
        p = 1 / (1 + np.exp(-x @ b))
        step = np.linalg.solve((x * (weights * p * (1 - p) + 1e-9)[:, None]).T @ x + penalty,
                               x.T @ (weights * (p - labels)) + penalty @ b)
        b -= step
        if np.abs(step).max() < 1e-6:
            break
    return b[:-1], b[-1]


def probe_of(positive, negative, ridge):
    x = np.vstack([positive, negative]) * VECTOR_SCALE
    y = np.r_[np.ones(len(positive)), np.zeros(len(negative))]
    w = np.where(y == 1, len(y) / 2 / len(positive), len(y) / 2 / len(negative))
    weights, bias = fit(x, y, w, ridge)
    return weights * VECTOR_SCALE, bias


def change_probe(pairs, keep):
    newer = {tuple(p["newer"]): None for p in keep if p["label"]}
    others = {tuple(p[side]): None for p in keep for side in ("older", "newer") if tuple(p[side]) not in newer}
    return probe_of(np.array(list(newer)), np.array(list(others)), CHANGE_RIDGE)


def replaced_probe(pairs):
    """On newer minus older vectors of the pairs that were written as pairs."""
    x = np.array([np.subtract(p["newer"], p["older"]) for p in pairs]) * VECTOR_SCALE
    weights, bias = fit(x, np.array([p["label"] for p in pairs]), np.ones(len(pairs)), REPLACED_RIDGE)
    return weights * VECTOR_SCALE, bias


def shown(probe):
    weights, bias = probe
    scale = float(f"{np.abs(weights).max() / 127:.6g}")
    data = np.round(weights / scale).astype(np.int8)
    return {"scale": scale, "bias": round(float(bias), 3), "weights": base64.b64encode(data.tobytes()).decode()}


def network_of(x, y, w):
    """PARTS networks with UNITS hidden units each, whose mean is a network with PARTS * UNITS: its weights, as a list."""
    parts = [trained(x, y, w / w.sum(), np.random.default_rng(seed)) for seed in range(PARTS)]
    hidden, biases, output, bias = zip(*parts)
    return np.vstack(hidden), np.concatenate(biases), np.concatenate(output) / PARTS, sum(bias) / PARTS


def trained(x, y, w, rng):
    columns = x.shape[1]
    p = [rng.uniform(-1, 1, (UNITS, columns)) / columns ** 0.5, rng.uniform(-1, 1, UNITS) / columns ** 0.5,
         rng.uniform(-1, 1, UNITS) / UNITS ** 0.5, np.zeros(1)]
    mean, square = [np.zeros_like(v) for v in p], [np.zeros_like(v) for v in p]
    for step in range(1, STEPS + 1):
        before = x @ p[0].T + p[1]
        after = np.maximum(before, 0)
        error = w * (1 / (1 + np.exp(-(after @ p[2] + p[3]))) - y)
        back = error[:, None] * p[2] * (before > 0)
        for i, g in enumerate((back.T @ x, back.sum(0), after.T @ error, error.sum(keepdims=True))):
            mean[i] = 0.9 * mean[i] + 0.1 * g
            square[i] = 0.999 * square[i] + 0.001 * g * g
            p[i] = p[i] * (1 - RATE * DECAY) - RATE * (mean[i] / (1 - 0.9 ** step)) / (
                np.sqrt(square[i] / (1 - 0.999 ** step)) + 1e-8)
    return p[0], p[1], p[2], float(p[3][0])


def logits(network, x):
    hidden, biases, output, bias = network
    return np.maximum(x @ hidden.T + biases, 0) @ output + bias


def snake_case(name):
    return "".join("_" + c.lower() if c.isupper() else c for c in name)


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--signs", required=True)
    args = a.parse_args()
    rows = [json.loads(line) for line in open(args.signs)]
    pairs = [r for r in rows if "event" not in r]
    events = np.array([r["event"] for r in rows if "event" in r])
    replaced = np.array(list({tuple(p["older"]): None for p in pairs if p["label"]}))
    event = probe_of(events, replaced, EVENT_RIDGE)
    folds = np.array([zlib.crc32(p["group"].encode()) % FOLDS for p in pairs])
    written = np.array([p["group"].startswith("pair") for p in pairs])
    older, newer = (np.array([p[side] for p in pairs]) for side in ("older", "newer"))
    says, is_replaced = np.zeros(len(pairs)), np.zeros(len(pairs))
    for fold in range(FOLDS):
        weights, bias = change_probe(pairs, [p for p, f in zip(pairs, folds) if f != fold])
        for at in np.flatnonzero(folds == fold):
            says[at] = np.dot(weights, pairs[at]["newer"]) + bias
        weights, bias = replaced_probe([p for p, f, w in zip(pairs, folds, written) if w and f != fold])
        is_replaced[folds == fold] = (newer - older)[folds == fold] @ weights + bias
    names = list(pairs[0]["signs"]) + ["saysChange", "isEvent", "isReplaced"]
    x = np.hstack([np.array([list(p["signs"].values()) for p in pairs]), says[:, None],
                   (older @ event[0] + event[1])[:, None], is_replaced[:, None]])
    mean, deviation = x.mean(0), x.std(0) + 1e-9
    x = (x - mean) / deviation
    y = np.array([p["label"] for p in pairs])
    w = np.where((y == 1) | written, 1.0, OTHERS_WEIGHT)
    held = np.zeros(len(pairs))
    for fold in range(FOLDS):
        held[folds == fold] = logits(network_of(x[folds != fold], y[folds != fold], w[folds != fold]), x[folds == fold])
    others = (y == 0) & ~written
    shift = float(np.quantile(held[others], 1 - FALSE_SHARE))
    found = lambda mask: f"{(held[mask] > shift).sum()} of {mask.sum()}"
    print(f"replaced notes of persons {found((y == 1) & ~written)}, others {found(others)}; written pairs "
          f"{found((y == 1) & written)}, others {found((y == 0) & written)}", file=sys.stderr)
    hidden, biases, output, bias = network_of(x, y, w)
    hidden = hidden / deviation
    biases = biases - hidden @ mean
    units = [{"weights": {snake_case(name): round(float(v), 3) for name, v in zip(names, row)}, "bias": round(float(b), 3),
              "output": round(float(o), 4)} for row, b, o in zip(hidden, biases, output)]
    network = {"units": units, "bias": round(bias - shift, 3)}
    gap = [p["signs"]["newerCosine"] - p["signs"]["olderCosine"] for p in pairs if p["label"]]
    gap_max = round(float(np.quantile(gap, 1 - GAP_SHARE)), 3)
    print(json.dumps({"change_probe": shown(change_probe(pairs, pairs)), "event_probe": shown(event),
                      "replaced_probe": shown(replaced_probe([p for p, w in zip(pairs, written) if w])), "network": network,
                      "cosine_gap_max": gap_max}))


if __name__ == "__main__":
    main()
