// The kind of answer that a question asks for, and texts that hold nothing of this kind.

import { describe, expect, test } from "bun:test";
import { type AnswerKind, askedKind } from "../../src/answer/asked-kind.ts";
import { holdsKind, lacksAskedKind } from "../../src/answer/kind-evidence.ts";

describe("askedKind", () => {
  const questions: readonly (readonly [kind: AnswerKind | null, ...questions: readonly string[]])[] = [
    ["phone", "What is Dr Ruiz's phone number?", "phone number of Ida", "Wie lautet die Telefonnummer von Ida?"],
    [
      "phone",
      "numéro de téléphone de Léa",
      "¿teléfono de la doctora Ruiz?",
      "telefone da Ana",
      "telefoonnummer van Ida",
    ],
    [
      "phone",
      "numero di telefono di Ida",
      "номер телефона Иды",
      "numer telefonu do Idy",
      "Ida'nın telefon numarası ne?",
    ],
    [
      "phone",
      "牙医的电话是多少？",
      "田中さんの電話番号は？",
      "이다 전화번호 좀",
      "ما رقم هاتف ليلى؟",
      "रवि का मोबाइल नंबर क्या है?",
    ],
    ["phone", "Berapa nomor telepon Ida?"],
    [
      "age",
      "How old is Turbo?",
      "wie alt ist Turbo?",
      "quel âge a Turbo ?",
      "¿Cuántos años tiene Turbo?",
      "hoe oud is Turbo",
    ],
    [
      "age",
      "Quantos anos tem o Turbo?",
      "Quanti anni ha Turbo?",
      "Сколько лет Турбо?",
      "ile lat ma Turbo",
      "Turbo kaç yaşında?",
    ],
    ["age", "小明几岁？", "タマは何歳？", "린은 몇 살이야?", "كم عمر ليلى؟", "Turbo umur berapa tahun?"],
    [
      "price",
      "How much did the tent cost?",
      "was hat das Zelt gekostet?",
      "combien coûte la tente ?",
      "¿cuánto costó la tienda?",
    ],
    ["price", "quanto custou a tenda?", "quanto costa la tenda?", "hoeveel kost de tent?", "сколько стоила палатка?"],
    [
      "price",
      "ile kosztował namiot?",
      "帐篷多少钱？",
      "テントはいくら？",
      "텐트 얼마야?",
      "كم سعر الخيمة؟",
      "harga tenda berapa?",
    ],
    ["price", "What is Ida's salary?", "तंबू कितने में खरीदा?", "çadırın fiyatı ne kadar?"],
    [
      "birthday",
      "When is Ida's birthday?",
      "wann hat Ida Geburtstag?",
      "date de naissance de Léa",
      "когда день рождения Иды?",
    ],
    [
      "birthday",
      "¿cuándo es el cumpleaños de Ida?",
      "quando è il compleanno di Ida",
      "kiedy urodziny Idy?",
      "小明的生日是哪天",
    ],
    ["birthday", "Ida'nın doğum günü ne zaman?", "誕生日は？", "रवि का जन्मदिन कब है?", "متى عيد ميلاد ليلى؟"],
    ["email", "what is Ida's e-mail address"],
    ["surname", "what's Ida's surname", "wie ist der Nachname von Ida", "фамилия Иды"],
    ["plate", "what's the licence plate of the van", "rejestracja Scanii", "Kennzeichen vom Golf"],
    ["colour", "what colour is the van?", "Welche Farbe hat das Auto?", "какого цвета машина"],
    ["weekday", "which day of the week is choir?", "サッカーは何曜日？"],
    ["time", "what time does choir start?", "Um wie viel Uhr ist Chor?", "à quelle heure est la chorale ?"],
    ["breed", "what breed is Turbo", "какой породы Турбо"],
    ["address", "what is Ida's new address?"],
    ["measure", "how tall is the tower?", "Welche Schuhgröße hat Ida?"],
    ["year", "what year is the van?", "в каком году мы переехали"],
    ["name", "which hotel was it?", "what is the hostel called?", "comment s'appelle le médecin ?"],
    [
      null,
      "Who is Ida?",
      "Wer ist Ida?",
      "Who bought the boat?",
      "Do I have Ida's phone number?",
      "Hat Ida eine Telefonnummer?",
      "Tell me about Ida",
      "",
      "?",
      "🎉",
      "x",
    ],
    [null, "Why did Ida change her phone number?", "How did the salary talk end?", "telephone password hint"],
  ];
  for (const [kind, ...texts] of questions) {
    for (const text of texts) test(`${kind}: ${text}`, () => expect(askedKind(text)).toBe(kind));
  }
});

describe("holdsKind", () => {
  const texts: readonly (readonly [kind: AnswerKind, holding: readonly string[], lacking: readonly string[]])[] = [
    [
      "phone",
      ["Ida: 030 1234", "call 555-0199", "her number is in the blue book"],
      ["Room 12, on 2024-05-01", "Ida, 1234"],
    ],
    ["email", ["ida@mail.example"], ["Ida has mail"]],
    [
      "age",
      ["Ida turned 34", "Ida, 34", "born in 1990", "小明八岁"],
      ["34 kg", "at 17:30", "room 34", "£34", "bought in 1990"],
    ],
    ["price", ["£34", "34 euros", "paid 180 cash", "一学期1800元", "1,350"], ["room 34", "34 kg", "in 2019", "3 May"]],
    [
      "birthday",
      ["Ida's birthday: 3 May", "geboren am 3.5.1990", "生日六月三十日"],
      ["the dentist on 3 May", "birthday cake"],
    ],
    ["colour", ["a teal van", "ein rotes Auto", "мятный самокат"], ["a fast van"]],
    ["plate", ["KS DB 123", "HXM 330", "the plate is in the glove box"], ["Vespa 125, from 1982"]],
    ["weekday", ["every tuesday", "周六上午"], ["on 3 May"]],
    ["time", ["at half seven", "at noon", "17:30"], ["in the hall"]],
    ["breed", ["a kelpie mix", "Dackel"], ["a loud dog"]],
    ["address", ["12 Oak Street", "Dere Sokak"], ["near the sea"]],
    ["measure", ["2.5 m", "size M", "三百米"], ["from 1971", "on 2 May"]],
    ["year", ["since 2012", "two years ago", "last year"], ["in spring"]],
    ["password", ["pw on the fridge", "Karen2"], ["the router is upstairs"]],
    ["name", ["The doctor is Ruiz.", "no capitals here", "医生"], ["It is."]],
  ];
  for (const [kind, holding, lacking] of texts) {
    for (const text of holding) test(`${kind}: ${text}`, () => expect(holdsKind(text, kind, "?")).toBe(true));
    for (const text of lacking) test(`not ${kind}: ${text}`, () => expect(holdsKind(text, kind, "?")).toBe(false));
  }

  test("what the question itself says does not count", () => {
    expect(holdsKind("Audi 100, well kept", "price", "How much did the Audi 100 cost?")).toBe(false);
    expect(holdsKind("The red van is loud.", "colour", "What colour is the red van's roof?")).toBe(false);
    expect(holdsKind("Ida teaches.", "name", "Who is Ida?")).toBe(false);
  });

  test("a surname stands behind the name, a first name before it", () => {
    expect(holdsKind("Our coach is Ida Holm.", "surname", "What is Ida's surname?")).toBe(true);
    expect(holdsKind("Our coach is Ida, from Oslo.", "surname", "What is Ida's surname?")).toBe(false);
    expect(holdsKind("Our coach is Ida Holm.", "first name", "What is the first name of coach Holm?")).toBe(true);
    expect(holdsKind("our coach is ida", "surname", "what is ida's surname?")).toBe(true);
  });
});

describe("lacksAskedKind", () => {
  const lacks = (question: string, ...texts: readonly string[]) => lacksAskedKind(question, question, texts);

  test("only if no text has the kind of thing that is asked for", () => {
    expect(lacks("What is Dr Ruiz's phone number?", "Dr Ruiz is the dentist.")).toBe(true);
    expect(lacks("What is Dr Ruiz's phone number?", "Dr Ruiz is the dentist.", "Dr Ruiz: 030 1234")).toBe(false);
    expect(lacks("Wie alt ist Turbo?", "Turbo mag Karotten.")).toBe(true);
    expect(lacks("Turbo kaç yaşında?", "Turbo havuç sever.")).toBe(true);
  });

  test("never if the kind is unknown", () => {
    for (const question of ["What about Dr Ruiz?", "Ist Turbo alt?", "Dr Ruiz", "", "Tell me more"]) {
      expect(lacks(question, "Dr Ruiz is the dentist.")).toBe(false);
    }
  });

  test("a text about somebody else does not count, unless none is about the one who is asked for", () => {
    expect(lacks("How old is Turbo?", "Turbo likes carrots.", "My brother Ben turned 34.")).toBe(true);
    expect(lacks("How old is Turbo?", "The hamster likes carrots.", "My brother Ben turned 34.")).toBe(false);
    expect(lacks("Сколько лет Егору?", "Племянник Егор любит лего.", "Глебу 12 лет")).toBe(true);
  });

  test("with a relative clause every text counts, because the one who is asked for is not named", () => {
    expect(lacks("How old is the girl who came to Rome?", "Mia came to Rome.", "Mia turned 12.")).toBe(false);
  });

  test("names of a follow-up question come from the conversation", () => {
    const texts = ["Dr Ruiz is the dentist.", "Ben: 030 12345"];
    expect(lacksAskedKind("And the phone number?", "And the phone number? (Dr Ruiz)", texts)).toBe(true);
  });

  test("no text at all has no kind", () => {
    expect(lacks("How old is Turbo?")).toBe(true);
    expect(lacks("Tell me about Turbo")).toBe(false);
  });

  test("long texts take linear time", () => {
    const long = "Turbo likes 3 carrots and the Red Barn. ".repeat(20_000);
    expect(lacks("What is the phone number of Turbo?", long)).toBe(true);
    expect(askedKind("what is ".repeat(20_000))).toBeNull();
  });

  test("is read within the first 2,000 characters", () => {
    const kind = askedKind("What year was it?");
    expect(kind).not.toBeNull();
    expect(askedKind(`${"x".repeat(1_982)} What year was it?`)).toBe(kind);
    expect(askedKind(`${"x".repeat(1_996)} What year was it?`)).toBeNull();
  });
});
