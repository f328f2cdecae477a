// Tests which notes say that the thing that a question asks for was put somewhere else.

import { expect, test } from "bun:test";
import { detectLanguage } from "../../src/preparation/language.ts";
import { isPutElsewhere, placedThings, saysPlaced } from "../../src/retrieval/placing.ts";
import { placedWords } from "../../src/retrieval/substitutes.ts";

type Case = readonly [question: string, older: string, newer: string];

/** The newer note says where the thing is. */
const MOVED: readonly Case[] = [
  ["Where are the passports?", "The passports are in the desk.", "I put the passports in the safe."],
  ["Wo sind die Pässe?", "Die Pässe liegen im Schreibtisch.", "Ich habe die Pässe in den Tresor gelegt."],
  [
    "Où sont les clés de la cave ?",
    "Les clés de la cave sont dans le tiroir.",
    "J'ai mis les clés de la cave dans le garage.",
  ],
  [
    "¿Dónde están las llaves del coche?",
    "Las llaves del coche están en la mesa.",
    "He dejado las llaves del coche en la mochila.",
  ],
  [
    "Dove sono le chiavi di riserva?",
    "Le chiavi di riserva sono dalla vicina.",
    "Ho portato le chiavi di riserva da mia sorella.",
  ],
  [
    "Waar is de fietssleutel?",
    "De fietssleutel ligt in de la.",
    "De fietssleutel hangt nu aan het haakje bij de deur.",
  ],
  ["Waar is mijn laptop?", "Ik heb mijn laptop in de tas.", "Ik heb mijn laptop op kantoor gelaten."],
  ["Gdzie są klucze do piwnicy?", "Klucze do piwnicy są w szufladzie.", "Przełożyłem klucze do piwnicy do garażu."],
  ["Onde estão as chaves da garagem?", "As chaves da garagem estão na gaveta.", "Pus as chaves da garagem no armário."],
  ["Yedek anahtar nerede?", "Yedek anahtar çekmecede.", "Yedek anahtarı komşuya verdim."],
  ["Где ключи от подвала?", "Ключи от подвала лежат в ящике.", "Я переложил ключи от подвала в гараж."],
  ["予備の鍵はどこですか？", "予備の鍵は引き出しにある。", "予備の鍵を金庫に移した。"],
  ["备用钥匙在哪里？", "备用钥匙在抽屉里。", "我把备用钥匙放到保险箱里了。"],
  ["Var är reservnyckeln?", "Reservnyckeln ligger i lådan.", "Jag har lagt reservnyckeln i kassaskåpet."],
  ["Hvor er ekstranøglen?", "Ekstranøglen ligger i skuffen.", "Jeg har givet ekstranøglen til naboen."],
  ["Де запасний ключ?", "Запасний ключ у шухляді.", "Я поклав запасний ключ у сейф."],
  ["अतिरिक्त चाबी कहाँ है?", "अतिरिक्त चाबी दराज में है।", "मैंने अतिरिक्त चाबी तिजोरी में रख दी।"],
  ["أين المفتاح الاحتياطي؟", "المفتاح الاحتياطي في الدرج.", "وضعت المفتاح الاحتياطي في الخزنة."],
  ["Kde je náhradní klíč?", "Náhradní klíč je v šuplíku.", "Náhradní klíč jsem dal do trezoru."],
  ["Di mana kunci cadangan?", "Kunci cadangan ada di laci.", "Kunci cadangan sudah kupindahkan ke brankas."],
  [
    "Chìa khóa dự phòng ở đâu?",
    "Chìa khóa dự phòng ở trong ngăn kéo.",
    "Tôi đã chuyển chìa khóa dự phòng vào két sắt.",
  ],
  ["Hol van a pótkulcs?", "A pótkulcs a fiókban van.", "A pótkulcsot betettem a széfbe."],
  ["Where is the car?", "The car is in the garage.", "I parked the car on Mill Road."],
  ["Where is the drill?", "The drill is in the cellar.", "I lent the drill to Marek."],
  ["Wo steht das Auto?", "Das Auto steht in der Garage.", "Ich habe das Auto am Bahnhof geparkt."],
  ["Où est la perceuse ?", "La perceuse est à la cave.", "J'ai prêté la perceuse à Luc."],
  ["Onde está o carro?", "O carro está na garagem.", "Deixei o carro na oficina."],
  ["Hol van a fúró?", "A fúró a pincében van.", "A fúrót betettem a szekrénybe."],
  ["Dov'è il trapano?", "La trapano è in cantina.", "Ho prestato il trapano a Gino."],
  ["Hvor er boremaskinen?", "Boremaskinen er i kælderen.", "Jeg har lagt boremaskinen i skuret."],
  ["ドリルはどこ？", "ドリルは地下室にある。", "ドリルを物置に移した。"],
  [
    "Where are the winter tyres?",
    "The winter tyres are in the basement.",
    "We stored the winter tyres at the dealer's.",
  ],
  [
    "Wo ist die Weihnachtsdeko?",
    "Die Weihnachtsdeko ist auf dem Dachboden.",
    "Die Weihnachtsdeko haben wir im Keller verstaut.",
  ],
  ["Où se trouve le contrat ?", "Le contrat est dans le classeur bleu.", "J'ai rangé le contrat dans le coffre."],
  ["¿Dónde está el taladro?", "El taladro está en el trastero.", "Guardé el taladro debajo de la cama."],
  ["Waar ligt de handleiding?", "De handleiding ligt in de keukenla.", "Ik heb de handleiding in de kast gezet."],
  ["Gdzie leży paszport?", "Paszport leży na biurku.", "Schowałam paszport do plecaka."],
  ["Где документы?", "Документы в портфеле.", "Я убрал документы в шкаф."],
  ["Pasaport nerede?", "Pasaport masanın üstünde.", "Pasaportu çantaya koydum."],
  ["パスポートはどこにありますか？", "パスポートは机の上にある。", "パスポートを鞄に入れた。"],
  ["护照在哪儿？", "护照在书桌上。", "我把护照放进了背包。"],
];

/** The newer note is about another thing, about the place itself, or does not say where the thing was put. */
const OTHERS: readonly Case[] = [
  ["Where are the passports?", "The passports are in the desk.", "I put the visas in the safe."],
  ["When is dinner with the Patels?", "Dinner with the Patels is on Friday.", "Dinner with the Kims is on Saturday."],
  ["Wo sind die Pässe?", "Die Pässe liegen im Schreibtisch.", "Ich habe die Zeugnisse in den Tresor gelegt."],
  ["Waar is de fietssleutel?", "De fietssleutel ligt in de la.", "De autosleutel hangt nu aan het haakje bij de deur."],
  ["Kto jest moim szefem?", "Mój szef to Marek Nowak.", "Szefową mojej żony jest Ewa Lis."],
  ["予備の鍵はどこですか？", "予備の鍵は引き出しにある。", "通帳を金庫に移した。"],
  ["A che ora è la riunione?", "La riunione è alle 10.", "Il pranzo è stato spostato alle 15."],
  ["Кто мой начальник?", "Мой начальник — Олег Петров.", "Теперь начальник Ильи — Анна Крылова."],
  ["Where is the office?", "The office is on Elm Street.", "I left my jacket at the office."],
  ["Where is the safe?", "The safe is in the study.", "I put the passports in the safe."],
  ["Where is Anna?", "Anna is in Rome.", "I gave Anna the book."],
  ["Wo ist der Tresor?", "Der Tresor steht im Büro.", "Ich habe die Pässe in den Tresor gelegt."],
  ["Où est le garage ?", "Le garage est rue Blot.", "J'ai mis les skis dans le garage."],
  ["金庫はどこですか？", "金庫は書斎にある。", "金庫に鍵を入れた。"],
  ["금고는 어디에 있어?", "금고는 서재에 있다.", "금고에 열쇠를 넣었다."],
  ["¿Dónde está el garaje?", "El garaje está en la calle Sol.", "He dejado la bici en el garaje."],
  ["Где сейф?", "Сейф стоит в кабинете.", "Я положил ключи в сейф."],
  ["Gdzie jest sejf?", "Sejf stoi w gabinecie.", "Włożyłem klucze do sejfu."],
  ["Waar is het kantoor?", "Het kantoor is in de Kerkstraat.", "Ik heb mijn jas op kantoor gelaten."],
  ["保险箱在哪里？", "保险箱在书房里。", "我把钥匙放到保险箱里了。"],
  ["Kasa nerede?", "Kasa çalışma odasında.", "Anahtarı kasaya koydum."],
  ["Where is the tent?", "The tent is in the garage.", "The tent has room for four."],
  ["How many passports do we have?", "We have four passports.", "I put the passports in the safe."],
  ["Var ligger kontoret?", "Kontoret ligger på Storgatan.", "Jag lämnade jackan på kontoret."],
  [
    "Where are the winter tyres?",
    "The winter tyres are in the basement.",
    "We stored the summer chairs in the basement.",
  ],
  ["Where is the bank?", "The bank is on Mill Road.", "I took Mum's ring to the bank."],
  ["Wo ist der Keller?", "Der Keller ist unter der Küche.", "Die Weihnachtsdeko haben wir im Keller verstaut."],
  ["Où est le coffre ?", "Le coffre est dans la chambre.", "J'ai rangé le contrat dans le coffre."],
  ["Dov'è la borsa?", "La borsa è in macchina.", "Ho messo il passaporto nella borsa."],
  ["Gdzie jest plecak?", "Plecak jest w szafie.", "Schowałam paszport do plecaka."],
  ["鞄はどこ？", "鞄は玄関にある。", "鞄にパスポートを入れた。"],
  ["背包在哪儿？", "背包在门口。", "我把护照放进了背包。"],
  ["Onde está a mochila?", "Mochila está no quarto.", "Pus o passaporte na mochila."],
  ["Where is the car?", "The car is in the garage.", "I left my sunglasses in the car yesterday."],
  ["Çanta nerede?", "Çanta dolapta.", "Pasaportu çantaya koydum."],
  ["Where is the school?", "The school is behind the church.", "I dropped the kids at school this morning."],
];

function isMoved([question, older, newer]: Case): boolean {
  const wordsOf = (text: string) => placedWords({ text, language: detectLanguage(text) });
  const things = placedThings({ text: question, language: detectLanguage(question) }, wordsOf(question));
  return saysPlaced(newer) && isPutElsewhere(things, wordsOf(older), wordsOf(newer));
}

test.each(MOVED)("%s: %s — %s", (question, older, newer) => {
  expect(isMoved([question, older, newer])).toBe(true);
});

test.each(OTHERS)("stays: %s: %s — %s", (question, older, newer) => {
  expect(isMoved([question, older, newer])).toBe(false);
});
