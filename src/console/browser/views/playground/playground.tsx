// The playground: the results of one question in up to four modes side by side, with an explanation of each rank.

import { useEffect, useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { place, setFilters, to } from "../../core/router.ts";
import { rights } from "../../core/session.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { Field, Form } from "../../ui/form.tsx";
import { Code, FlaskConical, Plus, Search, SlidersHorizontal } from "../../ui/icons.ts";
import { Card, PageHead } from "../../ui/pieces.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { MODES, type ModeName } from "../shared/memory-names.ts";
import { UserField } from "../shared/user-field.tsx";
import { FilterBuilder } from "./filter-builder.tsx";
import { ModeColumn } from "./mode-column.tsx";
import { addressOfQuestion, bodyOf, type Found, type Question, questionInAddress } from "./question.ts";
import { SnippetDialog } from "./snippet-dialog.tsx";

/** The playground. The address contains the question and its settings. */
export default function Playground() {
  const asked = questionInAddress();
  return (
    <div class="view wide">
      <PageHead
        title={t("Playground")}
        text={t("Run a query in several modes, and see why each passage ranks where it does.")}
      />
      <QuestionForm key={place.value.path.join("/")} asked={asked} />
      {asked.q === "" ? <Beginning /> : <Outcome asked={asked} />}
    </div>
  );
}

/** What stands there before the first question. */
function Beginning() {
  const count = useResource((signal) => call("countMemories", { signal }), []);
  if (count.value === undefined) return null;
  const isEmpty = count.value.count === 0;
  const add = isEmpty && rights.value?.memoriesWrite === true && (
    <>
      <LinkButton kind="primary" icon={Plus} href={to(["memories"], { add: "text" })}>
        {t("Add a memory")}
      </LinkButton>
      <LinkButton href="#/home">{t("Load the sample library")}</LinkButton>
    </>
  );
  return (
    <Card>
      <Empty icon={FlaskConical} title={isEmpty ? t("No memories yet") : t("Compare modes side by side")} action={add}>
        {isEmpty
          ? t("Searches find passages of your memories. Add one, or load the sample library.")
          : t("Choose one or more modes, and see for each passage why it ranks where it does.")}
      </Empty>
    </Card>
  );
}

function QuestionForm({ asked }: { readonly asked: Question }) {
  const [draft, setDraft] = useState(asked);
  const [isSnippetOpen, setIsSnippetOpen] = useState(false);
  const address = JSON.stringify(asked);
  useEffect(() => setDraft(asked), [address]);
  const edit = (part: Partial<Question>) => setDraft((before) => ({ ...before, ...part }));
  const toggle = (name: ModeName) => {
    const chosen = MODES.map(([mode]) => mode).filter((mode) => (mode === name) !== draft.modes.includes(mode));
    const modes = chosen.length === 0 ? [name] : chosen;
    edit({ modes });
    if (asked.q !== "") setFilters(addressOfQuestion({ ...asked, modes }));
  };
  const hasOptions = [draft.userId, draft.agentId, draft.sessionId, draft.filters, draft.asOf].some(
    (text) => text !== "",
  );
  const [areOptionsOpen, setAreOptionsOpen] = useState(hasOptions);
  return (
    <Card class="question-form" label={t("Question")}>
      <Form
        label={t("Search")}
        verb={t("Search")}
        icon={Search}
        disabled={draft.q.trim() === ""}
        send={async () => {
          bodyOf(draft, "fast"); // throws if the filters are not JSON, so that their field shows it
          setFilters({ ...addressOfQuestion(draft), turn: null }, true);
        }}
        beside={
          <Button icon={Code} disabled={draft.q.trim() === ""} run={() => setIsSnippetOpen(true)}>
            {t("Copy as code")}
          </Button>
        }
      >
        <Field
          name="query"
          label={t("Question")}
          quiet
          type="search"
          value={draft.q}
          onValue={(q) => edit({ q })}
          placeholder={t("When does Lena like to meet?")}
        />
        <fieldset>
          <legend>{t("Modes")}</legend>
          <div class="row">
            {MODES.map(([name, what]) => (
              <Button
                key={name}
                size="small"
                pressed={draft.modes.includes(name)}
                title={t(what)}
                run={() => toggle(name)}
              >
                {name}
              </Button>
            ))}
            <Button
              kind="ghost"
              size="small"
              icon={SlidersHorizontal}
              class="options-button"
              expanded={areOptionsOpen}
              run={() => setAreOptionsOpen(!areOptionsOpen)}
            >
              {t("Options")}
            </Button>
          </div>
        </fieldset>
        {areOptionsOpen && (
          <div class="stack options">
            <div class="columns narrow">
              {rights.value?.isConfined === false && (
                <UserField value={draft.userId} onValue={(userId) => edit({ userId })} />
              )}
              <Field name="agentId" label={t("Agent")} value={draft.agentId} onValue={(agentId) => edit({ agentId })} />
              <Field
                name="sessionId"
                label={t("Session")}
                value={draft.sessionId}
                onValue={(sessionId) => edit({ sessionId })}
              />
              <Field
                name="limit"
                label={t("Results")}
                type="number"
                min={1}
                max={100}
                value={draft.limit}
                placeholder="10"
                onValue={(limit) => edit({ limit })}
              />
              <Field
                name="asOf"
                label={t("Asked at")}
                value={draft.asOf}
                placeholder="2026-05-03"
                hint={t("“Last week” is relative to this date.")}
                onValue={(asOf) => edit({ asOf })}
              />
            </div>
            <FilterBuilder value={draft.filters} onValue={(filters) => edit({ filters })} />
          </div>
        )}
      </Form>
      {isSnippetOpen && <SnippetDialog question={draft} close={() => setIsSnippetOpen(false)} />}
    </Card>
  );
}

function Outcome({ asked }: { readonly asked: Question }) {
  const [shown, setShown] = useState<ModeName | null>(null);
  const onPhone = asked.modes.find((mode) => mode === shown) ?? asked.modes[0];
  const found = useResource<Found>(
    (signal) =>
      Promise.all(
        asked.modes.map(async (mode) => ({
          mode,
          found: await call("searchMemories", { body: { ...bodyOf(asked, mode), explain: true }, signal }),
        })),
      ),
    [asked],
  );
  return (
    <section aria-label={t("Results")} aria-busy={found.isLoading} class="stack">
      <Loaded from={found} lines={8}>
        {(value) => (
          <>
            {value.length > 1 && (
              <div class="tabs mode-tabs" role="group" aria-label={t("Modes")}>
                {value.map(({ mode }) => (
                  <button key={mode} type="button" aria-pressed={mode === onPhone} onClick={() => setShown(mode)}>
                    {mode}
                  </button>
                ))}
              </div>
            )}
            <div class="modes" style={{ "--modes": String(value.length) }}>
              {value.map((one) => (
                <ModeColumn
                  isShown={one.mode === onPhone}
                  key={one.mode}
                  mode={one.mode}
                  found={one.found}
                  query={asked.q}
                  userId={asked.userId}
                  others={value}
                />
              ))}
            </div>
          </>
        )}
      </Loaded>
    </section>
  );
}
