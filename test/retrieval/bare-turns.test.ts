// Which turns of a conversation say nothing of their own.

import { expect, test } from "bun:test";
import { isBareTurn } from "../../src/retrieval/bare-turns.ts";

test.each([
  ["en", "ok thanks, that helps"],
  ["en", "Go on."],
  ["en", "tell me more about the gutter"],
  ["en", "Great! And then?"],
  ["de", "Alles klar, vielen Dank!"],
  ["de", "Erzähl mir mehr über die Dachrinne."],
  ["fr", "Super, merci beaucoup"],
  ["fr", "Continue, s'il te plaît."],
  ["es", "Perfecto, muchas gracias"],
  ["es", "cuéntame más sobre el canalón"],
  ["it", "Grazie, tutto chiaro. E poi?"],
  ["pt", "Beleza, obrigada!"],
  ["nl", "Prima, dank je. Ga door"],
  ["pl", "Dzięki, dobrze"],
  ["ru", "Спасибо, понятно. А дальше?"],
  ["tr", "Tamam, teşekkürler"],
  ["ar", "حسنا، شكرا"],
  ["hi", "ठीक है, धन्यवाद"],
  ["ja", "ありがとうございます。続けてください"],
  ["zh", "好的，谢谢，然后呢？"],
  ["ko", "네, 고마워요. 계속해 주세요"],
  ["und", "👍"],
])("%s: %p says nothing", (language, spoken) => {
  expect(isBareTurn(spoken, language)).toBe(true);
});

test.each([
  ["en", "I'm allergic to nuts."],
  ["en", "Call me Alex."],
  ["en", "Yes, 25."],
  ["en", "Thanks, Marta is coming too."],
  ["en", "No, the blue one."],
  ["en", "Tell me more about the gutter on the north side, it leaks"],
  ["en", `Thanks. ${"Then more. ".repeat(10)}`],
  ["de", "Danke, wir ziehen nach Lund."],
  ["de", "Nein, Eiche."],
  ["fr", "Merci, mon fils arrive demain."],
  ["es", "Sí, soy celíaca."],
  ["it", "Grazie, ho scelto il rovere."],
  ["pt", "Ok, comprei o trator."],
  ["nl", "Dank je, Marta komt ook."],
  ["pl", "Dziękuję, kupiłem ciągnik."],
  ["ru", "Спасибо, я купил трактор."],
  ["tr", "Tamam, traktör aldım."],
  ["ar", "شكرا، اشتريت جرارا"],
  ["hi", "ठीक है, मैंने ट्रैक्टर ख़रीदा।"],
  ["ja", "ありがとう、ナッツアレルギーです"],
  ["zh", "好的，我对坚果过敏"],
  ["ko", "네, 저는 견과류 알레르기가 있어요"],
])("%s: %p says something", (language, spoken) => {
  expect(isBareTurn(spoken, language)).toBe(false);
});
