// What needs a person, above everything else that the view System shows.

import type { System } from "../../core/calls.ts";
import { nowMs } from "../../core/clock.ts";
import { agoText, bytesText, countText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { to } from "../../core/router.ts";
import { rights } from "../../core/session.ts";
import { CircleAlert, CircleCheck, TriangleAlert } from "../../ui/icons.ts";
import { Card, Id } from "../../ui/pieces.tsx";
import { type Problem, problemsOf, usedShareOf } from "./problems.ts";

/** Kinds of problems that stop the server from doing its work, or a part of it. */
const SERIOUS: readonly Problem["kind"][] = ["disk_full", "node_lost", "memories_failed"];

/** A card with the problems; one line if there are none. */
export function Attention({ state }: { readonly state: System }) {
  const problems = problemsOf(state, nowMs());
  if (problems.length === 0)
    return (
      <p class="all-well" role="status">
        <CircleCheck size={18} aria-hidden="true" /> {t("Nothing needs attention.")}
      </p>
    );
  return (
    <Card title={t("Needs attention")} class="attention">
      <ul class="list rows">
        {problems.map((problem, at) => (
          <li key={`${problem.kind} ${at}`} class={SERIOUS.includes(problem.kind) ? "serious" : ""}>
            {SERIOUS.includes(problem.kind) ? (
              <CircleAlert size={18} aria-hidden="true" />
            ) : (
              <TriangleAlert size={18} aria-hidden="true" />
            )}
            <span class="attention-text">{textOf(problem, state)}</span>
            <WayOut problem={problem} />
          </li>
        ))}
      </ul>
    </Card>
  );
}

function textOf(problem: Problem, { disk }: System): string {
  switch (problem.kind) {
    case "disk_full":
      return t("The disk is full: new data is refused. Free space, or delete memories.");
    case "disk_nearly_full":
      return `${t("The disk is nearly full.")} ${t("{n} % used", { n: Math.round(usedShareOf(disk) * 100) })} · ${t(
        "{free} free",
        { free: bytesText(disk.free_bytes) },
      )}`;
    case "node_lost":
      return t("The node {name} was last seen {ago}.", { name: problem.name, ago: agoText(problem.seenAt) });
    case "process":
      return t("The process {name} is not up: {state}", { name: problem.name, state: problem.state });
    case "warning":
      return problem.text;
    case "memories_failed":
      return countText(problem.count, "1 memory could not be processed.", "{n} memories could not be processed.");
    case "backup":
      return problem.at === null
        ? t("There is no backup yet.")
        : t("The last backup is old: {ago}.", { ago: agoText(problem.at) });
  }
}

/** What a person can do about a problem. */
function WayOut({ problem: { kind } }: { readonly problem: Problem }) {
  if (kind === "backup") return <Id text="mneme backup" />;
  if (kind !== "memories_failed" || rights.value?.memoriesRead !== true) return null;
  return <a href={to(["memories"], { status: "failed" })}>{t("See why")}</a>;
}
