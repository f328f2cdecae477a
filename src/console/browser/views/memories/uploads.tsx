// Uploads of files, dropped or chosen, each with the progress of its transfer and of its processing.

import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { call, pause } from "../../core/api.ts";
import type { Memory } from "../../core/calls.ts";
import { bytesText, countText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { to } from "../../core/router.ts";
import { upload } from "../../core/upload.ts";
import { Button } from "../../ui/button.tsx";
import { DialogFoot } from "../../ui/dialog.tsx";
import { FileText, Upload, X } from "../../ui/icons.ts";
import { Badge, Meter } from "../../ui/pieces.tsx";
import { messageOf, toastError } from "../../ui/toast.tsx";
import { StatusBadge } from "../shared/status.tsx";
import { type Attributes, bodyOfAttributes } from "./attributes.tsx";

/** Number of files that are sent at the same time. */
const SENT_AT_ONCE = 2;
const POLL_MS = 1_500;

interface Transfer {
  readonly id: number;
  readonly file: File;
  /** Share of the bytes that were sent, 0 to 1. */
  readonly sent: number;
  readonly memory: Memory | null;
  readonly error: string | null;
}

interface UploadsProps {
  readonly attributes: Attributes;
  readonly onStored: (memory: Memory) => void;
  readonly close: () => void;
  readonly children: ComponentChildren;
}

let count = 0;

/** An area for files, and a list of the uploads. */
export function Uploads({ attributes, onStored, close, children }: UploadsProps) {
  const [transfers, setTransfers] = useState<readonly Transfer[]>([]);
  const [staged, setStaged] = useState<readonly File[]>([]);
  const [isOver, setIsOver] = useState(false);
  const stage = (files: readonly File[]) => setStaged((before) => [...before, ...files]);
  const input = useRef<HTMLInputElement>(null);
  const edit = (id: number, part: Partial<Transfer>) =>
    setTransfers((before) => before.map((one) => (one.id === id ? { ...one, ...part } : one)));

  const send = async (files: readonly File[]) => {
    let given: Record<string, unknown>;
    try {
      given = bodyOfAttributes(attributes);
    } catch (error) {
      return toastError(error);
    }
    const added = files.map((file): Transfer => {
      count += 1;
      return { id: count, file, sent: 0, memory: null, error: null };
    });
    setTransfers((before) => [...added, ...before]);
    const queue = [...added];
    const work = async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift())
        await sendOne(next, given, edit, onStored);
    };
    await Promise.all(Array.from({ length: SENT_AT_ONCE }, work));
  };
  return (
    <div class="stack">
      <div
        class={`drop adding ${isOver ? "over" : ""}`}
        onDragOver={(event) => {
          event.preventDefault();
          setIsOver(true);
        }}
        onDragLeave={() => setIsOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setIsOver(false);
          stage([...(event.dataTransfer?.files ?? [])]);
        }}
      >
        <Upload size={24} aria-hidden="true" />
        <p class="with-pointer">{t("Drop files here")}</p>
        <p class="fine">{t("Documents, pages, mail, pictures, books, archives and code, up to 100 MB each")}</p>
        <Button autofocus run={() => input.current?.click()}>
          {t("Choose files")}
        </Button>
        <input
          ref={input}
          type="file"
          multiple
          hidden
          aria-label={t("Files")}
          onChange={(event) => {
            stage([...(event.currentTarget.files ?? [])]);
            event.currentTarget.value = "";
          }}
        />
      </div>
      {staged.length > 0 && (
        <ul class="list stack tight" aria-label={t("Files")}>
          {staged.map((file, at) => (
            <li key={`${file.name} ${at}`} class="transfer">
              <FileText size={18} aria-hidden="true" />
              <span class="grow cut" dir="auto">
                {file.name}
              </span>
              <span class="fine number">{bytesText(file.size)}</span>
              <Button
                kind="ghost"
                size="small"
                icon={X}
                label={t("Remove {name}", { name: file.name })}
                run={() => setStaged(staged.filter((_, index) => index !== at))}
              />
            </li>
          ))}
        </ul>
      )}
      <ul class="list stack tight transfers" aria-live="polite">
        {transfers.map((transfer) => (
          <li key={transfer.id} class="transfer">
            <FileText size={18} aria-hidden="true" />
            <div class="grow">
              <p class="cut" dir="auto">
                {transfer.memory === null ? (
                  transfer.file.name
                ) : (
                  <a href={to(["memories", transfer.memory.id])}>{transfer.file.name}</a>
                )}
              </p>
              {transfer.error !== null || transfer.memory?.error ? (
                <p class="field-error">{transfer.error ?? transfer.memory?.error?.message}</p>
              ) : transfer.memory === null ? (
                <Meter label={t("{name} sent", { name: transfer.file.name })} share={transfer.sent} />
              ) : (
                <p class="fine">{bytesText(transfer.file.size)}</p>
              )}
            </div>
            {transfer.memory !== null ? (
              <StatusBadge memory={transfer.memory} />
            ) : transfer.error !== null ? (
              <Badge tone="failed">{t("not stored")}</Badge>
            ) : (
              <Badge tone="processing">{transfer.sent < 1 ? t("sending") : t("finishing")}</Badge>
            )}
          </li>
        ))}
      </ul>
      {children}
      <DialogFoot>
        <Button run={close}>{transfers.length > 0 && staged.length === 0 ? t("Done") : t("Cancel")}</Button>
        <Button
          kind="primary"
          icon={Upload}
          disabled={staged.length === 0}
          run={() => {
            setStaged([]);
            void send(staged);
          }}
        >
          {staged.length === 0 ? t("Upload files") : countText(staged.length, "Upload 1 file", "Upload {n} files")}
        </Button>
      </DialogFoot>
    </div>
  );
}

async function sendOne(
  { id, file }: Transfer,
  attributes: Record<string, unknown>,
  edit: (id: number, part: Partial<Transfer>) => void,
  onStored: (memory: Memory) => void,
): Promise<void> {
  const form = new FormData();
  for (const [name, value] of Object.entries(attributes))
    form.append(name, typeof value === "string" ? value : JSON.stringify(value));
  form.append("file", file, file.name);
  try {
    let memory = await upload(form, (sent) => edit(id, { sent }));
    edit(id, { memory, sent: 1 });
    onStored(memory);
    while (memory.status === "processing") {
      await pause(POLL_MS);
      memory = await call("getMemory", { params: { id: memory.id } });
      edit(id, { memory });
      onStored(memory);
    }
  } catch (error) {
    edit(id, { error: messageOf(error) });
  }
}
