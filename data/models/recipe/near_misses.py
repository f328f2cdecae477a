#!/usr/bin/env python3
"""Makes questions, notes that answer them and notes that nearly do, from the frames in near_misses/.

  near_misses.py --count 60000 --out lists.jsonl [--pairs pairs.jsonl] [--seed 7] [--languages de,fr]
  near_misses.py --check          counts the frames and tests each of them

Lists: one per line, in the format of `train_reader.py prepare`: {"g": "made-LANG" or "made-cross" (question in another
language than the notes), "q", "d": [the right passage, near misses, unrelated notes], "rank": 1 or null (no right
passage; every other list), "answers": 1 or 0 for each passage, "span": [begin, end) in code points of d[0], or null,
"dev": true for one subject in twenty}.
Pairs: {"a": older note, "b": newer note, "label": "supersedes" | "duplicates" | "refines" | "none", "lang", "dev"}.
near_misses/README.md describes the files of frames. Needs nothing beside Python.
"""
import argparse, collections, glob, hashlib, json, os, random, re, sys

HERE = os.path.dirname(os.path.abspath(__file__))
CHOICE = re.compile(r"\(([^()]*\|[^()]*)\)")
SLOT = re.compile(r"\{([a-z]+)(\d?)(?::([^}]+))?\}")
NAMES = {"m", "f", "p", "last", "full", "mfull", "ffull", "place", "brand"}
LATIN = {"en", "de", "nl", "fr", "es", "it", "pt", "sv", "id", "vi"}


# ---------------------------------------------------------------- word forms
def russian(w, form, uk=False):
    hard, stem = w[-1], w[:-1]
    if hard == "а":
        soft = {"к": "ц", "г": "з", "х": "с"}.get(stem[-1], stem[-1]) if uk else stem[-1]
        return {"g": stem + ("и" if uk or stem[-1] in "гкхжшчщ" else "ы"), "d": stem[:-1] + soft + ("і" if uk else "е"), "a": stem + "у", "i": stem + "ою" if uk else stem + "ой"}[form]
    if hard == "я":
        if uk: return {"g": stem + ("ї" if stem[-1] == "і" else "і"), "d": stem + ("ї" if stem[-1] == "і" else "і"), "a": stem + "ю", "i": stem + ("єю" if stem[-1] == "і" else "ею")}[form]
        return {"g": stem + "и", "d": stem + ("и" if stem[-1] == "и" else "е"), "a": stem + "ю", "i": stem + "ей"}[form]
    if hard in "йь": return {"g": stem + "я", "a": stem + "я", "d": stem + ("ю"), "i": stem + ("єм" if uk and hard == "й" else "ем")}[form]
    if hard == "о" and uk: return {"g": stem + "а", "a": stem + "а", "d": stem + "у", "i": stem + "ом"}[form]
    return {"g": w + "а", "a": w + "а", "d": w + "у", "i": w + "ом"}[form]


def polish(w, form):
    if w[-1] == "a": return {"g": w[:-1] + ("i" if w[-2] in "kgl" else "y"), "a": w[:-1] + "ę", "i": w[:-1] + "ą"}[form]
    stem = w[:-2] + "k" if w.endswith("ek") else w
    return {"g": stem + "a", "a": stem + "a", "i": stem + ("iem" if stem[-1] in "kg" else "em")}[form]


def czech(w, form):
    if w[-1] == "a": return {"g": w[:-1] + "y", "a": w[:-1] + "u", "i": w[:-1] + "ou"}[form]
    stem = w[:-2] + "k" if w.endswith("ek") else w; soft = stem[-1] in "šžčřj"
    return {"g": stem + ("e" if soft else "a"), "a": stem + ("e" if soft else "a"), "i": stem + "em"}[form]


def greek(w, form):
    """With the article: n, g, a."""
    if w[-1] == "ς":
        if w[-2:] == "ος": return {"n": "ο " + w, "g": "του " + w[:-2] + "ου", "a": "τον " + w[:-1]}[form]
        return {"n": "ο " + w, "g": "του " + w[:-1], "a": "τον " + w[:-1]}[form]
    return {"n": "η " + w, "g": "της " + w + "ς", "a": "την " + w}[form]


def turkish(w, form):
    vowels = [c for c in w.lower().replace("i̇", "i") if c in "aıoueiöü"]; v = vowels[-1] if vowels else "e"
    four = {"a": "ı", "ı": "ı", "o": "u", "u": "u", "e": "i", "i": "i", "ö": "ü", "ü": "ü"}[v]; two = "a" if v in "aıou" else "e"; open_ = w[-1].lower() in "aıoueiöü"; hard = w[-1].lower() in "fstkçşhp"
    return w + "'" + {"g": ("n" if open_ else "") + four + "n", "d": ("y" if open_ else "") + two, "a": ("y" if open_ else "") + four, "l": ("t" if hard else "d") + two, "b": ("t" if hard else "d") + two + "n"}[form]


def korean(w, form):
    code = ord(w[-1]) - 0xAC00; final = code % 28 if 0 <= code < 11172 else 0
    a, b = {"은": "은는", "이": "이가", "을": "을를", "과": "과와"}[form] if form != "로" else ("으로", "로")
    return w + (a if final and not (form == "로" and final == 8) else b)


def hungarian(w, form):
    back = any(c in "aáoóuú" for c in w.lower()[-4:]) and not w.lower()[-1] in "e"
    w = w[:-1] + {"a": "á", "e": "é"}.get(w[-1], w[-1])
    return w + {"nak": "nak" if back else "nek"}[form]


def womans(code, surname):
    """The form of a surname that a woman bears."""
    if code == "cs": return (surname[:-2] + "k" if surname.endswith("ek") else surname[:-1] if surname[-1] in "a" else surname[:-1] + "á" if surname[-1] == "ý" else surname) + ("" if surname[-1] == "ý" else "ová")
    if code == "pl": return surname[:-1] + "a" if surname.endswith(("ski", "cki", "dzki")) else surname
    if code == "el": return surname[:-7] + "οπούλου" if surname.endswith("όπουλος") else surname[:-1] if surname[-2:] in ("ης", "ας", "άς", "ής") else surname
    if code == "ru": return surname[:-2] + "ая" if surname.endswith(("ий", "ый")) else surname + "а"
    return surname


FORMS = {"ru": russian, "uk": lambda w, f: russian(w, f, True), "pl": polish, "cs": czech, "el": greek, "tr": turkish, "ko": korean, "hu": hungarian}


# ---------------------------------------------------------------- frames
class Fact:
    def __init__(self, group, slot, flags):
        self.group, self.slot, self.flags = group, slot, flags
        self.N, self.Q, self.P, self.C, self.L, self.D = [], [], [], [], [], []


class Group:
    def __init__(self, lang, name, shared): self.lang, self.name, self.shared, self.slots, self.facts = lang, name, shared, {}, []

    @property
    def dev(self): return int.from_bytes(hashlib.sha256((self.name if self.shared else self.lang.code + "/" + self.name).encode()).digest()[:4], "little") % 20 == 0


class Language:
    """A file of frames."""
    def __init__(self, path):
        self.code = os.path.basename(path)[:-4]; self.lists, self.groups = {}, []
        for number, line in enumerate(open(path, encoding="utf8"), 1):
            line = line.rstrip("\n")
            if not line.strip() or line[0] == "#": continue
            kind, _, rest = line.partition(" "); rest = rest.strip()
            if kind == "!":
                key, _, items = rest.partition(" "); self.lists[key] = self.lists.get(key, []) + [x.strip() for x in items.split("|") if x.strip()]
            elif kind == "G": self.groups.append(Group(self, rest.lstrip("@"), rest[0] == "@"))
            elif kind == "S":
                key, _, items = rest.partition(" "); self.groups[-1].slots[key] = [tuple(y.strip() for y in x.split("/")) for x in items.split("|")]
            elif kind == "A":
                slot, *flags = rest.split(); self.groups[-1].facts.append(Fact(self.groups[-1], slot, set(flags)))
            elif kind in "NQPCLD": getattr(self.groups[-1].facts[-1], kind).append(rest)
            else: raise ValueError(f"{path}:{number}: {line}")
        if "mlast" in self.lists:
            self.lists.setdefault("last", self.lists["mlast"])
            if "flast" not in self.lists: self.lists["flast"] = [womans(self.code, w) for w in self.lists["mlast"]]
        self.space = "" if self.code in ("zh", "ja") else " "
        self.stop = {"zh": "。", "ja": "。", "hi": "।", "th": ""}.get(self.code, ".")
        self.facts = [f for g in self.groups for f in g.facts]


def base(slot): return slot.rstrip("0123456789")


SYLLABLES = "ka mo ri ta lu ne so vi pa do mi ru te zo bi fa ge lo nu pe sa wi".split()


def shape(pattern, rng):
    """9: digit, 8: digit that is not 0, A: letter, w: invented word, I: 192.168."""
    return "".join(str(rng.randint(0, 9)) if c == "9" else str(rng.randint(1, 9)) if c == "8" else rng.choice("ABCDEFGHKLMNPRSTVXZ") if c == "A" else "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(2, 3))) if c == "w" else "192.168" if c == "I" else c for c in pattern)


SHAPES = {"pw": ["w-89", "w99", "89w89", "w!9999", "W.w.8"], "pin": ["8999", "8999", "899999"], "code": ["AA-8999", "A899", "AA 89-99", "8999-A"], "inv": ["2024-0899", "2025/899", "AA-89999", "89999"],
          "part": ["AA-8999-A", "89.899.99", "A89-999", "899-99-8A"], "flight": ["AA 899", "AA8999"], "gate": ["A8", "A89", "A29"], "seat": ["89A", "8A"], "plate": ["AA-899-AA", "A 8999 AA", "899 AA"],
          "phone": ["0899 555 0899", "06 5550 8999", "+00 555 89 99 89"], "ip": ["I.8.89", "10.0.89.8", "10.8.0.189"], "port": ["8999", "89999"], "ver": ["8.8.9", "8.89", "2.8.89"], "host": ["w-89", "w8"],
          "room": ["899"], "zip": ["89999"], "acct": ["89 9999 9999", "8999-999-99"], "order": ["A-89999", "899-8999999", "AA89999"]}
RANGES = {"n": (1, 60), "cnt": (2, 9), "kg": (11, 98), "cm": (62, 240), "km": (12, 940), "pct": (3, 48), "floor": (2, 14), "hn": (2, 140), "year": (1961, 2025), "age": (3, 91), "track": (1, 16), "size": (36, 46), "temp": (16, 26), "deg": (140, 230), "gram": (80, 900),
          "min": (10, 90), "price": (6, 480), "sum": (610, 9800), "litre": (15, 420), "page": (11, 480)}


class Values(dict):
    """Values of the slots of one instance of a group, chosen when first asked for."""
    def __init__(self, group, rng, given=()): super().__init__(given); self.group, self.rng = group, rng

    def __missing__(self, slot):
        for _ in range(40):
            v = draw(self.group, slot, self.rng)
            if all(v != o or base(k) != base(slot) for k, o in self.items()): break
        self[slot] = v
        return v


def draw(group, slot, rng):
    kind = base(slot); lists = group.lang.lists
    if slot in group.slots: return ("at", rng.randrange(len(group.slots[slot])))
    if kind in group.slots: return ("at", rng.randrange(len(group.slots[kind])))
    if kind in ("m", "f"): return rng.choice(lists[kind])
    if kind == "p": return rng.choice(lists[rng.choice("mf")])
    if kind in ("mfull", "ffull", "full"):
        sex = kind[0] if kind != "full" else rng.choice("mf"); return (rng.choice(lists[sex]), rng.choice(lists.get(sex + "last") or lists["last"]), sex)
    if kind == "date": return (rng.randint(2, 28), rng.randint(1, 12))
    if kind == "month": return rng.randint(1, 12)
    if kind in ("day", "onday"): return rng.randint(0, 6)
    if kind == "time": return f"{rng.randint(6, 22)}:{rng.choice(('00', '15', '30', '45', '10', '20', '40', '50'))}"
    if kind == "mg": return rng.choice((5, 10, 15, 20, 25, 40, 50, 75, 100, 150, 200, 250, 400, 500))
    if kind in SHAPES: return shape(rng.choice(SHAPES[kind]), rng)
    if kind in RANGES:
        v = rng.randint(*RANGES[kind])
        return v // 10 * 10 if kind in ("sum", "deg", "gram") else v // 5 * 5 if kind in ("min",) else v
    if kind in lists: return ("of", kind, rng.randrange(len(lists[kind])))
    raise KeyError(f"{group.lang.code}/{group.name}: slot {slot}")


def nearby(group, slot, value, rng):
    """Another value, often one that is easily mistaken for the given one."""
    kind = base(slot)
    for _ in range(60):
        new = draw(group, slot, rng)
        if kind in ("full", "mfull", "ffull") and rng.random() < .7:
            lists = group.lang.lists
            new = (rng.choice(lists[value[2]]), value[1], value[2]) if rng.random() < .5 else (value[0], rng.choice(lists.get(value[2] + "last") or lists["last"]), value[2])
        elif kind == "date" and rng.random() < .7: new = rng.choice(((value[0], new[1]), (new[0], value[1]), (max(2, value[0] - 1), value[1]), (value[0] + 1, value[1])))
        elif isinstance(value, tuple) and value[0] == "at": pass
        elif kind in ("n", "year", "room", "track", "floor", "hn") and rng.random() < .5: new = type(value)(max(1, int(value) + rng.choice((-10, -2, -1, 1, 2, 10))))
        elif isinstance(value, str) and kind in SHAPES and kind != "pw" and rng.random() < .6:
            spots = [i for i, c in enumerate(value) if c.isdigit() and not value.startswith(("192.168", "10.")) or i > 7]
            if spots: i = rng.choice(spots); new = value[:i] + (str(rng.randint(1, 9)) if value[i].isdigit() else value[i]) + value[i + 1:]
        if new != value and (kind != "year" or new <= 2026): return new
    raise ValueError(f"{group.lang.code}/{group.name}: no other value for {slot}")


def written(group, slot, value, form, rng):
    kind = base(slot); lang = group.lang; lists = lang.lists
    if isinstance(value, tuple) and value[0] == "at":
        forms = (group.slots.get(slot) or group.slots[kind])[value[1]]; return forms[int(form)] if form and form.isdigit() else forms[0]
    if isinstance(value, tuple) and value[0] == "of": text = lists[value[1]][value[2]]
    elif kind in ("full", "mfull", "ffull"):
        first, last = (FORMS[lang.code](value[0], form), value[1]) if form and lang.code in ("tr", "el") and 0 else (value[0], value[1])
        text = (last + first if lang.code in ("zh", "ko") else last + (rng.choice(("", " ")) if lang.code == "ja" else " ") + first) if lang.code in ("zh", "ko", "ja", "hu", "vi") else first + " " + last
    elif kind == "date":
        pattern = rng.choice(lists["date"]); d, m = value
        text = pattern.replace("DD", f"{d:02}").replace("MM", f"{m:02}").replace("D", "\0").replace("M", "\1").replace("\0", str(d)).replace("\1", str(m)).replace("#", lists["month"][m - 1])
    elif kind == "month": text = (lists.get("inmonth") if form == "in" else lists["month"])[value - 1]; form = None
    elif kind in ("day", "onday"): text = lists[kind if kind in lists else "day"][value]
    elif kind in ("price", "sum"): pattern = lists["price"][value % len(lists["price"])]; text = pattern.replace("#", f"{value:,}".replace(",", ".") if "#.000" in pattern else str(value))
    else: text = str(value)
    if "/" in text and kind in ("place", "m", "f", "p", "last", "brand"):
        forms = text.split("/"); return forms[int(form)] if form and form.isdigit() else forms[0]
    return FORMS[lang.code](text, form) if form and lang.code in FORMS else text


def elided(code, before, text, word):
    """The text before a slot, as French, Italian and Hungarian write it before a vowel."""
    if code == "hu" and (text[0] in "AEIOÖÜUÁÉÍÓaeioöüuáéíó5" or text == "1" or text[0] in "FLMNRSX" and not text[1:2].islower()): return re.sub(r"(?<![^\W_])([aA]) $", r"\1z ", before)
    if not word: return before
    if code == "fr" and text[0].lower() in "aeiouhéèêîâ": return re.sub(r"(?<![^\W_])(d|qu|D|Qu)e $", r"\1'", before)
    if code == "it" and re.match(r"(8|11) ", text): return re.sub(r"(?<![^\W_])(de|a|da|ne)l $", r"\1ll'", re.sub(r"(?<![^\W_])([iI])l $", lambda m: "l'" if m[1] == "i" else "L'", before))
    if code == "it" and text[0] in "Aa": return re.sub(r"(?<![^\W_])([aA]) $", r"\1d ", before)
    return before


def chosen(template, rng):
    while (m := CHOICE.search(template)): template = template[:m.start()] + rng.choice(m[1].split("|")) + template[m.end():]
    return re.sub(r" +([.,])(?!\w)", r"\1", re.sub(r" +", " ", template)).strip()


def slots_of(template): return {m[1] + m[2] for m in SLOT.finditer(template)}


def fill(group, template, values, rng, answer=None):
    """(text, span of the answer or None). Square brackets widen the answer."""
    template = chosen(template, rng); out = ""; span = None; opened = None; at = 0; wide = None
    for m in re.finditer(SLOT.pattern + r"|[\[\]]", template):
        out += template[at:m.start()]; at = m.end()
        if m[0] == "[": opened = len(out)
        elif m[0] == "]": wide = wide or (opened, len(out)); opened = None
        else:
            slot = m[1] + m[2]; text = written(group, slot, values[slot], m[3], rng); out = elided(group.lang.code, out, text, slot in group.slots or base(slot) in NAMES | {"date"}); begin = len(out); out += text
            if slot == answer and span is None: span = (begin, len(out))
            if text.endswith(".") and template[at:at + 1] == ".": at += 1
    out += template[at:]
    if wide and answer: span = wide
    first = SLOT.match(template)
    if first and out[:1].islower() and out[:1] != "i" and base(first[1]) not in SHAPES: out = out[0].upper() + out[1:]
    return out, span


# ---------------------------------------------------------------- notes
def ended(lang, text): return text if not text or text[-1] in ".!?。！？।;:" or text[-1] in "\n" else text + lang.stop


def joined(lang, parts, rng, glue=None):
    """Joins [(text, span)]; returns the text and the span of the first part that has one."""
    glue = glue or rng.choice((" ", " ", " ", "\n", "\n- ", "; "))
    if glue == " " and any("\n" in t for t, _ in parts): glue = "\n"
    if glue == " ": glue = lang.space or ""
    text, span = "- " if glue == "\n- " else "", None
    for k, (t, s) in enumerate(parts):
        if k: text = (ended(lang, text) if glue in (" ", "") else text.rstrip(".。।") if glue == "; " else text) + glue
        if s and not span: span = (s[0] + len(text), s[1] + len(text))
        text += t
    return text, span


class Maker:
    def __init__(self, languages, rng):
        self.languages, self.rng = languages, rng
        self.shared = collections.defaultdict(dict)
        for lang in languages:
            for g in lang.groups:
                if g.shared: self.shared[g.name][lang.code] = g

    def note(self, fact, values, template=None):
        """One fact as a note. Returns (text, span)."""
        return fill(fact.group, template or self.rng.choice(fact.N), values, self.rng, fact.slot)

    def stranger(self, group, dev):
        """A note about something else in the same language, or an everyday sentence."""
        lang = group.lang; rng = self.rng
        if rng.random() < .35: return fill(group, rng.choice(lang.lists["fill"]), Values(group, rng), rng)[0]
        for _ in range(50):
            g = rng.choice(lang.groups)
            if g is not group and (dev or not g.dev) and g.facts: f = rng.choice(g.facts); return self.note(f, Values(g, rng))[0]
        return rng.choice(lang.lists["fill"])

    def around(self, group, dev):
        """Sentences before and after a fact: what makes a long note."""
        rng = self.rng; n = rng.choice((0, 0, 0, 1, 1, 2, 3, 5)); before = rng.randint(0, n)
        found = list(dict.fromkeys(self.stranger(group, dev) for _ in range(n)))
        return found[:before], found[before:], rng.choice((" ", " ", "\n", "\n- "))

    def wrapped(self, group, part, around):
        before, after, glue = around
        return joined(group.lang, [(t, None) for t in before] + [part] + [(t, None) for t in after], self.rng, glue) if before or after else part

    def changed(self, fact, values, key, keep=False):
        new = Values(fact.group, self.rng, values); new[key] = nearby(fact.group, key, values[key], self.rng)
        if not keep: new[fact.slot] = nearby(fact.group, fact.slot, values[fact.slot], self.rng)
        return new

    def rows(self, fact, values, key, keys, present):
        """A list of several instances that differ in `key`; the asked one among them or not."""
        rng = self.rng; lang = fact.group.lang; items = [values] if present else []; seen = {values[key]}; used = {values[fact.slot]}
        for _ in range(rng.randint(2, 7)):
            for _ in range(20):
                new = self.changed(fact, values, key)
                if new[key] not in seen and new[fact.slot] not in used: seen.add(new[key]); used.add(new[fact.slot]); items.append(new); break
        rng.shuffle(items)
        heads = [t.partition("=>") for t in fact.L]; heads = [(h, r.strip()) for h, _, r in heads if key in slots_of(r) and keys <= slots_of(h) | slots_of(r)]
        if heads and rng.random() < .75:
            head, row = rng.choice(heads); style = rng.choice((" – ", ": ", " | ", " = ", ", ", "\t", " - ")); row = row.replace(" – ", style)
            if style == " | ": row = "| " + row + " |"
            glue = rng.choice(("\n", "\n", "\n- ", "; "))
            if style in (", ", " | "): glue = "\n"
            text, span = fill(fact.group, head.strip(), values, rng)[0] + (" " if glue == "; " else glue), None
            for k, v in enumerate(items):
                t, s = self.note(fact, v, row); text += glue if k else ""
                if v is values: span = (s[0] + len(text), s[1] + len(text))
                text += t
            return text, span
        fits = [t for t in fact.N if keys <= slots_of(t)]; template = rng.choice(fits); parts = []
        for v in items:
            t, s = self.note(fact, v, template if rng.random() < .7 else rng.choice(fits)); parts.append((t, s if v is values else None))
        return joined(lang, parts, rng)

    def correction(self, fact, old, values):
        """(older note, newer note that corrects it, span of the value in the newer)."""
        rng = self.rng; lang = fact.group.lang; template = rng.choice(fact.N); first = self.note(fact, old, template)[0]
        if fact.C and rng.random() < .6: return first, *self.note(fact, values, rng.choice(fact.C))
        t, s = self.note(fact, values); outer = rng.choice(lang.lists["corr"]); at = outer.index("#")
        return first, outer.replace("#", t), (s[0] + at, s[1] + at)

    def right(self, fact, values, keys, template, around, dev):
        """A passage that answers."""
        rng = self.rng; group = fact.group; how = rng.random(); keyed = sorted(k for k in keys if self.keyed(fact, k)); siblings = self.siblings(fact, keys)
        if how < .16 and keyed: part = self.rows(fact, values, rng.choice(keyed), keys, True)
        elif how < .30:
            old = Values(group, rng, values); old[fact.slot] = nearby(group, fact.slot, values[fact.slot], rng); first, second, span = self.correction(fact, old, values)
            if not keys <= self.stated(first, group, values, keys): return self.wrapped(group, self.note(fact, values, template), around)
            part = (second, span) if rng.random() < .3 and keys <= self.stated(second, group, values, keys) else joined(group.lang, [(first, None), (second, span)], rng)
        elif how < .42 and siblings: parts = [self.note(fact, values, template), (self.note(rng.choice(siblings), Values(group, rng, values))[0], None)]; rng.shuffle(parts); part = joined(group.lang, parts, rng)
        elif how < .52 and keyed: parts = [self.note(fact, values, template), (self.note(fact, self.changed(fact, values, rng.choice(keyed)), template)[0], None)]; rng.shuffle(parts); part = joined(group.lang, parts, rng)
        elif how < .60 and fact.P:
            old = Values(group, rng, values); old[fact.slot] = nearby(group, fact.slot, values[fact.slot], rng)
            part = joined(group.lang, [(fill(group, rng.choice(fact.P), old, rng)[0], None), self.note(fact, values, template)], rng)
        else: part = self.note(fact, values, template)
        return self.wrapped(group, part, around)

    def stated(self, text, group, values, keys): return {k for k in keys if self.mentions(text, group, k, values[k])}

    def mentions(self, text, group, slot, value):
        if base(slot) in ("date", "day", "onday", "month"): return True
        forms = {written(group, slot, value, None, self.rng)}
        if isinstance(value, tuple) and value[0] == "at": forms |= set((group.slots.get(slot) or group.slots[base(slot)])[value[1]])
        if group.lang.code in FORMS or isinstance(value, tuple): forms |= {f[:max(3, len(f) - 2)] for f in forms if len(f) > 4}
        return any(f.lower() in text.lower() for f in forms)

    def keyed(self, fact, key): return any(key in slots_of(t) for t in fact.N)

    def siblings(self, fact, keys): return [f for f in fact.group.facts if f is not fact and f.slot != fact.slot and any(keys <= slots_of(t) for t in f.N)]

    def near(self, fact, values, keys, template, around, dev):
        """(kind, text) of a passage that looks as if it answered."""
        rng = self.rng; group = fact.group; keyed = sorted(k for k in keys if self.keyed(fact, k)); siblings = self.siblings(fact, keys); kinds = []
        if keyed: kinds += ["key"] * 4 + ["rows"] * 2 + ["several"]
        if siblings: kinds += ["attribute"] * 3 + (["mixed"] * 2 if keyed else [])
        if fact.P: kinds += ["planned"] * 2
        if keyed or siblings: kinds += ["corrected"]
        if "p" in keys: kinds += ["mentioned"]
        if not kinds: return None
        kind = rng.choice(kinds)
        if rng.random() < .5: around = self.around(group, dev)
        if kind in ("key", "mixed", "rows"): key = rng.choice(sorted(keyed))
        same = template if rng.random() < .7 or kind == "key" and not all(keys <= slots_of(t) for t in fact.N) else rng.choice(fact.N)
        sibling = lambda v: self.note(f := rng.choice(siblings), Values(group, rng, v), rng.choice([t for t in f.N if keys <= slots_of(t)]))
        if kind == "key": part = self.note(fact, self.changed(fact, values, key), same)
        elif kind == "rows": part = self.rows(fact, values, key, keys, False)
        elif kind == "several": parts = [self.note(fact, self.changed(fact, values, rng.choice(keyed)), rng.choice(fact.N)) for _ in range(rng.randint(2, 3))]; part = joined(group.lang, parts, rng)
        elif kind == "attribute": part = sibling(values)
        elif kind == "corrected":
            other = rng.choice(siblings) if siblings and (not keyed or rng.random() < .5) else fact; new = values if other is not fact else self.changed(fact, values, rng.choice(keyed))
            new = Values(group, rng, new); old = Values(group, rng, new); old[other.slot] = nearby(group, other.slot, new[other.slot], rng)
            if other is fact: old[fact.slot] = self.changed(fact, values, fact.slot)[fact.slot]
            first, second, _ = self.correction(other, old, new); part = joined(group.lang, [(first, None), (second, None)], rng)
        elif kind == "mentioned": part = fill(group, rng.choice([t for t in group.lang.lists["fill"] if "{p" in t]), Values(group, rng, {"p": values["p"]}), rng)
        elif kind == "mixed": parts = [sibling(values), self.note(fact, self.changed(fact, values, key), same)]; rng.shuffle(parts); part = joined(group.lang, parts, rng)
        else: new = Values(group, rng, values); new[fact.slot] = nearby(group, fact.slot, values[fact.slot], rng); part = fill(group, rng.choice(fact.P), new, rng)
        return kind, self.wrapped(group, part, around)[0]

    def list(self, fact, asking=None):
        """One list. `asking`: the same fact in another language, which words the question."""
        rng = self.rng; group = fact.group; asker = asking or fact; dev = group.dev
        template = rng.choice(fact.N); fitting = [q for q in asker.Q if slots_of(q) <= slots_of(template)]
        if not fitting: return None
        question = rng.choice(fitting); keys = slots_of(question); values = Values(group, rng); values[fact.slot]
        for s in sorted(slots_of(template)): values[s]
        q = fill(asker.group, question, values, rng)[0]
        if rng.random() < .2: q = q.rstrip("?？؟; ") if rng.random() < .6 else q.lower() if len(q.lower()) == len(q) and asker.group.lang.code not in ("tr", "de") else q
        answerable = rng.random() < .5; around = self.around(group, dev); d = []
        if answerable:
            text, span = self.right(fact, values, keys, template, around, dev); d.append(text); gold = text[span[0]:span[1]]
            value = written(group, fact.slot, values[fact.slot], None, rng) if base(fact.slot) not in ("date",) else None
            if not span or not gold: raise ValueError(f"{group.lang.code}/{group.name}: no span in {text!r}")
        wanted = rng.randint(2, 4) + (not answerable); found = 0
        for _ in range(30):
            if found == wanted: break
            made = self.near(fact, values, keys, template, around, dev)
            if made is None: break
            _, text = made
            if text in d or answerable and contains(text, gold): continue
            d.append(text); found += 1
        if not found: return None
        for _ in range(rng.randint(1, 2)):
            other = self.stranger(group, dev); before, after, glue = self.around(group, dev); kept = lambda texts: [t for t in texts if t != other]
            text = self.wrapped(group, (other, None), (kept(before), kept(after), glue))[0]
            if text not in d and not (answerable and contains(text, gold)): d.append(text)
        out = {"g": "made-" + ("cross" if asking else group.lang.code), "q": q, "d": d, "rank": 1 if answerable else None, "answers": [int(answerable)] + [0] * (len(d) - 1), "span": list(span) if answerable else None}
        if answerable:
            assert 0 <= span[0] < span[1] <= len(d[0]) and gold == gold.strip() and not any(contains(t, gold) for t in d[1:]), out
            if value and base(fact.slot) not in ("day", "onday", "month") and isinstance(values[fact.slot], (str, int)) and group.lang.code not in FORMS: assert str(values[fact.slot]) in gold.replace(".", "") or str(values[fact.slot]) in gold, out
        if dev: out["dev"] = True
        return out

    def pair(self, fact):
        """Two notes, and what the newer is to the older."""
        rng = self.rng; group = fact.group; lang = group.lang; values = Values(group, rng); template = rng.choice(fact.N)
        for s in sorted(slots_of(template) | {fact.slot}): values[s]
        other = Values(group, rng, values); other[fact.slot] = nearby(group, fact.slot, values[fact.slot], rng)
        keys = set.intersection(*[slots_of(q) for q in fact.Q]) or set.union(*[slots_of(q) for q in fact.Q]); keyed = sorted(k for k in keys if all(k in slots_of(t) for t in fact.N))
        siblings = self.siblings(fact, keys); a = self.note(fact, values, template)[0]; full = [t for t in fact.N if keys <= slots_of(t)] or fact.N
        label = rng.choice(("supersedes", "duplicates", "refines", "none", "none")); b = None; how = rng.random()
        if label == "supersedes":
            if how < .2 and fact.slot not in group.slots:
                old, new = (written(group, fact.slot, v[fact.slot], None, rng) for v in (values, other))
                if f"{old}" in a: b = rng.choice(lang.lists["bare"]).replace("#", new).replace("@", old)
            elif how < .4 and fact.C and "ev" not in fact.flags: b = self.note(fact, other, rng.choice(full))[0]
            if b is None: _, b, _ = self.correction(fact, values, other)
        elif label == "duplicates":
            b = self.note(fact, values, rng.choice(full))[0]
            if rng.random() < .3 or b == a: b = rng.choice(lang.lists["again"]).replace("#", b)
        elif label == "refines":
            if fact.D and how < .6: b = joined(lang, [self.note(fact, values, rng.choice(full)), fill(group, rng.choice(fact.D), values, rng)], rng, " ")[0]
            elif siblings and how < .8: b = joined(lang, [self.note(fact, values, rng.choice(full)), self.note(rng.choice(siblings), Values(group, rng, values))], rng, " ")[0]
            else: b = joined(lang, [self.note(fact, values, rng.choice(full)), fill(group, rng.choice(lang.lists["detail"]), Values(group, rng), rng)], rng, " ")[0]
        else:
            if how < .4 and keyed: b = self.note(fact, self.changed(fact, values, rng.choice(keyed), rng.random() < .2), template if rng.random() < .6 else rng.choice(full))[0]
            elif how < .6 and siblings: b = self.note(rng.choice(siblings), Values(group, rng, values))[0]
            elif how < .75 and fact.P:
                plan = fill(group, rng.choice(fact.P), values if rng.random() < .3 else other, rng)[0]; a, b = (plan, a)
            elif "habit" in fact.flags and "exc" in lang.lists:
                new = written(group, fact.slot, other[fact.slot], None, rng); b = fill(group, rng.choice(lang.lists["exc"]).replace("#", new), Values(group, rng), rng)[0]
            else: b = self.stranger(group, group.dev)
        if not b or a == b: return None
        out = {"a": a, "b": b, "label": label, "lang": lang.code}
        if group.dev: out["dev"] = True
        return out


def contains(text, value):
    """Whether a value stands in a text, not as a part of a longer word or number."""
    edge = r"(?<![^\W_])", r"(?![^\W_])"
    if re.search(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]", value): edge = "", ""
    return re.search(edge[0] + re.escape(value) + edge[1], text, re.I) is not None


def check(languages):
    """Counts the frames, and says what is wrong with them."""
    rng = random.Random(3); wrong = []
    for lang in languages:
        for key, least in (("m", 30), ("f", 30), ("last", 60), ("place", 40), ("fill", 12), ("corr", 3), ("bare", 3), ("again", 2), ("detail", 3), ("month", 12), ("day", 7), ("date", 1), ("price", 1)):
            n = len(set(lang.lists.get(key, [])))
            if n < least: wrong.append(f"{lang.code}: list {key} has {n} of {least}")
        for g in lang.groups:
            for f in g.facts:
                where = f"{lang.code}/{g.name}/{f.slot}"
                if len(f.N) < 3 or len(f.Q) < 3: wrong.append(f"{where}: {len(f.N)} notes, {len(f.Q)} questions")
                for t in f.N + f.C + f.P:
                    if f.slot not in slots_of(t) and t not in f.P: wrong.append(f"{where}: no answer in {t}")
                for t in f.Q:
                    if f.slot in slots_of(t): wrong.append(f"{where}: answer in {t}")
                for t in f.N:
                    if not any(slots_of(q) <= slots_of(t) for q in f.Q): wrong.append(f"{where}: no question fits {t}")
                for t in f.L:
                    if "=>" not in t or f.slot not in slots_of(t): wrong.append(f"{where}: {t}")
                for t in f.N + f.Q + f.C + f.P + f.D:
                    try: text, _ = fill(g, t, Values(g, rng), rng, f.slot)
                    except Exception as e: wrong.append(f"{where}: {e!r} in {t}"); continue
                    if re.search(r"[{}\[\]|]", text): wrong.append(f"{where}: {text}")
        print(lang.code, len(lang.groups), "subjects", len(lang.facts), "frames", sum(len(f.N) for f in lang.facts), "notes", sum(len(f.Q) for f in lang.facts), "questions", sum(g.dev for g in lang.groups), "in dev")
    print(len(languages), "languages", sum(len(l.facts) for l in languages), "frames")
    for w in wrong: print("!", w)
    return not wrong


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--count", type=int, default=60_000); p.add_argument("--out"); p.add_argument("--pairs"); p.add_argument("--pair-count", type=int)
    p.add_argument("--seed", type=int, default=7); p.add_argument("--languages"); p.add_argument("--cross", type=float, default=.12); p.add_argument("--check", action="store_true")
    a = p.parse_args(); languages = [Language(x) for x in sorted(glob.glob(os.path.join(HERE, "near_misses", "*.tsv"))) if not a.languages or os.path.basename(x)[:-4] in a.languages.split(",")]
    if a.check: sys.exit(0 if check(languages) else 1)
    rng = random.Random(a.seed); maker = Maker(languages, rng); facts = [f for lang in languages for f in lang.facts]; counted = collections.Counter()
    if a.out:
        with open(a.out, "w", encoding="utf8") as out:
            while counted["lists"] < a.count:
                fact = rng.choice(facts); asking = None
                if rng.random() < a.cross * 3 and fact.group.shared:
                    others = [g for c, g in maker.shared[fact.group.name].items() if c != fact.group.lang.code]; group = rng.choice(others) if others else None
                    asking = next((f for f in group.facts if f.slot == fact.slot and crosses(fact, f)), None) if group else None
                made = maker.list(fact, asking)
                if made is None: continue
                out.write(json.dumps(made, ensure_ascii=False) + "\n"); counted["lists"] += 1; counted["passages"] += len(made["d"]); counted["answerable"] += made["rank"] or 0; counted["dev"] += "dev" in made; counted[made["g"]] += 1
        print(dict(counted))
    if a.pairs:
        labels = collections.Counter()
        with open(a.pairs, "w", encoding="utf8") as out:
            while sum(labels.values()) < (a.pair_count or a.count):
                made = maker.pair(rng.choice(facts))
                if made: out.write(json.dumps(made, ensure_ascii=False) + "\n"); labels[made["label"]] += 1
        print(dict(labels))


def crosses(fact, other):
    """Whether the question of one language can be asked of the notes of another: the same slots, which read the same in both."""
    used = {s for q in other.Q for s in slots_of(q)}
    if not used <= {s for t in fact.N for s in slots_of(t)}: return False
    return all((base(s) not in NAMES or {fact.group.lang.code, other.group.lang.code} <= LATIN) and len(fact.group.slots.get(s, ())) == len(other.group.slots.get(s, ())) for s in used)


if __name__ == "__main__": main()
