// The memories of the files inside a container file, such as an archive or an e-mail.

import { call } from "../../core/api.ts";
import type { Memory } from "../../core/calls.ts";
import { countText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { usePages } from "../../core/resource.ts";
import { to } from "../../core/router.ts";
import { FileText } from "../../ui/icons.ts";
import { Badge, Card } from "../../ui/pieces.tsx";
import { Empty } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { nameOf } from "../shared/memory-names.ts";
import { StatusBadge } from "../shared/status.tsx";

/** A card with the memories of the contained files. */
export function ContainerParts({ memory: { id, parts } }: { readonly memory: Memory }) {
  const pages = usePages(
    (cursor, signal) => call("listMemories", { query: { container: id, limit: 50, cursor }, signal }),
    [id, parts?.completed],
  );
  return (
    <Card
      title={countText(parts?.total ?? 0, "1 file in this file", "{n} files in this file")}
      icon={FileText}
      actions={
        parts !== undefined && parts.failed > 0 && <Badge tone="bad">{t("{n} failed", { n: parts.failed })}</Badge>
      }
    >
      <Table
        caption={t("Files in this file")}
        pages={pages}
        keyOf={(part) => part.id}
        empty={<Empty icon={FileText} title={t("No files")} />}
        columns={[
          {
            head: t("Path"),
            class: "main-cell",
            cell: (part) => (
              <a href={to(["memories", part.id])} dir="auto">
                {part.source?.path ?? part.source?.filename ?? nameOf(part)}
              </a>
            ),
          },
          { head: t("Status"), cell: (part) => <StatusBadge memory={part} /> },
        ]}
      />
    </Card>
  );
}
