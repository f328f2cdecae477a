#!/usr/bin/env python3
"""Tune the reranker on personal notes (CPU, one thread, 14 minutes): the second edition of mneme-reranker-minilm-l6.

  tune_reranker.py --first model.onnx --embedder mneme-e5-small --bin e5-small-q4.bin --lists lists.jsonl --out model.onnx

--first     int8 file of the first edition (train_reranker.py); its weights are dequantised
--embedder  folder of the embedder that finds the negatives; --bin: see tune_embedder.py
--lists     made by `tune_embedder.py lists`

Half of the steps are 14 English questions of personal/, each with its notes and 7 other notes of the same person (the
nearest five, two random ones); a question without an answer has only wrong notes. Loss: softmax over the list + .5 *
binary cross-entropy. The other half are 8 general lists, where the first edition is the teacher (.25 * squared
difference of logits + divergence of the list's softmax), so that other texts keep their logits. The shipped file was
trained with negatives of the untuned multilingual-e5-small. Fit `early-exit.json` again afterwards (fit_early_exit.py).
"""
import argparse, json, os, random, sys, time
import numpy as np, onnx, torch, torch.nn as nn, torch.nn.functional as F
from onnx import numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from tune_embedder import bias_of, layer_values, people, put_values, tokenizer as unigram

MINUTES, RATE = 14, 4e-5


def layer_tensors(I, i):
    """fp32 tensors of layer i from the values of an int8 graph; the inverse of `layer_values`."""
    p = f"l{i}."
    weight = lambda n, smooth=None: ((I[p + n + ".q"].astype(np.float32) * I[p + n + ".s"]) * (I[p + smooth + ".smooth"][:, None] if smooth else 1)).T.copy()
    q, k, v = np.split(I[p + "qkv.b"], 3)
    return {"q.weight": weight("q", "qkv"), "k.weight": weight("k", "qkv"), "v.weight": weight("v", "qkv"), "q.bias": q, "k.bias": k, "v.bias": v,
            "o.weight": weight("o"), "o.bias": I[p + "ln1.bias"], "n1.weight": I[p + "ln1.g"], "n1.bias": I[p + "ln1.b"],
            "i.weight": weight("up", "up"), "i.bias": I[p + "up.b"], "f.weight": weight("down"), "f.bias": I[p + "ln2.bias"], "n2.weight": I[p + "ln2.g"], "n2.bias": I[p + "ln2.b"]}


class Layer(nn.Module):
    def __init__(self, tensors, H=384, FF=1536):
        super().__init__()
        for name, size in (("q", (H, H)), ("k", (H, H)), ("v", (H, H)), ("o", (H, H)), ("i", (H, FF)), ("f", (FF, H))): setattr(self, name, nn.Linear(*size))
        self.n1, self.n2 = nn.LayerNorm(H, eps=1e-12), nn.LayerNorm(H, eps=1e-12)
        self.load_state_dict({k: torch.tensor(np.array(v)) for k, v in tensors.items()})

    def forward(self, x, bias):
        B, S, H = x.shape; heads = lambda y: y.view(B, S, 12, 32).transpose(1, 2)
        a = F.scaled_dot_product_attention(heads(self.q(x)), heads(self.k(x)), heads(self.v(x)), attn_mask=bias).transpose(1, 2).reshape(B, S, H)
        x = self.n1(x + self.o(a)); return self.n2(x + self.f(F.gelu(self.i(x))))


class Reranker(nn.Module):
    def __init__(self, I):
        super().__init__(); t = lambda name: torch.tensor(np.array(I[name], np.float32))
        self.table, self.position, self.kind = [t("emb.word")], t("emb.pos"), nn.Parameter(t("emb.type"))
        self.norm, self.pool, self.head = nn.LayerNorm(384, eps=1e-12), nn.Linear(384, 384), nn.Linear(384, 1)
        for module, weight, bias in ((self.norm, "emb.ln.g", "emb.ln.b"), (self.pool, "pool.w", "pool.b"), (self.head, "cls.w", "cls.b")): module.weight.data, module.bias.data = t(weight), t(bias)
        self.layers = nn.ModuleList(Layer(layer_tensors(I, i)) for i in range(6))

    def forward(self, pairs):
        n = max(len(ids) for ids, _ in pairs); x = torch.zeros((len(pairs), n), dtype=torch.long); mask, kind = torch.zeros_like(x), torch.zeros_like(x)
        for r, (ids, first) in enumerate(pairs): x[r, :len(ids)] = torch.tensor(ids); mask[r, :len(ids)] = 1; kind[r, first:len(ids)] = 1
        y = self.norm(self.table[0][x] + self.position[:n] + self.kind[kind])
        for layer in self.layers: y = layer(y, bias_of(mask))
        return self.head(torch.tanh(self.pool(y[:, 0])))[:, 0]


def note_lists(a, rng):
    """Lists {"q", "d", "right": number of leading passages that are right} of the English people."""
    import onnxruntime
    session, tokens = onnxruntime.InferenceSession(os.path.join(a.embedder, "model.onnx"), providers=["CPUExecutionProvider"]), unigram(a.bin)

    def vectors(texts):
        one = lambda ids: session.run(["sentence_embedding"], {"input_ids": np.array([ids], np.int64), "attention_mask": np.ones((1, len(ids)), np.int64)})[0][0]
        return np.stack([one(ids) for ids in tokens(texts, 256)])
    for person in people(os.path.join(HERE, "personal", "en-*.tsv")):
        notes, questions = person["notes"], [q for q in person["questions"] if q["text"].isascii()]
        cosine = vectors(["query: " + q["text"] for q in questions]) @ vectors(["passage: " + n for n in notes]).T
        for q, row in zip(questions, cosine):
            others = [int(i) for i in np.argsort(-row) if i not in q["notes"]]; hard = others[:9]
            wrong = hard[:5] + rng.sample(hard[5:] + others[9:], 2) if q["notes"] else hard[:4] + rng.sample(hard[4:] + others[9:16], 1)
            yield {"q": q["text"], "d": [notes[i] for i in q["notes"] + wrong], "right": len(q["notes"])}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--first", "--embedder", "--bin", "--lists", "--out"): ap.add_argument(name, required=True)
    a = ap.parse_args(); torch.set_num_threads(1); torch.manual_seed(3); rng = random.Random(3)
    from tokenizers import Tokenizer
    wordpiece = Tokenizer.from_file(os.path.join(os.path.dirname(a.first), "tokenizer.json")); wordpiece.no_padding(); wordpiece.no_truncation()
    graph = onnx.load(a.first); I = {i.name: numpy_helper.to_array(i) for i in graph.graph.initializer}
    net, teacher = Reranker(I), Reranker(I).eval()
    notes = list(note_lists(a, rng)); general = [{**o, "right": 1} for o in map(json.loads, open(a.lists)) if o["g"] == "en"][:4000]
    for o in notes + general:
        q, *d = (e.ids for e in wordpiece.encode_batch([o["q"]] + o["d"], add_special_tokens=False)); first = [101] + q[:48] + [102]
        o["pairs"] = [(first + x[:127 - len(first)] + [102], len(first)) for x in d]
    learned = list(net.named_parameters()); optimiser = torch.optim.AdamW([p for _, p in learned], lr=RATE, weight_decay=.01, betas=(.9, .98)); average = {n: p.detach().clone() for n, p in learned}
    begun, step = time.time(), 0
    while (share := (time.time() - begun) / (MINUTES * 60)) < 1:
        is_general = rng.random() < .5; batch = rng.sample(general, 8) if is_general else rng.sample(notes, 14)
        logits = net([p for o in batch for p in o["pairs"]]); loss, at = 0, 0
        if is_general:
            with torch.inference_mode(): wanted = teacher([p for o in batch for p in o["pairs"]])
            wanted = wanted.clone(); loss = .25 * F.mse_loss(logits, wanted) * len(batch)
        for o in batch:
            z = logits[at:at + len(o["pairs"])]; right = o["right"]
            if is_general: loss = loss + F.kl_div(torch.log_softmax(z, 0), torch.softmax(wanted[at:at + len(z)], 0), reduction="sum")
            else:
                label = torch.zeros_like(z); label[:right] = 1
                if right: loss = loss - sum(torch.log_softmax(torch.cat([z[j:j + 1], z[right:]]), 0)[0] for j in range(right)) / right
                loss = loss + .5 * F.binary_cross_entropy_with_logits(z, label, pos_weight=torch.tensor(3. if right else 1.))
            at += len(z)
        optimiser.zero_grad(); (loss / len(batch)).backward(); torch.nn.utils.clip_grad_norm_([p for _, p in learned], 1.0)
        for g in optimiser.param_groups: g["lr"] = RATE * min(1, (step + 1) / 30) * max(.03, min(1, (1 - share) / .6))
        optimiser.step(); step += 1
        if step % 5 == 0:
            decay = min(.97, (1 + step / 5) / (10 + step / 5))
            for n, p in learned: average[n].lerp_(p.detach(), 1 - decay)
    net.load_state_dict(average, strict=False); array = lambda x: x.detach().numpy()
    values = {"emb.type": array(net.kind), "emb.ln.g": array(net.norm.weight), "emb.ln.b": array(net.norm.bias), "pool.w": array(net.pool.weight), "pool.b": array(net.pool.bias), "cls.w": array(net.head.weight), "cls.b": array(net.head.bias)}
    for i, layer in enumerate(net.layers): values.update(layer_values(I, i, {k: v.numpy() for k, v in layer.state_dict().items()}))
    put_values(graph, values); onnx.save(graph, a.out)


if __name__ == "__main__":
    main()
