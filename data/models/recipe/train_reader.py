#!/usr/bin/env python3
"""Trains the reader: a multilingual cross-encoder that says how relevant a passage is, whether it answers, and where.

  train_reader.py prepare --reader DIR --lists lists.jsonl --out DIR
  train_reader.py train   --data DIR --out checkpoint.pt --minutes 110
  train_reader.py measure --data DIR --state checkpoint.pt

prepare  Makes DIR/train.jsonl and DIR/dev.jsonl, one list per line: {"g": group, "q": question, "d": [passages], "rank":
         number of leading passages that are relevant, or null where the list says nothing of relevance, "answers": for
         each passage 1, 0 or null (unknown), "span": [begin, end) in code points of d[0], or null}.
         --reader: folder with passages.jsonl.xz and spans.jsonl.xz (questions with answer spans, and unanswerable ones);
         --lists: made by `tune_embedder.py lists` (question, relevant passage, four others).
         personal/ is read, too, and the questions of near_misses.py.
         A question of one article in fifty, and every tenth person of personal/, is in dev.jsonl only.
train    Starts from the embedder mneme-e5-small: its word table, which stays as it is, its positions, and every second
         layer. Saves a checkpoint every 20 minutes of training, and goes on from --out if that exists.
         --minutes and the schedule count CPU time per thread, so that a busy machine changes nothing but the end.
measure  Prints by group: area under the curve of the answer head, share of spans that overlap, right passage first.

Three heads on one encoder: `relevance` and `answer` read the first token (pooled), `span` reads each passage token.
Loss: softmax over the list (relevance) + binary cross-entropy (answer) + .5 * cross-entropy of begin and end (span).
Needs torch, numpy, scipy, onnx, onnxruntime, tokenizers.
"""
import argparse, collections, glob, json, lzma, os, random, re, struct, sys, time
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from tune_embedder import BM25, CJK, people, words

EMBEDDER = os.path.join(HERE, "..", "mneme-e5-small")
LAYERS = (1, 3, 5, 7, 9, 11)
QUERY_TOKENS, PAIR_TOKENS = 48, 160
STEP_TOKENS = 6_144
RATE, HEAD_RATE = 2e-4, 8e-4
CHECKPOINT_MINUTES = 20


# ---------------------------------------------------------------- lists
SENTENCE = re.compile(r"(?<=[.!?।])\s+|(?<=[。！？])|(?<=[؟])\s+|\n+")


def sentences(text):
    """[(begin, end)] of the sentences of a text, in code points."""
    out, at = [], 0
    for m in SENTENCE.finditer(text):
        if text[at:m.start()].strip(): out.append((at, m.start()))
        at = m.end()
    return out + [(at, len(text))] if text[at:].strip() else out or [(0, len(text))]


def window(text, begin, end, chars, rng):
    """A run of whole sentences of about `chars` characters around [begin, end). Returns (begin, end)."""
    parts = sentences(text)
    first = max((i for i, (a, _) in enumerate(parts) if a <= begin), default=0)
    last = min((i for i, (_, b) in enumerate(parts) if b >= end), default=len(parts) - 1)
    while parts[last][1] - parts[first][0] < chars and (first > 0 or last < len(parts) - 1):
        if last == len(parts) - 1 or (first > 0 and rng.random() < .5): first -= 1
        else: last += 1
    return parts[first][0], parts[last][1]


def best_window(question, text, chars, rng, avoid=None):
    """The window with the most words of the question, outside of the span `avoid`."""
    terms = set(words(question)); spots = [s for s in sentences(text) if avoid is None or s[1] <= avoid[0] or s[0] >= avoid[1]]
    if not spots: return None
    a, b = max(spots, key=lambda s: (len(terms & set(words(text[s[0]:s[1]]))), rng.random()))
    a, b = window(text, a, b, chars, rng)
    if avoid is not None and a < avoid[1] and b > avoid[0]:
        a, b = max(spots, key=lambda s: len(terms & set(words(text[s[0]:s[1]]))))
    return text[a:b]


def span_lists(folder, rng):
    """Lists of the questions with answer spans, and of those that their passage does not answer."""
    passages = {p["pid"]: p for p in map(json.loads, lzma.open(os.path.join(folder, "passages.jsonl.xz"), "rt", encoding="utf8"))}
    questions = [json.loads(l) for l in lzma.open(os.path.join(folder, "spans.jsonl.xz"), "rt", encoding="utf8")]
    made = collections.defaultdict(list)
    for q in questions:
        if q.get("from") and not q["how"].startswith("swapped"): made[q["from"]].append(q["pid"])
    size = lambda text: rng.choice((140, 260, 420)) / (2.4 if CJK.search(text[:200]) else 1)
    for q in questions:
        passage = passages[q["pid"]]; text = passage["text"]; chars = size(text)
        title = passage["title"] + ". " if passage["title"] and rng.random() < .3 else ""
        article = passage["title"] or q["pid"]
        if q["answerable"]:
            answer = min(q["answers"], key=lambda x: len(x["text"])); begin, end = answer["start_cp"], answer["start_cp"] + len(answer["text"])
            a, b = window(text, begin, end, chars, rng); right = title + text[a:b]; shift = len(title) - a
            wrong = [best_window(q["question"], passages[p]["text"], chars, rng) for p in made[q["id"]]]
            same = best_window(q["question"], text, chars, rng, (begin, end)) if rng.random() < .5 and len(text) > 2 * chars else None
            wrong = [w for w in wrong + [same] if w]
            yield article, {"g": q["lang"], "q": q["question"], "d": [right] + wrong, "rank": 1, "answers": [1] + [0] * len(wrong), "span": [begin + shift, end + shift]}
        elif not q.get("from") or q["how"].startswith("swapped"):
            w = title + best_window(q["question"], text, chars, rng)
            yield article, {"g": q["lang"], "q": q["question"], "d": [w], "rank": None, "answers": [0], "span": None}


def general_lists(path):
    """Relevance only: the others of such a list may hold the answer in other words."""
    for o in map(json.loads, open(path, encoding="utf8")):
        yield o["q"], {"g": o["g"], "q": o["q"], "d": o["d"], "rank": 1, "answers": [1] + [None] * (len(o["d"]) - 1), "span": None}


def note_lists(rng):
    """Lists of the questions to invented people: the right notes, and the nearest other notes of the same person."""
    for number, path in enumerate(sorted(glob.glob(os.path.join(HERE, "personal", "*.tsv")))):
        for person in people(path):
            notes = person["notes"]; bm25 = BM25(notes)
            for q in person["questions"]:
                near = [int(i) for i in np.argsort(-bm25.scores(q["text"])) if i not in q["notes"]]
                wrong = near[:4] + rng.sample(near[4:], 2)
                known = q["kind"] not in ("twostep", "update", "past")
                answers = [1 if known or k == 0 else None for k in range(len(q["notes"]))] + [0] * len(wrong)
                yield number, {"g": "notes", "q": q["text"], "d": [notes[i] for i in q["notes"] + wrong], "rank": len(q["notes"]) or None, "answers": answers, "span": None}


def prepare(a):
    rng = random.Random(11); train, dev = [], []
    for article, o in span_lists(a.reader, rng): (dev if hash_of(article) % 50 == 0 else train).append(o)
    for question, o in general_lists(a.lists): (dev if hash_of(question) % 100 == 0 else train).append(o)
    for number, o in note_lists(rng): (dev if number % 10 == 3 else train).append(o)
    for path in a.more or []:
        for o in map(json.loads, open(path, encoding="utf8")): (dev if o.pop("dev", False) else train).append(o)
    os.makedirs(a.out, exist_ok=True)
    for name, lists in (("train", train), ("dev", dev)):
        with open(os.path.join(a.out, name + ".jsonl"), "w", encoding="utf8") as f: f.writelines(json.dumps(o, ensure_ascii=False) + "\n" for o in lists)
        print(name, len(lists), "lists", sum(len(o["d"]) for o in lists), "pairs", collections.Counter(o["g"] for o in lists).most_common(8))


def hash_of(text):
    import hashlib
    return int.from_bytes(hashlib.sha256(str(text).encode()).digest()[:4], "little")


# ---------------------------------------------------------------- tokens
def tokenizer(path):
    """Tokeniser from unigram.bin (src/tokenizers/unigram.ts documents its layout): texts to [(ids, offsets)]."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    import unicodedata
    b = open(path, "rb").read(); count, = struct.unpack_from("<I", b); scores = struct.unpack_from(f"<{count}f", b, 4); lengths = b[4 + 4 * count:4 + 5 * count]
    at = 4 + 5 * count; pieces = []
    for n in lengths: pieces.append(b[at:at + n].decode("utf8", "replace")); at += n
    rows, = struct.unpack_from("<I", b, at); at += 4; table = {}
    for _ in range(rows):
        code, n = struct.unpack_from("<IB", b, at); table[code] = "".join(map(chr, struct.unpack_from(f"<{n}I", b, at + 5))); at += 5 + 4 * n
    t = Tokenizer(models.Unigram(list(zip(pieces, map(float, scores))), unk_id=3))
    t.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always", split=True)

    def clean(text):
        """The text as the table of replacements makes it, and for each character its place in the given text."""
        out, place = [], []
        for i, c in enumerate(text):
            for x in table.get(ord(c), c): out.append(x); place.append(i)
        return "".join(out), place

    def encode(texts):
        cleaned = [clean(unicodedata.normalize("NFC", x)) for x in texts]
        return [(e.ids, [(place[x] if x < len(place) else len(place), (place[y - 1] + 1) if y else 0) for x, y in e.offsets])
                for e, (_, place) in zip(t.encode_batch([c for c, _ in cleaned], add_special_tokens=False), cleaned)]
    return encode


def encoded(lists, encode):
    """Adds "pairs" to lists: [(ids, first token of the passage)], and "tokens": begin and end token of the span in pair 0."""
    texts = [x for o in lists for x in [o["q"], *o["d"]]]; found = []
    for i in range(0, len(texts), 4096): found += encode(texts[i:i + 4096])
    at = 0
    for o in lists:
        q, *d = found[at:at + 1 + len(o["d"])]; at += 1 + len(o["d"]); head = [0] + q[0][:QUERY_TOKENS] + [2]
        o["pairs"] = [(head + ids[:PAIR_TOKENS - 1 - len(head)] + [2], len(head)) for ids, _ in d]; o["tokens"] = None
        if o["span"]:
            begin, end = o["span"]; inside = [k for k, (x, y) in enumerate(d[0][1]) if y > begin and x < end and len(head) + k < len(o["pairs"][0][0]) - 1]
            if inside and d[0][1][inside[-1]][1] >= end - 1: o["tokens"] = (len(head) + inside[0], len(head) + inside[-1])
            elif not inside: o["answers"][0] = None
    return lists


# ---------------------------------------------------------------- network
def starting_weights():
    """Word table, positions and layers of the embedder, as float32 from its int8 graph."""
    import onnx
    from onnx import numpy_helper
    from tune_reranker import layer_tensors
    I = {i.name: numpy_helper.to_array(i) for i in onnx.load(os.path.join(EMBEDDER, "model.onnx")).graph.initializer}
    q, scale = I["emb.q4"], I["emb.q4s"].astype(np.float32)
    table = (np.concatenate([q & 15, q >> 4], -1).astype(np.float32) - 8) * scale
    return table.reshape(len(table), -1), I["emb.pos"], I["emb.ln.g"], I["emb.ln.b"], [layer_tensors(I, i) for i in LAYERS]


def network():
    import torch, torch.nn as nn, torch.nn.functional as F
    from tune_reranker import Layer
    table, position, gain, bias, layers = starting_weights()

    class PlainLayer(Layer):
        """Attention as plain products: on CPUs, training is faster than with the fused kernel, whose gradient is slow."""
        def forward(self, x, blocked):
            B, S, H = x.shape; heads = lambda y: y.view(B, S, 12, 32).transpose(1, 2)
            weight = torch.softmax((heads(self.q(x)) * 32 ** -.5) @ heads(self.k(x)).transpose(2, 3) + blocked, -1, dtype=torch.bfloat16)
            x = self.n1(x + self.o((weight @ heads(self.v(x))).transpose(1, 2).reshape(B, S, H))); return self.n2(x + self.f(F.gelu(self.i(x))))

    class Reader(nn.Module):
        def __init__(self):
            super().__init__(); t = lambda x: torch.tensor(np.array(x, np.float32))
            self.table = [t(table).to(torch.bfloat16)]; self.position, self.kind = nn.Parameter(t(position)), nn.Parameter(torch.zeros(2, 384))
            self.norm = nn.LayerNorm(384, eps=1e-12); self.norm.weight.data, self.norm.bias.data = t(gain), t(bias)
            self.layers = nn.ModuleList(PlainLayer(x) for x in layers)
            self.pool = nn.Linear(384, 384); self.relevance, self.answer, self.span = nn.Linear(384, 1), nn.Linear(384, 1), nn.Linear(384, 2)

        def forward(self, pairs):
            """Relevance and answer logits [pairs], and span logits [pairs, tokens, 2] with -1e4 outside of the passage."""
            n = max(len(ids) for ids, _ in pairs); x = torch.zeros((len(pairs), n), dtype=torch.long); mask, kind = torch.zeros_like(x), torch.zeros_like(x)
            for r, (ids, first) in enumerate(pairs): x[r, :len(ids)] = torch.tensor(ids); mask[r, :len(ids)] = 1; kind[r, first:len(ids) - 1] = 1
            with torch.autocast("cpu", torch.bfloat16):
                y = self.norm(self.table[0][x].float() + self.position[:n] + self.kind[kind])
                blocked = ((1 - mask) * -1e4)[:, None, None, :].to(torch.bfloat16)
                for layer in self.layers: y = layer(y, blocked)
            y = y.float(); p = torch.tanh(self.pool(y[:, 0]))
            return self.relevance(p)[:, 0], self.answer(p)[:, 0], self.span(y) + ((1 - kind) * -1e4)[:, :, None]
    return Reader()


def loss_of(lists, relevance, answer, span):
    import torch, torch.nn.functional as F
    at, rank_loss, labels, logits, spans, targets, values = 0, 0, [], [], [], [], []
    for o in lists:
        n = len(o["pairs"]); z = relevance[at:at + n]
        if o["rank"]: targets += [1.] * o["rank"] + [0.] * (n - o["rank"]); values.append(z)
        if o["rank"] and n > o["rank"]: rank_loss = rank_loss - sum(torch.log_softmax(torch.cat([z[j:j + 1], z[o["rank"]:]]), 0)[0] for j in range(o["rank"])) / o["rank"]
        for k, label in enumerate(o["answers"]):
            if label is not None: labels.append(float(label)); logits.append(answer[at + k])
        if o["tokens"]: spans.append((at, o["tokens"]))
        at += n
    loss = rank_loss / len(lists) + F.binary_cross_entropy_with_logits(torch.stack(logits), torch.tensor(labels))
    # keeps relevance on a scale: a relevant passage has a positive logit, another a negative one
    if values: loss = loss + .3 * F.binary_cross_entropy_with_logits(torch.cat(values), torch.tensor(targets))
    if spans:
        rows = torch.tensor([r for r, _ in spans])
        loss = loss + .5 * sum(F.cross_entropy(span[rows, :, k], torch.tensor([t[k] for _, t in spans])) for k in (0, 1))
    return loss


def batches(lists, weight, rng):
    """Endless batches of about STEP_TOKENS padded tokens, of lists of similar length, `weight` by group."""
    while True:
        order = [o for o in lists for _ in range(int(weight(o["g"])) + (rng.random() < weight(o["g"]) % 1))]
        rng.shuffle(order)
        for i in range(0, len(order), 2048):
            part = sorted(order[i:i + 2048], key=lambda o: max(len(p[0]) for p in o["pairs"])); made, now, longest, count = [], [], 0, 0
            for o in part:
                longest_next = max(longest, max(len(p[0]) for p in o["pairs"]))
                if now and longest_next * (count + len(o["pairs"])) > STEP_TOKENS: made.append(now); now, longest_next, count = [], max(len(p[0]) for p in o["pairs"]), 0
                now.append(o); longest = longest_next; count += len(o["pairs"])
            made.append(now); rng.shuffle(made); yield from made


def train(a):
    import torch
    torch.manual_seed(3); rng = random.Random(3); torch.set_num_threads(a.threads)
    lists = encoded([json.loads(l) for l in open(os.path.join(a.data, "train.jsonl"), encoding="utf8")], tokenizer(os.path.join(EMBEDDER, "unigram.bin")))
    lists = [o for o in lists if any(x is not None for x in o["answers"])]
    print(len(lists), "lists", flush=True)
    net = network(); head = lambda n: n.startswith(("pool", "relevance", "answer", "span", "kind"))
    named = list(net.named_parameters())
    groups = [{"params": [p for n, p in named if head(n) == is_head], "lr": rate, "rate": rate} for is_head, rate in ((False, a.rate), (True, 4 * a.rate))]
    optimiser = torch.optim.AdamW(groups, weight_decay=.01, betas=(.9, .98)); average = {n: p.detach().clone() for n, p in named}; spent, step = 0., 0
    if os.path.exists(a.out):
        state = torch.load(a.out, weights_only=False)
        if "optimiser" in state: net.load_state_dict(state["net"]); optimiser.load_state_dict(state["optimiser"]); average, spent, step = state["average"], state["spent"], state["step"]; rng.seed(step)

    def save():
        torch.save({"net": net.state_dict(), "average": average, "optimiser": optimiser.state_dict(), "spent": spent, "step": step}, a.out + ".new"); os.replace(a.out + ".new", a.out)
    begun, saved, shown, seen, total = time.process_time() / a.threads - spent, time.time(), time.time(), 0, 0.
    for batch in batches(lists, lambda g: a.notes if g == "notes" else 1., rng):
        spent = time.process_time() / a.threads - begun; share = spent / (a.minutes * 60)
        if share >= 1: break
        loss = loss_of(batch, *net([p for o in batch for p in o["pairs"]]))
        optimiser.zero_grad(); loss.backward(); torch.nn.utils.clip_grad_norm_([p for _, p in named], 1.0)
        for g in optimiser.param_groups: g["lr"] = g["rate"] * min(1, (step + 1) / 100) * max(.02, min(1, (1 - share) / .6))
        optimiser.step(); step += 1; seen += sum(len(o["pairs"]) for o in batch); total = loss.item() if step == 1 else .98 * total + .02 * loss.item()
        if step % 5 == 0:
            decay = min(.98, (1 + step / 5) / (10 + step / 5))
            for n, p in named: average[n].lerp_(p.detach(), 1 - decay)
        if time.time() - shown > 30: print(f"{spent / 60:.1f} min, step {step}, {seen} pairs, loss {total:.4f}", flush=True); shown = time.time()
        if time.time() - saved > CHECKPOINT_MINUTES * 60: save(); saved = time.time()
    save()


def measure(a):
    import torch
    lists = encoded([json.loads(l) for l in open(os.path.join(a.data, a.part + ".jsonl"), encoding="utf8")], tokenizer(os.path.join(EMBEDDER, "unigram.bin")))
    random.Random(1).shuffle(lists); torch.set_num_threads(a.threads)
    net = network(); net.load_state_dict(torch.load(a.state, weights_only=False)["average"], strict=False); net.eval(); rows = collections.defaultdict(lambda: {"answer": [], "first": [], "span": []})
    with torch.inference_mode():
        for o in lists[:a.most]:
            relevance, answer, span = net(o["pairs"]); r = rows[o["g"]]; every = rows["all"]
            for row in (r, every):
                row["answer"] += [(label, x.item()) for label, x in zip(o["answers"], answer) if label is not None]
                if o["rank"] and len(o["d"]) > o["rank"]: row["first"].append((float(relevance.argmax() < o["rank"]), float(answer.argmax() < o["rank"])))
                if o["tokens"]:
                    b = int(span[0, :, 0].argmax()); e = b + int(span[0, b:b + 24, 1].argmax()); row["span"].append(float(b <= o["tokens"][1] and e >= o["tokens"][0]))
    mean = lambda x: float(np.mean(x)) if x else float("nan")
    for g, r in sorted(rows.items(), key=lambda x: -len(x[1]["answer"])):
        first = np.array(r["first"]).reshape(-1, 2)
        print(f"{g:10s} answers AUC {auc(r['answer']):.3f} of {len(r['answer'])}; right first {mean(first[:, 0].tolist()):.3f} by relevance, {mean(first[:, 1].tolist()):.3f} by answer; span {mean(r['span']):.3f}")


def auc(pairs):
    from scipy.stats import rankdata
    y = np.array([l for l, _ in pairs]); s = rankdata([x for _, x in pairs]); n = y.sum()
    return float("nan") if n in (0, len(y)) else (s[y == 1].sum() - n * (n + 1) / 2) / (n * (len(y) - n))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter); sub = ap.add_subparsers(dest="step", required=True)
    p = sub.add_parser("prepare"); p.add_argument("--reader", required=True); p.add_argument("--lists", required=True); p.add_argument("--more", nargs="*"); p.add_argument("--out", required=True)
    p = sub.add_parser("train"); p.add_argument("--data", required=True); p.add_argument("--out", required=True); p.add_argument("--minutes", type=float, default=110); p.add_argument("--threads", type=int, default=2); p.add_argument("--rate", type=float, default=RATE); p.add_argument("--notes", type=float, default=4)
    p = sub.add_parser("measure"); p.add_argument("--data", required=True); p.add_argument("--state", required=True); p.add_argument("--part", default="dev"); p.add_argument("--most", type=int, default=3000); p.add_argument("--threads", type=int, default=1)
    a = ap.parse_args(); {"prepare": prepare, "train": train, "measure": measure}[a.step](a)


if __name__ == "__main__":
    main()
