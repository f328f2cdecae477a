// A generated corpus: notes of a fictional company, each with a fact that one question asks for. A passage depends only
// on the seed and its number, so runs can be repeated.

import type { Passage, Question } from "./passages.ts";
import { seeded } from "./seeded.ts";

const FIRST = words(
  "Ada Amir Anika Arne Bea Boris Carla Chen Dana Diego Ebba Elias Farah Felix Gita Goran Hana Hugo Ines Ivan Jana Jonas Kaia Karim Lena Luca Mara Mateo Nadia Nils Olga Omar Petra Priya Quinn Rafael Rosa Samir Sofia Tariq Uma Viktor Wanda Xenia Yara Zoltan",
);
const LAST = words(
  "Abel Baptiste Castro Dahl Eriksen Fontaine Gruber Haddad Ibarra Jansen Kimura Lindqvist Moreau Novak Okafor Pereira Quist Rossi Sato Tanaka Ulrich Varga Weber Ximenes Yilmaz Zeller Berg Costa Duarte Ferrer Halloran Ivers Keller Lorenz Mercer Nyberg Orlov Petrov Rahman Silva",
);
const PLACES = words(
  "Arnhem Bergen Cork Dresden Espoo Faro Ghent Haifa Izmir Jerez Kiruna Leeds Malmo Nantes Oulu Porto Quito Riga Sibiu Turin Utrecht Vigo Wroclaw York Zadar Aalborg Bilbao Cadiz Delft Essen",
);
const COMPANIES = words(
  "Alder Birch Cobalt Delta Ember Fjord Granite Harbour Indigo Juniper Kestrel Lantern Maple North Orchid Pioneer Quartz Raven Summit Timber",
);
const BRANCHES = words("Logistics Foods Energy Textiles Instruments Pharma Rail Printing Ceramics Robotics");
const THINGS = words(
  "pump valve sensor gearbox conveyor compressor thermostat turbine furnace scanner printer forklift generator filter crane mixer boiler switchboard freezer loom lathe kiln camera router battery chimney elevator ladder pallet trolley",
);
const QUALITIES = words(
  "red blue grey green old new spare broken heavy portable silent rusty western eastern upper lower narrow wide digital manual",
);
const DEEDS: readonly (readonly [did: string, act: string])[] = [
  ["replaced", "replace"],
  ["inspected", "inspect"],
  ["ordered", "order"],
  ["repaired", "repair"],
  ["sold", "sell"],
  ["installed", "install"],
  ["returned", "return"],
  ["calibrated", "calibrate"],
  ["cleaned", "clean"],
  ["insured", "insure"],
];
const MONTHS = words("January February March April May June July August September October November December");
const TOPICS = words("maintenance delivery budget safety training audit travel contract quality inventory");

/** Sentences that surround the fact. */
const FILLERS: readonly ((draw: Draw) => string)[] = [
  (draw) =>
    `The ${draw(QUALITIES)} ${draw(THINGS)} had been noisy since the ${draw(TOPICS)} review in ${draw(MONTHS)}.`,
  (draw) => `${draw(FIRST)} asked whether the ${draw(THINGS)} could wait until the ${draw(TOPICS)} meeting was over.`,
  (draw) => `Nobody in ${draw(PLACES)} remembered who had signed the ${draw(TOPICS)} form for the ${draw(THINGS)}.`,
  (draw) => `A supplier from ${draw(PLACES)} offered a ${draw(QUALITIES)} ${draw(THINGS)} at a lower price.`,
  (draw) => `The weather in ${draw(PLACES)} delayed the ${draw(TOPICS)} team, and the ${draw(THINGS)} arrived late.`,
  (draw) => `According to the ${draw(TOPICS)} report, every ${draw(THINGS)} needs a check before ${draw(MONTHS)}.`,
  (draw) => `${draw(FIRST)} ${draw(LAST)} prefers the ${draw(QUALITIES)} model because it is easier to lift.`,
  (draw) => `The invoice was sent twice, so accounting asked ${draw(COMPANIES)} ${draw(BRANCHES)} to cancel one copy.`,
  (draw) => `During the night shift the ${draw(THINGS)} stopped, but the ${draw(THINGS)} next to it kept running.`,
  (draw) =>
    `Two people from ${draw(COMPANIES)} ${draw(BRANCHES)} visited the site and took photographs of the ${draw(THINGS)}.`,
];
/** Number of values of `metadata.part`, which are equally frequent. */
export const GENERATED_PARTS = 1_000;
const FILLERS_MAX = 7;
/** Factor that puts the seeds of passages with neighbouring numbers far apart, so that the passages are unlike. */
const STRIDE = 0x9e37_79b1;

type Draw = <Item>(items: readonly Item[]) => Item;

/** Passage number `n` of the corpus with this seed. */
export function generatedPassage(seed: number, n: number): Passage {
  const { fact, draw } = drawFact(seed, n);
  const count = 1 + Math.floor(draw([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) * (FILLERS_MAX / 10));
  const around = Array.from({ length: count }, () => draw(FILLERS)(draw));
  const before = Math.floor(around.length / 2);
  const content = [...around.slice(0, before), fact.sentence, ...around.slice(before)].join(" ");
  return {
    id: `generated-${n}`,
    title: fact.title,
    content,
    userId: null,
    type: null,
    metadata: { part: n % GENERATED_PARTS, topic: fact.topic },
  };
}

/** A question whose answer is in passage number `n`. */
export function generatedQuestion(seed: number, n: number): Question {
  const { fact } = drawFact(seed, n);
  const id = `generated-${n}`;
  return { id: `question-${n}`, text: fact.question, userId: null, asOf: null, judgements: new Map([[id, 1]]) };
}

function drawFact(seed: number, n: number) {
  const chance = seeded((seed ^ Math.imul(n + 1, STRIDE)) >>> 0);
  const draw: Draw = (items) => items[Math.floor(chance() * items.length)] as (typeof items)[number];
  const [who, place, thing] = [`${draw(FIRST)} ${draw(LAST)}`, draw(PLACES), `${draw(QUALITIES)} ${draw(THINGS)}`];
  const [company, topic] = [`${draw(COMPANIES)} ${draw(BRANCHES)}`, draw(TOPICS)];
  const [did, act] = draw(DEEDS);
  const date = `${1 + Math.floor(chance() * 28)} ${draw(MONTHS)} ${2015 + Math.floor(chance() * 11)}`;
  const code = `${company.slice(0, 2).toUpperCase()}-${1000 + Math.floor(chance() * 9000)}`;
  const sentence = `On ${date}, ${who} of ${company} ${did} the ${thing} in ${place} under order ${code}.`;
  const questions = [
    `When did ${who} ${act} the ${thing} in ${place}?`,
    `Who ${did} the ${thing} of ${company} in ${place}?`,
    `Under which order was the ${thing} in ${place} ${did} by ${who}?`,
  ];
  const title = `${company}: ${topic} note from ${place}`;
  return { fact: { title, topic, sentence, question: draw(questions) }, draw };
}

function words(text: string): readonly string[] {
  return text.split(" ");
}
