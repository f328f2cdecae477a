// Divides questions for several things, in many languages; questions for one thing stay whole.

import { describe, expect, test } from "bun:test";
import { questionParts } from "../../src/answer/question-parts.ts";

describe("a question for several things is divided", () => {
  test.each([
    ["Who is my dentist and how much is the rent?", ["Who is my dentist", "how much is the rent?"]],
    ["Where is the workshop? And when does it open?", ["Where is the workshop?", "And when does it open? (workshop)"]],
    ["What is the code of the gate, and at what time does it close?", null],
    ["Where does Rosa live and how old is she?", ["Where does Rosa live", "how old is she? (Rosa, live)"]],
    ["Wer ist mein Zahnarzt und wo wohnt Oma Rosa?", ["Wer ist mein Zahnarzt", "wo wohnt Oma Rosa?"]],
    ["Wie heißt der Hund und um wie viel Uhr beginnt der Kurs?", null],
    ["Qui est mon dentiste et où habite Rosa ?", ["Qui est mon dentiste", "où habite Rosa ?"]],
    ["À quelle heure part le train et combien coûte le billet ?", null],
    ["¿Quién es mi dentista y dónde vive la abuela?", ["¿Quién es mi dentista", "dónde vive la abuela?"]],
    ["Chi è il mio dentista e quanto pago di affitto?", null],
    ["Wie is mijn tandarts en waar woont oma?", ["Wie is mijn tandarts", "waar woont oma?"]],
    ["Quem é o meu dentista e onde mora a avó?", null],
    ["Кто мой стоматолог и где живёт бабушка?", ["Кто мой стоматолог", "где живёт бабушка?"]],
    ["Kto jest moim dentystą i gdzie mieszka babcia?", null],
    ["Vem är min tandläkare och var bor mormor?", ["Vem är min tandläkare", "var bor mormor?"]],
    ["Dişçim kim ve kira ne kadar?", ["Dişçim kim", "kira ne kadar?"]],
    ["مِن هو طبيب الأسنان و أين تسكن جدتي؟", null],
    ["Where do I work and what is the dog called?", ["Where do I work", "what is the dog called?"]],
    ["Siapa dokter gigi saya dan di mana nenek tinggal?", null],
    ["Where do I work, and what is the dog called, and who is the vet?", null],
  ])("%s", (question, parts) => {
    const found = questionParts(question).map(({ query }) => query);
    if (parts === null) expect(found.length).toBeGreaterThan(1);
    else expect(found).toEqual(parts);
  });
});

describe("a question for one thing stays whole", () => {
  test.each([
    ["When and where is the meeting?"],
    ["How and why did Ben leave?"],
    ["Who are Ben and Ada?"],
    ["What do Ben and Ada do when it rains?"],
    ["Where is the shop for bread and butter?"],
    ["What is the wifi password of cabins 4 and 9?"],
    ["When did we paint the fence and the gate?"],
    ["Wo sind Ben und Ada, wenn es regnet?"],
    ["Was mögen Oma und Opa?"],
    ["I will be in Porto on Friday and where should I eat?"],
    ["Where is my passport? I need it urgently."],
    ["Where is Mr. Smith"],
    ["dentist and rent"],
    ["¿Qué comen el perro y el gato?"],
    ["Où sont le chien et le chat ?"],
    ["我的牙医是谁？"],
    ["who, what, when and where"],
    [""],
    ["?"],
    ["Who?".repeat(200)],
    ["What is A? What is B? What is C? What is D?"],
    ["Which one is it? ? ?"],
  ])("%s", (question) => {
    expect(questionParts(question)).toEqual([]);
  });
});
