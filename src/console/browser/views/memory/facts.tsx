// The attributes of a memory: everything except its text.

import { readFile } from "../../core/api.ts";
import type { Memory } from "../../core/calls.ts";
import { bytesText, dayText, languageName, numberText, timeText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { to } from "../../core/router.ts";
import { rights } from "../../core/session.ts";
import { Button } from "../../ui/button.tsx";
import { Download } from "../../ui/icons.ts";
import { Badge, Facts, Id } from "../../ui/pieces.tsx";
import { saveFile } from "../shared/save.ts";

/** A card with the attributes of a memory. */
export function MemoryFacts({ memory }: { readonly memory: Memory }) {
  const { tags, source, metadata, userId } = memory;
  const isUpdated = memory.updated_at.slice(0, 16) !== memory.created_at.slice(0, 16);
  return (
    <div class="stack">
      <Facts
        rows={[
          [
            t("Tags"),
            tags !== null && tags.length > 0 && (
              <span class="badges">
                {tags.map((tag) => (
                  <a key={tag} href={to(["memories"], { tag })}>
                    <Badge>{tag}</Badge>
                  </a>
                ))}
              </span>
            ),
          ],
          [t("Type"), memory.type && <a href={to(["memories"], { type: memory.type })}>{memory.type}</a>],
          [t("Language"), languageName(memory.language)],
          [
            t("User"),
            userId !== null && (
              <a href={rights.value?.usersRead ? to(["users", userId]) : to(["memories"], { userId })}>{userId}</a>
            ),
          ],
          [t("Agent"), memory.agentId],
          [t("Session"), memory.sessionId],
          [t("External id"), memory.externalId && <Id text={memory.externalId} />],
          [
            t("File"),
            source && (
              <span title={source.media_type}>
                {source.filename} · {bytesText(source.bytes)}
              </span>
            ),
          ],
          [
            t("In the file"),
            typeof source?.container === "string" && (
              <>
                {source.path !== undefined && `${source.path} · `}
                <a href={to(["memories", source.container])}>{t("Open it")}</a>
              </>
            ),
          ],
          [t("Address"), source?.url],
          [t("Passages"), memory.chunk_count !== undefined && numberText(memory.chunk_count)],
          [t("Extracted by"), memory.extraction && (EXTRACTIONS[memory.extraction]?.() ?? memory.extraction)],
          [t("Occurred"), memory.occurred_at && dayText(memory.occurred_at)],
          [t("Stored"), timeText(memory.created_at)],
          [t("Changed"), isUpdated && timeText(memory.updated_at)],
          [t("Expires"), memory.expires_at && timeText(memory.expires_at)],
          [t("Id"), <Id key="id" text={memory.id} />],
        ]}
      />
      {source?.is_kept === true && <Original memory={memory} />}
      {(source?.warnings ?? []).length > 0 && (
        <div class="stack tight">
          <h3>{t("Not read")}</h3>
          <ul class="notes">
            {source?.warnings?.map((warning) => (
              <li key={warning} dir="auto">
                {warning}
              </li>
            ))}
          </ul>
        </div>
      )}
      {Object.keys(metadata).length > 0 && (
        <div class="stack tight">
          <h3>{t("Metadata")}</h3>
          <pre class="json" dir="ltr">
            {JSON.stringify(metadata, null, 2)}
          </pre>
        </div>
      )}
    </div>
  );
}

const EXTRACTIONS: Readonly<Record<string, () => string>> = {
  local: () => t("rules on this server"),
  llm: () => t("the language model"),
};

function Original({ memory: { id, source } }: { readonly memory: Memory }) {
  const download = async () => saveFile(source?.filename ?? id, await readFile("getMemoryFile", { params: { id } }));
  return (
    <Button icon={Download} run={download}>
      {t("Download the original")}
    </Button>
  );
}
