// The graph explorer: the entities of all memories and their connections. A person can search, filter by kind and user,
// go from neighbour to neighbour, find a path, and open the passages behind it.

import { useEffect, useMemo, useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Entity } from "../../core/calls.ts";
import { countText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { filterOf, setFilters } from "../../core/router.ts";
import { rights } from "../../core/session.ts";
import { LinkButton } from "../../ui/button.tsx";
import { Field } from "../../ui/form.tsx";
import { tokenOfKind } from "../../ui/graph-data.ts";
import { Network, Plus } from "../../ui/icons.ts";
import { lazily } from "../../ui/lazy.tsx";
import { Legend } from "../../ui/legend.tsx";
import { Card, PageHead } from "../../ui/pieces.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";
import { UserField } from "../shared/user-field.tsx";
import { EntityPanel } from "./entity-panel.tsx";
import { begin, pictureOfKnown, surroundings } from "./known.ts";
import { PathPanel } from "./path-panel.tsx";

const GraphPicture = lazily(() => import("../../ui/graph.tsx"));
/** Kinds of entities, as in the API. */
const KINDS = ["title", "name", "quote", "identifier", "date", "phrase"] as const;
const LISTED = 100;

/** The graph explorer. */
export default function GraphExplorer() {
  const [q, kind, userId, selected, goal] = ["q", "kind", "userId", "entity", "to"].map(filterOf) as [
    string,
    string,
    string,
    string,
    string,
  ];
  const list = useResource(
    async (signal) => {
      const { data } = await call("listEntities", { query: { q, kind, userId, limit: LISTED }, signal });
      await begin(data, userId);
      return data;
    },
    [q, kind, userId],
  );
  const [path, setPath] = useState<readonly Entity[]>([]);
  useEffect(() => {
    if (goal === "") setPath([]);
  }, [goal]);
  const open = (id: string) => setFilters({ entity: id }, true);
  const isFiltered = q !== "" || kind !== "" || userId !== "";
  const known = surroundings.value;
  const picture = useMemo(() => pictureOfKnown(kind, path), [kind, path, known]); // a new object is laid out again
  return (
    <div class="view wide">
      <PageHead
        title={t("Graph")}
        text={t("Names, titles, identifiers and dates that your memories mention, and how they connect.")}
      />
      <div
        class="filters"
        role="search"
        aria-label={t("Filters")}
        hidden={!isFiltered && list.value !== undefined && list.value.length === 0}
      >
        <Field
          name="q"
          label={t("Name contains")}
          quiet
          type="search"
          placeholder={t("Name contains")}
          value={q}
          onValue={(text) => setFilters({ q: text, entity: null, to: null })}
        />
        <Field
          name="kind"
          label={t("Kind")}
          quiet
          value={kind}
          options={[["", t("Any kind")], ...KINDS.map((one) => [one, t(one)] as const)]}
          onValue={(one) => setFilters({ kind: one })}
        />
        {rights.value?.isConfined === false && (
          <UserField
            quiet
            placeholder={t("Any user")}
            value={userId}
            onValue={(one) => setFilters({ userId: one, entity: null, to: null })}
          />
        )}
      </div>
      <Loaded from={list} lines={8}>
        {(entities) =>
          entities.length === 0 ? (
            <Card>
              <Empty
                icon={Network}
                title={isFiltered ? t("No entities") : t("No entities yet")}
                action={
                  !isFiltered &&
                  rights.value?.memoriesWrite === true && (
                    <LinkButton kind="primary" icon={Plus} href="#/memories?add=text">
                      {t("Add a memory")}
                    </LinkButton>
                  )
                }
              >
                {t("Names, titles, quotes, identifiers and dates in a text become entities that connect memories.")}
              </Empty>
            </Card>
          ) : (
            <div class="explorer">
              <Card class="explorer-picture">
                <GraphPicture
                  key={`${q} ${kind} ${userId} ${known.size === 0}`}
                  label={t("Entities and their connections")}
                  graph={picture}
                  selected={selected || undefined}
                  path={path.map(({ id }) => id)}
                  onNode={open}
                  head={
                    <Legend
                      groups={KINDS.map((one) => ({
                        name: one,
                        title: t(one),
                        colour: tokenOfKind(one),
                        count: picture.nodes.filter((node) => node.kind === one).length,
                      })).filter(({ name, count }) => count > 0 || name === kind)}
                      only={kind || null}
                      onOnly={(one) => setFilters({ kind: one })}
                    />
                  }
                />
              </Card>
              <div class="stack explorer-side">
                {goal !== "" && selected !== "" && (
                  <PathPanel from={selected} to={goal} userId={userId} onPath={setPath} />
                )}
                {selected === "" ? (
                  <EntityList entities={entities} open={open} />
                ) : (
                  <EntityPanel
                    key={selected}
                    id={selected}
                    userId={userId}
                    open={open}
                    close={() => {
                      setPath([]);
                      setFilters({ entity: null, to: null });
                    }}
                  />
                )}
              </div>
            </div>
          )
        }
      </Loaded>
    </div>
  );
}

function EntityList({ entities, open }: { readonly entities: readonly Entity[]; readonly open: (id: string) => void }) {
  return (
    <Card title={t("Most mentioned")}>
      <ul class="list rows">
        {entities.slice(0, 40).map(({ id, name, kind, memories }) => (
          <li key={id}>
            <span class="legend-dot" style={{ background: `var(--${tokenOfKind(kind)})` }} />
            <button type="button" class="link cut" dir="auto" onClick={() => open(id)}>
              {name}
            </button>
            <span class="fine">{countText(memories, "1 memory", "{n} memories")}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
