#!/usr/bin/env python3
"""Trains the reader: a multilingual cross-encoder that says how relevant a passage is, whether it answers, and where.

  train_reader.py prepare --reader DIR --lists lists.jsonl --out DIR
  train_reader.py train   --data DIR --out checkpoint.pt --minutes 70
  train_reader.py measure --data DIR --state checkpoint.pt

prepare  Makes DIR/train.jsonl and DIR/dev.jsonl, one list per line: {"g": group, "q": question, "d": [passages], "rank":
         number of leading passages that are relevant, or null where the list says nothing of relevance, "answers": for
         each passage 1, 0 or null (unknown), "span": [begin, end) in code points of d[0], or null}.
         --reader: folder with passages.jsonl.xz and spans.jsonl.xz (questions with answer spans, and unanswerable ones);
         --lists: made by `tune_embedder.py lists` (question, relevant passage, four others).
         personal/ and near_people/ are read, too: with the nearest other notes of the same person by the embedder, with
         the nearest notes of other people, and with questions of the first folder that nobody's notes answer; so are the
         questions of near_misses.py (--more).
         A question of one article in fifty, and every tenth person, is in dev.jsonl only.
train    Starts from the embedder mneme-e5-small: its word table, positions and first eight layers, of which the first
         two stay as they are, with the table and the positions. (Layers in a row learn 2.5 times as fast as every second
         one.) With --reader it starts from an exported reader instead, whose token types and first norm stay.
         Saves a checkpoint every 10 minutes of training, and goes on from --out if that exists.
         --minutes and the schedule count CPU time per thread, so that a busy machine changes nothing but the end;
         --until HH:MM ends the schedule at that time of the clock, if it is earlier.
measure  Prints by group: area under the curve of the answer head, share of spans that overlap, right passage first.

Three heads on one encoder: `relevance` and `answer` read the first token (pooled), `span` reads each passage token.
Loss: RELEVANCE * (softmax over the list + .3 * binary cross-entropy) (relevance) + binary cross-entropy and .5 *
softmax over the list (answer) + .5 * cross-entropy of begin and end (span).
Needs torch, numpy, scipy, onnx, onnxruntime, tokenizers.
"""
import argparse, collections, concurrent.futures, datetime, glob, json, lzma, os, pickle, random, re, struct, sys, time
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from tune_embedder import CJK, people, words

EMBEDDER = os.path.join(HERE, "..", "mneme-e5-small")
LAYERS, FROZEN = 8, 2
QUERY_TOKENS, PAIR_TOKENS = 48, 112
STEP_TOKENS, PART_TOKENS = 3_072, 768
RATE = 1e-4
# share of the loss of relevance: the verdict does not use that head
RELEVANCE = .2
# share of the schedule after which token types and the first norm stay as they are
SETTLED = .1
CHECKPOINT_MINUTES = 10


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
    size = lambda text: rng.choice((110, 170, 300)) / (2.4 if CJK.search(text[:200]) else 1)
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
    """Relevance, mainly: the others of such a list may hold the answer in other words, but for the last, a random passage."""
    for o in map(json.loads, open(path, encoding="utf8")):
        yield o["q"], {"g": o["g"], "q": o["q"], "d": o["d"], "rank": 1, "answers": [1] + [None] * (len(o["d"]) - 2) + [0], "span": None}


class Neighbours:
    """Vectors of texts by the embedder, as search finds notes."""
    def __init__(self):
        import onnxruntime
        options = onnxruntime.SessionOptions(); options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(os.path.join(EMBEDDER, "model.onnx"), options, providers=["CPUExecutionProvider"]); self.encode = tokenizer(os.path.join(EMBEDDER, "unigram.bin"))

    def vectors(self, texts):
        one = lambda ids: self.session.run(["sentence_embedding"], {"input_ids": np.array([ids], np.int64), "attention_mask": np.ones((1, len(ids)), np.int64)})[0][0]
        return np.stack([one([0] + ids[:126] + [2]) for ids, _ in self.encode(texts)])


def note_lists(rng, strange):
    """Lists of the questions to invented people: the right notes, and the nearest other notes of the same person ("notes");
    the right note, and the same with another name or number than the question's ("swapped"); the nearest notes of other
    people, which do not answer ("others"); and the questions `strange` [(language, text)], which
    no note answers ("off"). A note of another person that is nearer than the right one may answer: its label is null."""
    near = Neighbours(); everyone = []
    for folder in ("personal", "near_people"): everyone += [p for path in sorted(glob.glob(os.path.join(HERE, folder, "*.tsv"))) for p in people(path)]
    for person in everyone:
        person["note vectors"] = near.vectors(["passage: " + n for n in person["notes"]]); person["vectors"] = near.vectors(["query: " + q["text"] for q in person["questions"]])
    for number, person in enumerate(everyone):
        notes, names = person["notes"], capitalised(person["notes"]) or ["Anna"]; others = [p for k, p in enumerate(everyone) if k != number and (k % 10 == 3) == (number % 10 == 3)]
        for q, vector in zip(person["questions"], person["vectors"]):
            cosine = person["note vectors"] @ vector; order = [int(i) for i in np.argsort(-cosine) if i not in q["notes"]]
            wrong = order[:4] + rng.sample(order[4:9], 1) + rng.sample(order[9:], 1)
            known = q["kind"] not in ("twostep", "update", "past")
            answers = [1 if known or k == 0 else None for k in range(len(q["notes"]))] + [0] * len(wrong)
            yield number, {"g": "near" if q["kind"] == "near" else "notes", "q": q["text"], "d": [notes[i] for i in q["notes"] + wrong], "rank": len(q["notes"]) or None, "answers": answers, "span": None}
            changed = swapped(q["text"], notes[q["notes"][0]], names, rng) if len(q["notes"]) == 1 and known else None
            if changed: yield number, {"g": "swapped", "q": q["text"], "d": [notes[q["notes"][0]], changed], "rank": None, "answers": [1, 0], "span": None}
            for other in rng.sample(others, 1) if q["notes"] else []:
                theirs = other["note vectors"] @ vector; first = [int(i) for i in np.argsort(-theirs)[:5]]
                yield number, {"g": "others", "q": q["text"], "d": [other["notes"][i] for i in first], "rank": None, "answers": [None if theirs[i] > cosine[q["notes"][0]] else 0 for i in first], "span": None}
        for language, text in rng.sample(strange, 20):
            first = np.argsort(-(person["note vectors"] @ near.vectors(["query: " + text])[0]))[:4]
            yield number, {"g": "off", "q": text, "d": [notes[i] for i in first], "rank": None, "answers": [0] * len(first), "span": None}


def swapped(question, note, names, rng):
    """The note about another name or number: one that the question and the note share, changed; null if they share none."""
    shared = [w for w in dict.fromkeys(re.findall(r"\d+(?:[.:,]\d+)*|[^\W\d_]{3,}", question)) if (w[0].isdigit() or w[0].isupper() and not question.startswith(w)) and re.search(rf"(?<!\w){re.escape(w)}(?!\w)", note)]
    if not shared: return None
    word = rng.choice(shared)
    if word[0].isdigit(): other = "".join(str((int(c) + rng.randint(1, 8)) % 9 + 1) if c.isdigit() and (rng.random() < .6 or len(word) < 3) else c for c in word)
    else: other = rng.choice(names)
    return None if other in note or other in question or other == word else re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", other, note)


def capitalised(notes):
    """Words of notes that begin with a capital letter within a sentence: names, mostly."""
    return [w for n in notes for w in re.findall(r"(?<=[a-zа-яα-ω,] )[^\W\d_]{3,}", n) if w[0].isupper()]


def prepare(a):
    rng = random.Random(11); train, dev = [], []
    strange = []
    for article, o in span_lists(a.reader, rng):
        if o["rank"] and hash_of(article) % 50: strange.append((o["g"], o["q"]))
        (dev if hash_of(article) % 50 == 0 else train).append(o)
    for question, o in general_lists(a.lists): (dev if hash_of(question) % 100 == 0 else train).append(o)
    for number, o in note_lists(rng, strange): (dev if number % 10 == 3 else train).append(o)
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

    replaced = set(map(chr, table))

    def clean(text):
        """The text as the table of replacements makes it, and for each character its place in the given text."""
        text = unicodedata.normalize("NFC", text)
        if replaced.isdisjoint(text): return text, range(len(text))
        out, place = [], []
        for i, c in enumerate(text):
            for x in table.get(ord(c), c): out.append(x); place.append(i)
        return "".join(out), place

    def encode(texts, spans=None):
        """[(ids, offsets)]; offsets are null where `spans` says that they are not needed."""
        cleaned = [clean(x) for x in texts]
        return [(e.ids, [(place[x] if x < len(place) else len(place), (place[y - 1] + 1) if y else 0) for x, y in e.offsets] if spans is None or spans[k] else None)
                for k, (e, (_, place)) in enumerate(zip(t.encode_batch([c for c, _ in cleaned], add_special_tokens=False), cleaned))]
    return encode


def encoded(lists, encode):
    """Adds "pairs" to lists: [(ids, first token of the passage)], and "tokens": begin and end token of the span in pair 0."""
    for i in range(0, len(lists), 1024): encode_some(lists[i:i + 1024], encode)
    return lists


def encode_some(lists, encode):
    found = encode([x for o in lists for x in [o["q"], *o["d"]]], [bool(o["span"]) and k == 1 for o in lists for k in range(1 + len(o["d"]))]); at = 0
    for o in lists:
        q, *d = found[at:at + 1 + len(o["d"])]; at += 1 + len(o["d"]); head = [0] + q[0][:QUERY_TOKENS] + [2]
        o["pairs"] = [(np.array(head + ids[:PAIR_TOKENS - 1 - len(head)] + [2], np.int32), len(head)) for ids, _ in d]; o["tokens"] = None
        if o["span"]:
            begin, end = o["span"]; inside = [k for k, (x, y) in enumerate(d[0][1]) if y > begin and x < end and len(head) + k < len(o["pairs"][0][0]) - 1]
            if inside and d[0][1][inside[-1]][1] >= end - 1: o["tokens"] = (len(head) + inside[0], len(head) + inside[-1])
            else: o["answers"][0] = None
        for key in ("q", "d", "span"): del o[key]


# ---------------------------------------------------------------- network
def values_of(path):
    """The tensors of an int8 graph by name."""
    import onnx
    from onnx import numpy_helper
    return {i.name: numpy_helper.to_array(i) for i in onnx.load(path).graph.initializer}


def starting_weights():
    """Word table, positions and first layers of the embedder, as float32 from its int8 graph."""
    from tune_reranker import layer_tensors
    I = values_of(os.path.join(EMBEDDER, "model.onnx"))
    q, scale = I["emb.q4"], I["emb.q4s"].astype(np.float32)
    table = (np.concatenate([q & 15, q >> 4], -1).astype(np.float32) - 8) * scale
    return table.reshape(len(table), -1), I["emb.pos"], I["emb.ln.g"], I["emb.ln.b"], [layer_tensors(I, i) for i in range(LAYERS)]


def reader_state(folder):
    """State of a network that computes what the exported reader in `folder` does, but for rounding."""
    import torch
    from tune_reranker import layer_tensors
    I = values_of(os.path.join(folder, "model.onnx"))
    state = {f"layers.{i}.{name}": x for i in range(LAYERS) for name, x in layer_tensors(I, i).items()}
    state.update({"kind": I["emb.type"], "norm.weight": I["emb.ln.g"], "norm.bias": I["emb.ln.b"], "pool.weight": I["pool.w"], "pool.bias": I["pool.b"], "span.weight": I["span.w"].T, "span.bias": I["span.b"]})
    for k, name in enumerate(("relevance", "answer")): state.update({name + ".weight": I["cls.w"][k:k + 1], name + ".bias": I["cls.b"][k:k + 1]})
    return {name: torch.tensor(np.array(x, np.float32)) for name, x in state.items()}


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
            self.layers = nn.ModuleList(PlainLayer(x) for x in layers); self.position.requires_grad_(False)
            for layer in self.layers[:FROZEN]: layer.requires_grad_(False)
            self.pool = nn.Linear(384, 384); self.relevance, self.answer, self.span = nn.Linear(384, 1), nn.Linear(384, 1), nn.Linear(384, 2)

        def forward(self, pairs):
            """Relevance and answer logits [pairs], and span logits [pairs, tokens, 2] with -1e4 outside of the passage."""
            order = sorted(range(len(pairs)), key=lambda r: len(pairs[r][0])); parts, now = [], []
            for r in order:
                if now and len(pairs[r][0]) * (len(now) + 1) > PART_TOKENS: parts.append(now); now = []
                now.append(r)
            longest = len(pairs[order[-1]][0])
            with torch.autocast("cpu", torch.bfloat16): states = [self.states([pairs[r] for r in part]) for part in parts + [now]]
            first = torch.cat([y[:, 0] for y, _ in states]).float(); p = torch.tanh(self.pool(first))
            span = torch.cat([F.pad(self.span(y.float()) + ((1 - kind) * -1e4)[:, :, None], (0, 0, 0, longest - y.shape[1]), value=-1e4) for y, kind in states])
            back = torch.empty(len(pairs), dtype=torch.long); back[torch.tensor(order)] = torch.arange(len(pairs))
            return self.relevance(p)[back, 0], self.answer(p)[back, 0], span[back]

        def states(self, pairs):
            """States of the tokens of pairs of similar length, and 1 for the tokens of passages."""
            n = max(len(ids) for ids, _ in pairs); x = torch.zeros((len(pairs), n), dtype=torch.long); mask, kind = torch.zeros_like(x), torch.zeros_like(x)
            for r, (ids, first) in enumerate(pairs): x[r, :len(ids)] = torch.from_numpy(ids); mask[r, :len(ids)] = 1; kind[r, first:len(ids) - 1] = 1
            blocked = ((1 - mask) * -1e4)[:, None, None, :].to(torch.bfloat16)
            with torch.set_grad_enabled(torch.is_grad_enabled() and self.kind.requires_grad):
                y = self.norm(self.table[0][x].float() + self.position[:n] + self.kind[kind]).to(torch.bfloat16)
                for layer in self.layers[:FROZEN]: y = layer(y, blocked)
            for layer in self.layers[FROZEN:]: y = layer(y, blocked)
            return y, kind

        def settle(self):
            """Ends the learning of token types and of the first norm, so that no gradient goes through the frozen layers."""
            self.kind.requires_grad_(False); self.norm.requires_grad_(False)
    return Reader()


def loss_of(lists, relevance, answer, span):
    import torch, torch.nn.functional as F
    at, rank_loss, labels, logits, spans, targets, values = 0, 0, [], [], [], [], []
    for o in lists:
        n = len(o["pairs"]); z = relevance[at:at + n]
        if o["rank"]: targets += [1.] * o["rank"] + [0.] * (n - o["rank"]); values.append(z)
        if o["rank"] and n > o["rank"]: rank_loss = rank_loss - RELEVANCE * sum(torch.log_softmax(torch.cat([z[j:j + 1], z[o["rank"]:]]), 0)[0] for j in range(o["rank"])) / o["rank"]
        known = [k for k, label in enumerate(o["answers"]) if label is not None]
        labels += [float(o["answers"][k]) for k in known]; logits += [answer[at + k] for k in known]
        if o["answers"][0] == 1 and len(known) > 1:
            rank_loss = rank_loss - .5 * torch.log_softmax(answer[[at] + [at + k for k in known if o["answers"][k] == 0]], 0)[0]
        if o["tokens"]: spans.append((at, o["tokens"]))
        at += n
    loss = rank_loss / len(lists) + F.binary_cross_entropy_with_logits(torch.stack(logits), torch.tensor(labels))
    # keeps relevance on a scale: a relevant passage has a positive logit, another a negative one
    if values: loss = loss + .3 * RELEVANCE * F.binary_cross_entropy_with_logits(torch.cat(values), torch.tensor(targets))
    if spans:
        rows = torch.tensor([r for r, _ in spans])
        loss = loss + .5 * sum(F.cross_entropy(span[rows, :, k], torch.tensor([t[k] for _, t in spans])) for k in (0, 1))
    return loss


def weight_of(o, notes):
    """How often a list is seen in a round: personal notes often, as the others are many; short passages rather than long."""
    mean = sum(len(ids) for ids, _ in o["pairs"]) / len(o["pairs"])
    return {"notes": notes, "near": notes, "swapped": notes / 2, "others": notes / 2, "off": 1.}.get(o["g"], (.2 if o["g"].startswith("made-") else .12 if o["tokens"] else .06) * min(1, 52 / mean))


def batches(lists, weight, rng):
    """Endless batches of about STEP_TOKENS tokens, of lists of similar length, `weight` by list."""
    longest = lambda o: max(len(ids) for ids, _ in o["pairs"])
    while True:
        order = [o for o in lists for _ in range(int(weight(o)) + (rng.random() < weight(o) % 1))]
        rng.shuffle(order)
        for i in range(0, len(order), 1024):
            made, now, size = [], [], 0
            for o in sorted(order[i:i + 1024], key=longest):
                now.append(o); size += sum(len(ids) for ids, _ in o["pairs"])
                if size > STEP_TOKENS: made.append(now); now, size = [], 0
            rng.shuffle(made); yield from made


def kept_lists(folder):
    """The lists of train.jsonl with token ids, which are kept in train.pickle for a run that goes on."""
    kept = os.path.join(folder, "train.pickle")
    if not os.path.exists(kept):
        lists = encoded([json.loads(l) for l in open(os.path.join(folder, "train.jsonl"), encoding="utf8")], tokenizer(os.path.join(EMBEDDER, "unigram.bin")))
        with open(kept + ".new", "wb") as f: pickle.dump([o for o in lists if any(x is not None for x in o["answers"])], f)
        os.replace(kept + ".new", kept)
    return pickle.load(open(kept, "rb"))


def train(a):
    import torch
    torch.manual_seed(3); rng = random.Random(3); torch.set_num_threads(1)
    lists = kept_lists(a.data); print(len(lists), "lists", flush=True)
    net = network(); head = lambda n: n.startswith(("pool", "relevance", "answer", "span", "kind"))
    if a.reader: net.load_state_dict(reader_state(a.reader), strict=False); net.settle()
    named = [(n, p) for n, p in net.named_parameters() if p.requires_grad]
    groups = [{"params": [p for n, p in named if head(n) == is_head], "lr": rate, "rate": rate} for is_head, rate in ((False, a.rate), (True, 4 * a.rate))]
    optimiser = torch.optim.AdamW(groups, weight_decay=.01, betas=(.9, .98), fused=True); average = {n: p.detach().clone() for n, p in named}; spent, step = 0., 0
    if os.path.exists(a.out):
        state = torch.load(a.out, weights_only=False)
        if "optimiser" in state: net.load_state_dict(state["net"]); optimiser.load_state_dict(state["optimiser"]); average, spent, step = state["average"], state["spent"], state["step"]; rng.seed(step)

    def save():
        torch.save({"net": net.state_dict(), "average": average, "optimiser": optimiser.state_dict(), "spent": spent, "step": step}, a.out + ".new"); os.replace(a.out + ".new", a.out)

    def part_of_step(lists):
        """Adds the gradient of a share of the batch. Each share has a thread of its own: threads that share one product
        wait for each other in loops on a busy machine."""
        torch.set_num_threads(1); loss = loss_of(lists, *net([p for o in lists for p in o["pairs"]])) / a.threads; loss.backward()
        return loss.item()
    threads = concurrent.futures.ThreadPoolExecutor(a.threads)
    begun, saved, shown, seen, total = time.process_time() / a.threads - spent, time.time(), time.time(), 0, 0.
    first, last = time.time(), at_clock(a.until) if a.until else float("inf")
    for batch in batches(lists, lambda o: weight_of(o, a.notes), rng):
        spent = time.process_time() / a.threads - begun; share = max(spent / (a.minutes * 60), (time.time() - first) / (last - first))
        if share >= 1: break
        if share > SETTLED: net.settle()
        optimiser.zero_grad(); loss = sum(threads.map(part_of_step, [batch[k::a.threads] for k in range(a.threads)])); torch.nn.utils.clip_grad_norm_([p for _, p in named], 1.0)
        for g in optimiser.param_groups: g["lr"] = g["rate"] * min(1, (step + 1) / 100) * max(.02, min(1, (1 - share) / .6))
        optimiser.step(); step += 1; seen += sum(len(o["pairs"]) for o in batch); total = loss if step == 1 else .98 * total + .02 * loss
        if step % 5 == 0:
            decay = min(.98, (1 + step / 5) / (10 + step / 5))
            for n, p in named: average[n].lerp_(p.detach(), 1 - decay)
        if time.time() - shown > 30: print(f"{spent / 60:.1f} min, step {step}, {seen} pairs, loss {total:.4f}", flush=True); shown = time.time()
        if time.time() - saved > CHECKPOINT_MINUTES * 60: save(); saved = time.time()
    save()


def at_clock(text):
    """The next time of the clock HH:MM, in seconds since 1970."""
    now = datetime.datetime.now(); hour, minute = map(int, text.split(":")); then = now.replace(hour=hour, minute=minute, second=0)
    return (then if then > now else then + datetime.timedelta(days=1)).timestamp()


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
                if o["rank"] and len(o["pairs"]) > o["rank"]: row["first"].append((float(relevance.argmax() < o["rank"]), float(answer.argmax() < o["rank"])))
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
    p = sub.add_parser("train"); p.add_argument("--data", required=True); p.add_argument("--out", required=True); p.add_argument("--reader"); p.add_argument("--minutes", type=float, default=70); p.add_argument("--until"); p.add_argument("--threads", type=int, default=2); p.add_argument("--rate", type=float, default=RATE); p.add_argument("--notes", type=float, default=4)
    p = sub.add_parser("measure"); p.add_argument("--data", required=True); p.add_argument("--state", required=True); p.add_argument("--part", default="dev"); p.add_argument("--most", type=int, default=3000); p.add_argument("--threads", type=int, default=1)
    a = ap.parse_args(); {"prepare": prepare, "train": train, "measure": measure}[a.step](a)


if __name__ == "__main__":
    main()
