// Which words for small numbers become digits, because they number something.

import { expect, test } from "bun:test";
import { withDigits } from "../../src/retrieval/number-words.ts";

test.each([
  ["en", "cabin nine?", "cabin 9?"],
  ["zh", "九号小屋的无线密码是什么？", "9号小屋的无线密码是什么？"],
  ["zh", "二十三号房在哪里？", "23号房在哪里？"],
  ["ja", "三番の鍵はどこですか。", "3番の鍵はどこですか。"],
  ["ja", "十二号室のパスワードは?", "12号室のパスワードは?"],
  ["ko", "삼번 트랙의 이름은?", "3번 트랙의 이름은?"],
  ["ko", "구 번 오두막의 비밀번호", "9 번 오두막의 비밀번호"],
])("%s: %s becomes %s", (language, text, digits) => {
  expect(withDigits(text, language)).toBe(digits);
});

test.each([
  ["ja", "一番好きな映画は?"],
  ["zh", "第三章讲什么？"],
  ["zh", "四月十号开会。"],
  ["ko", "이번 주 회의는 언제야?"],
  ["en", "nine people came"],
])("%s: %s stays", (language, text) => {
  expect(withDigits(text, language)).toBe(text);
});
