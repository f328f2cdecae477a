// What each plan of a project allows.

import { PLANS, type Plan } from "../../../../domain/project.ts";
import { bytesText, numberText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";

/** The limits of a plan in one sentence. */
export function planText(plan: Plan): string {
  const { queriesPerMonth, documents, storageBytes } = PLANS[plan];
  if (queriesPerMonth === null || documents === null || storageBytes === null) return t("It has no limits.");
  return t("It allows {queries} questions a month, {memories} memories and {size}.", {
    queries: numberText(queriesPerMonth),
    memories: numberText(documents),
    size: bytesText(storageBytes),
  });
}
