"""Makes the pages of bench/ocr.ts: 36 pages of nine languages with known texts, clean and with defects.

    python3 bench/ocr-pages.py FOLDER

Needs Pillow and numpy, and the fonts DejaVu and Noto CJK (Debian: fonts-dejavu, fonts-noto-cjk).
"""

import json
import os
import random
import sys

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

DEJAVU = "/usr/share/fonts/truetype/dejavu/"
CJK = "/usr/share/fonts/opentype/noto/NotoSerifCJK-Regular.ttc"
# A4 at 200 dots per inch
WIDTH, HEIGHT = 1654, 2339
LINE_HEIGHT = 48
LAYOUTS = ["one", "two", "table"]
DEFECTS = ["clean", "rotated", "noise", "blur", "shadow", "photo"]
RANDOM = random.Random(7)
TEXTS = {
    'en': "The harbour library opened its reading room on 14 March. Visitors borrowed 2,317 books in the first month, above all novels and guides. The association painted the shelves and repaired two hundred volumes. Its sale in June brought £1,840, which paid for a new scanner. Anyone who wants to help can write to the desk or ring 020 7946 0018 between nine and noon.",
    'de': "Die Bücherei am Hafen öffnete am 14. März ihren Lesesaal. Im ersten Monat wurden 2.317 Bücher ausgeliehen, vor allem Romane und Reiseführer. Der Förderverein strich die Regale und besserte zweihundert Bände aus. Der Verkauf im Juni brachte 1.840 €, wovon ein Scanner bezahlt wurde. Wer mithelfen möchte, schreibt an die Auskunft oder ruft zwischen neun und zwölf Uhr an.",
    'fr': "La bibliothèque du port a ouvert sa salle de lecture le 14 mars. Les lecteurs ont emprunté 2 317 livres dès le premier mois, surtout des romans et des guides. L'association a repeint les étagères et réparé deux cents volumes. La vente de juin a rapporté 1 840 €, ce qui a payé un nouveau numériseur. Écrivez à l'accueil ou téléphonez entre neuf heures et midi.",
    'es': "La biblioteca del puerto abrió su sala de lectura el 14 de marzo. Los visitantes se llevaron 2.317 libros en el primer mes, sobre todo novelas y guías. La asociación pintó los estantes y reparó doscientos volúmenes. La venta de junio dio 1.840 €, con los que se pagó un escáner. ¿Quiere ayudar? Escriba a la recepción o llame entre las nueve y el mediodía.",
    'it': "La biblioteca del porto ha aperto la sala di lettura il 14 marzo. I visitatori hanno preso in prestito 2.317 libri già nel primo mese, perlopiù romanzi e guide. L'associazione ha ridipinto gli scaffali e riparato duecento volumi. La vendita di giugno ha fruttato 1.840 €, serviti per lo scanner. Chi vuole aiutare scriva alla reception o telefoni tra le nove e mezzogiorno.",
    'pt': "A biblioteca do porto abriu a sua sala de leitura em 14 de março. Os visitantes levaram 2.317 livros no primeiro mês, sobretudo romances e guias. A associação pintou as estantes e reparou duzentos volumes. A venda de junho rendeu 1.840 €, que pagaram um novo digitalizador. Quem quiser ajudar não precisa de inscrição: escreva à receção ou telefone até ao meio-dia.",
    'pl': "Biblioteka w porcie otworzyła czytelnię 14 marca. W pierwszym miesiącu wypożyczono 2317 książek, przede wszystkim powieści i przewodniki. Stowarzyszenie pomalowało półki i naprawiło dwieście tomów. Sprzedaż w czerwcu przyniosła 1840 zł, za które kupiono skaner. Kto chce pomóc, niech napisze do dyżurki albo zadzwoni między dziewiątą a dwunastą, także w święta.",
    'ja': "港の図書館は三月十四日に閲覧室を開いた。最初の月に2317冊の本が貸し出され、多くは小説と旅行案内であった。友の会は書棚を塗り直し、二百冊を修理した。六月の販売会では18,400円が集まり、新しいスキャナーの代金になった。手伝いたい人は受付に手紙を書くか、九時から正午までに電話をかけてください。",
    'zh': "港口图书馆于三月十四日开放了阅览室。第一个月共借出2317册图书，其中大多是小说和旅行指南。读者协会粉刷了书架，修补了二百册旧书。六月的义卖筹得18400元，用来购买新的扫描仪。愿意帮忙的人可以写信给服务台，或者在上午九点到中午十二点之间打电话。",
}


def is_cjk(lang):
    return lang in ("ja", "zh")


def font_of(lang):
    """The font of a page: Noto for Japanese and Chinese, one of two of DejaVu for other languages."""
    if is_cjk(lang):
        return ImageFont.truetype(CJK, 30, index=0 if lang == "ja" else 2)
    return ImageFont.truetype(DEJAVU + RANDOM.choice(["DejaVuSerif.ttf", "DejaVuSans.ttf"]), 30)


def wrapped(draw, text, font, width, has_words):
    """The lines of a text that are at most `width` pixels wide. A text without words is cut between characters."""
    lines = []
    line = ""
    for part in text.split(" ") if has_words else list(text):
        longer = (line + " " + part).strip() if has_words else line + part
        if draw.textlength(longer, font=font) > width and line:
            lines.append(line)
            line = part
        else:
            line = longer
    return lines + [line]


def page(lang, layout):
    """A clean page, and the blocks of its text."""
    image = Image.new("L", (WIDTH, HEIGHT), 255)
    draw = ImageDraw.Draw(image)
    font = font_of(lang)
    text = TEXTS[lang]

    def write(x, y, content):
        draw.text((x, y), content, font=font, fill=20)

    def paragraph(x, y, width):
        """Writes the text; returns the y where the next paragraph can begin."""
        for line in wrapped(draw, text, font, width, not is_cjk(lang)):
            write(x, y, line)
            y += LINE_HEIGHT
        return y + 40

    if layout == "one":
        y = 180
        for _ in range(3):
            y = paragraph(160, y, 1330)
        return image, [text] * 3
    if layout == "two":
        for x in (130, 870):
            y = 180
            for _ in range(2):
                y = paragraph(x, y, 640)
        return image, [text] * 4
    y = paragraph(160, 180, 1330) + 20
    blocks = [text]
    for _ in range(9):
        cells = [
            f"A-{RANDOM.randint(100, 999)}",
            str(RANDOM.randint(10, 9999)),
            f"{RANDOM.randint(1, 999)}.{RANDOM.randint(0, 99):02}",
            RANDOM.choice(["red", "blue", "green"]),
        ]
        for x, cell in zip((160, 520, 860, 1200), cells):
            write(x, y, cell)
        blocks += cells
        y += 54
    return image, blocks


def with_defect(image, kind):
    """The page as a bad scanner or a camera would see it."""
    grey = np.asarray(image).astype(np.float32)
    noise = np.random.RandomState(3)
    if kind == "rotated":
        return image.rotate(RANDOM.uniform(-3, 3), resample=Image.BICUBIC, fillcolor=250)
    if kind == "noise":
        return picture(grey + noise.normal(0, 28, grey.shape))
    if kind == "blur":
        return image.filter(ImageFilter.GaussianBlur(1.6))
    if kind == "shadow":
        across = np.linspace(1, 0.45, grey.shape[1])[None, :]
        return picture(grey * (across * np.linspace(1, 0.8, grey.shape[0])[:, None]))
    if kind == "photo":
        width, height = image.size
        corners = [(0, 0), (width, 0), (width, height), (0, height)]
        seen = [(60, 90), (width - 140, 30), (width - 20, height - 60), (20, height - 140)]
        coefficients = perspective(corners, seen)
        tilted = image.transform((width, height), Image.PERSPECTIVE, coefficients, Image.BICUBIC, fillcolor=90)
        darkened = np.asarray(tilted).astype(np.float32) * np.linspace(0.75, 1, width)[None, :]
        return picture(darkened + noise.normal(0, 8, darkened.shape)).filter(ImageFilter.GaussianBlur(0.8))
    return image


def picture(grey):
    return Image.fromarray(np.clip(grey, 0, 255).astype("uint8"))


def perspective(corners, seen):
    """The eight coefficients with which Pillow moves the corners of a picture to where they are seen."""
    rows = []
    values = []
    for (x, y), (u, v) in zip(corners, seen):
        rows += [[u, v, 1, 0, 0, 0, -x * u, -x * v], [0, 0, 0, u, v, 1, -y * u, -y * v]]
        values += [x, y]
    return np.linalg.solve(np.array(rows, float), np.array(values, float))


def main(folder):
    os.makedirs(folder, exist_ok=True)
    for i, lang in enumerate(TEXTS):
        for j in range(4):
            layout = LAYOUTS[(i + j) % 3]
            kind = DEFECTS[(i * 4 + j) % 6]
            image, blocks = page(lang, layout)
            name = f"{folder}/{lang}-{layout}-{kind}"
            with_defect(image, kind).save(f"{name}.png")
            with open(f"{name}.json", "w", encoding="utf-8") as file:
                json.dump(blocks, file, ensure_ascii=False)
    print(4 * len(TEXTS), "pages")


if __name__ == "__main__":
    main(sys.argv[1])
