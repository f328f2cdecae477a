// A checklist for new users. Steps are ticked from the content of the project and from what was done in this browser.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import { countText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { to } from "../../core/router.ts";
import { mayAdd, mayAsk, rights } from "../../core/session.ts";
import { keepPreference, preference } from "../../core/storage.ts";
import { Button } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { BookOpen, Check, Sparkles, X } from "../../ui/icons.ts";
import { Card } from "../../ui/pieces.tsx";
import { toast } from "../../ui/toast.tsx";
import { loadSample, removeSample, SAMPLE_TAG } from "./sample.ts";

interface Step {
  readonly title: string;
  readonly href: string;
  readonly isDone: boolean;
}

/** The checklist. It disappears when all steps are done or a person closes it. */
export function FirstSteps() {
  const [isClosed, setIsClosed] = useState(preference("steps") === "closed");
  const known = rights.value;
  const state = useResource(async (signal) => {
    const one = { query: { limit: 1 }, signal };
    const [newest, sample, chats, keys] = await Promise.all([
      known?.memoriesRead ? call("listMemories", { query: { limit: 20 }, signal }) : null,
      known?.memoriesRead ? call("listMemories", { query: { limit: 1, tag: SAMPLE_TAG }, signal }) : null,
      known?.chatsRead ? call("listChats", one) : null,
      known?.keys ? call("listKeys", { query: { limit: 20 }, signal }) : null,
    ]);
    return {
      hasMemory: (newest?.data.length ?? 0) > 0,
      hasFile: (newest?.data ?? []).some(({ source }) => source !== null),
      hasSample: (sample?.data.length ?? 0) > 0,
      hasChat: (chats?.data.length ?? 0) > 0,
      hasKey: (keys?.data.length ?? 0) > 1,
      hasClient: (keys?.data ?? []).filter(({ last_used_at: used }) => used !== null).length > 1,
    };
  }, []);
  const found = state.value;
  if (isClosed) return null;
  // its place is kept while it is read, if it was shown the last time
  if (found === undefined) return <Waiting />;
  const steps: readonly Step[] = [
    ...(known !== null && mayAdd(known)
      ? [{ title: t("Add a memory"), href: to(["memories"], { add: "text" }), isDone: found.hasMemory }]
      : []),
    ...(known !== null && mayAsk(known)
      ? [{ title: t("Ask a question"), href: to(["ask"]), isDone: found.hasChat }]
      : []),
    ...(known !== null && mayAdd(known)
      ? [{ title: t("Upload a file"), href: to(["memories"], { add: "files" }), isDone: found.hasFile }]
      : []),
    ...(known?.keys
      ? [
          { title: t("Create a key"), href: to(["keys"], { new: "1" }), isDone: found.hasKey },
          { title: t("Connect an agent"), href: to(["connect"]), isDone: found.hasClient },
        ]
      : []),
  ];
  const next = steps.find(({ isDone }) => !isDone);
  const done = steps.filter(({ isDone }) => isDone).length;
  if (steps.length === 0 || (done === steps.length && !found.hasSample)) {
    keepPreference("steps", "done");
    return null;
  }
  const close = () => {
    keepPreference("steps", "closed");
    setIsClosed(true);
  };
  const hasFew = steps.length - done <= 1;
  keepPreference("steps", hasFew ? "few" : "many");
  const progress = <span class="fine">{t("{n} of {total} done", { n: done, total: steps.length })}</span>;
  const end = <Button kind="ghost" size="small" icon={X} label={t("Close the checklist")} run={close} />;
  const maySample = known?.memoriesWrite === true && known.memoriesRead;
  const list = (
    <ol class={`list steps ${hasFew ? "few" : ""}`}>
      {steps.map(({ title, href, isDone }) => (
        <li key={title} class={isDone ? "done" : title === next?.title ? "next" : ""}>
          <span class="step-mark">{isDone && <Check size={14} aria-hidden="true" />}</span>
          <a href={href}>{title}</a>
          {isDone && <span class="aside">{t("done")}</span>}
        </li>
      ))}
    </ol>
  );
  if (hasFew) {
    return (
      <Card class="first-steps one-line" label={t("First steps")}>
        {list}
        {progress}
        <span class="spring" />
        {maySample && <SampleButton hasSample={found.hasSample} reload={state.reload} />}
        {end}
      </Card>
    );
  }
  return (
    <Card
      class="first-steps"
      title={t("First steps")}
      icon={Sparkles}
      actions={
        <>
          {progress}
          {end}
        </>
      }
    >
      {list}
      {maySample && (
        <div class="row sample">
          <BookOpen size={16} aria-hidden="true" />
          <span class="grow fine">
            {found.hasSample
              ? t("The sample library is loaded: ask when Omar's flight leaves, or what E-317 means.")
              : t("No data yet? The sample library has notes by two invented people and ten documents.")}
          </span>
          <SampleButton hasSample={found.hasSample} reload={state.reload} />
        </div>
      )}
    </Card>
  );
}

function Waiting() {
  const last = preference("steps");
  return last === "few" || last === "many" ? <div class={`card first-steps-wait ${last}`} /> : null;
}

interface SampleProps {
  readonly hasSample: boolean;
  readonly reload: () => void;
}

/** Loads the sample library, or removes it. */
function SampleButton({ hasSample, reload }: SampleProps) {
  if (hasSample) {
    return (
      <Button size="small" run={() => askToRemove(reload)}>
        {t("Remove the sample library")}
      </Button>
    );
  }
  return (
    <Button
      size="small"
      run={async () => {
        await loadSample();
        toast(t("The sample library is loading. You can ask about it in a few seconds."));
        reload();
      }}
    >
      {t("Load the sample library")}
    </Button>
  );
}

function askToRemove(reload: () => void): void {
  confirm({
    title: t("Remove the sample library?"),
    text: t("All memories with the tag {tag} are deleted for good.", { tag: SAMPLE_TAG }),
    verb: t("Remove"),
    destroys: true,
    run: async () => {
      const removed = await removeSample();
      toast(countText(removed, "1 memory was deleted.", "{n} memories were deleted."));
      reload();
    },
  });
}
