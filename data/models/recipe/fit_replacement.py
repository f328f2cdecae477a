#!/usr/bin/env python3
"""Fits `replacement` in the manifest of an embedder: how to tell that a newer note has replaced an older one.

    bun bench/replacement-signs.ts --out signs.jsonl
    python3 fit_replacement.py --signs signs.jsonl

Prints the JSON object. Two ridge logistic regressions on the vectors give the probes: notes that replaced others against all
other notes, and events against notes that were replaced. A third one weighs the signs of each pair. The values of the change
probe come from five folds by person, because the probe knows its own notes. `cosine_gap_max` keeps notes that do not answer
the question from being replaced: the pairs have none. Needs numpy.
"""
import argparse, base64, json, zlib
import numpy as np

FOLDS = 5
# Weight of the pairs of persons that are no replacement: there are many. With 1, fewer replaced notes are found. The shipped
# weights were fitted with a random fourth of the questions instead.
OTHERS_WEIGHT = 0.3
CHANGE_RIDGE, EVENT_RIDGE, SIGNS_RIDGE = 60.0, 30.0, 2.0
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


def shown(probe):
    weights, bias = probe
    scale = float(f"{np.abs(weights).max() / 127:.6g}")
    data = np.round(weights / scale).astype(np.int8)
    return {"scale": scale, "bias": round(float(bias), 3), "weights": base64.b64encode(data.tobytes()).decode()}


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
    says = np.zeros(len(pairs))
    for fold in range(FOLDS):
        weights, bias = change_probe(pairs, [p for p, f in zip(pairs, folds) if f != fold])
        for at in np.flatnonzero(folds == fold):
            says[at] = np.dot(weights, pairs[at]["newer"]) + bias
    names = list(pairs[0]["signs"]) + ["saysChange", "isEvent"]
    older = np.array([p["older"] for p in pairs])
    x = np.hstack([np.array([list(p["signs"].values()) for p in pairs]), says[:, None],
                   (older @ event[0] + event[1])[:, None]])
    mean, deviation = x.mean(0), x.std(0) + 1e-9
    y = np.array([p["label"] for p in pairs])
    w = np.array([1.0 if p["label"] or p["group"].startswith("pair") else OTHERS_WEIGHT for p in pairs])
    slopes, bias = fit((x - mean) / deviation, y, w, SIGNS_RIDGE)
    slopes = slopes / deviation
    values = {snake_case(name): round(float(v), 3) for name, v in zip(names, slopes)}
    values["bias"] = round(float(bias - slopes @ mean), 3)
    gap = [p["signs"]["newerCosine"] - p["signs"]["olderCosine"] for p in pairs if p["label"]]
    gap_max = round(float(np.quantile(gap, 1 - GAP_SHARE)), 3)
    print(json.dumps({"change_probe": shown(change_probe(pairs, pairs)), "event_probe": shown(event), "slopes": values,
                      "cosine_gap_max": gap_max}))


if __name__ == "__main__":
    main()
