// Browse: projects, spaces and what is in them; kinds, tags, names and files.

import { inProject, projectName, read, rows, useLoad } from "../api.js";
import { html, useEffect, useState } from "../lib.js";
import {
  Chip,
  Copy,
  Empty,
  First,
  Heading,
  KrefLink,
  Loaded,
  Row,
  Status,
  Successor,
  Trust,
  fromNanos,
  shortKref,
  Freshness,
} from "../parts.js";
import { address, systemTime, validTime } from "../state.js";
import { VirtualList } from "../virtual.js";
import { FileRow } from "./belief.js";
import { Overview } from "./overview.js";

const PAGE = 500;
const MAX = 5000; // rows of a statement
const CONTAINERS = new Set(["Project", "Space", "Thread"]);
const TABS = [
  ["", "Places"],
  ["overview", "Overview"],
  ["kinds", "Kinds"],
  ["tags", "Tags"],
  ["names", "Names"],
  ["files", "Files"],
];

export function Browse({ params }) {
  const show = params.show ?? "";
  const View = { overview: Overview, kinds: Kinds, tags: Tags, names: Names, files: Files }[show] ?? Places;
  return html`<${Heading} title="Browse" question="What is there, and where?">
    <a class="button" href=${address("belief", { new: "1" })}>State a belief</a><//>
    <div class="tabs" role="navigation" aria-label="Ways to browse">
      ${TABS.map(([name, label]) => html`<a href=${address("browse", { show: name })} aria-current=${show === name ? "page" : undefined}>${label}</a>`)}</div>
    <${View} params=${params} />`;
}

// Places

function Crumbs({ at }) {
  const parts = shortKref(at).split("/").filter(Boolean);
  const links = parts.map((part, index) => [part, `kref://${parts.slice(0, index + 1).join("/")}`]);
  return html`<nav class="crumbs" aria-label="Place"><a href=${address("browse")}>all projects</a>
    ${links.map(([part, kref]) => html` / <a href=${address("browse", { at: kref })}>${part}</a>`)}
    ${at && html` <${Copy} text=${at} />`}</nav>`;
}

const THEN = `MATCH (i:Item)-[:CURRENT]->(r:Revision) WHERE i.kref STARTS WITH $prefix
RETURN i.kref AS kref, 'Item' AS type, r.summary AS text, 'current' AS status, r.time AS time, r.trust AS trust ORDER BY kref LIMIT $limit`;

function Places({ params }) {
  const at = params.at ?? "";
  const past = systemTime.value || validTime.value;
  const first = useLoad(
    (signal) =>
      past
        ? rows(THEN, { prefix: at ? `${at}/` : "kref://", limit: MAX + 1 }, { signal }).then((entries) => ({
            entries: entries.slice(0, MAX),
            count: Math.min(MAX, entries.length),
            more: entries.length > MAX,
            next: "",
          }))
        : read("contents", { kref: at, limit: PAGE }, { signal }),
    [at],
  );
  return html`<${Crumbs} at=${at} />
    <${Loaded} state=${first}>${(page) =>
      page.entries.length
        ? html`<${Entries} at=${at} page=${page} key=${at} />`
        : html`<${Empty} title="There is nothing here${past ? " at this time" : ""}.">
          <a href=${address("belief", { new: "1" })}>State a belief</a><//>`}<//>`;
}

function Entries({ at, page }) {
  const [entries, setEntries] = useState(page.entries);
  const [next, setNext] = useState(page.next);
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    setEntries(page.entries);
    setNext(page.next);
  }, [page]);
  const more = async () => {
    if (!next || busy) return;
    setBusy(true);
    try {
      const found = await read("contents", { kref: at, limit: PAGE, after: next });
      setEntries((before) => [...before, ...found.entries]);
      setNext(found.next);
    } finally {
      setBusy(false);
    }
  };
  return html`<p class="small" role="status">
    ${page.more ? "More than " : ""}${page.count.toLocaleString()} ${page.count === 1 ? "entry" : "entries"}${next ? `, ${entries.length.toLocaleString()} read so far` : ""}</p>
    <${First} shown=${page.count} more=${page.more} />
    <${VirtualList} items=${entries} total=${page.count} label="Entries" more=${more} row=${(one) => html`<${Entry} entry=${one} key=${one.kref} />`} />`;
}

function Entry({ entry }) {
  const name = entry.kref.split("/").at(-1);
  if (CONTAINERS.has(entry.type)) {
    return html`<${Row} kref=${entry.kref}><p class="text one-line"><a href=${address("browse", { at: entry.kref })}>
      ${entry.type === "Thread" ? "❝" : "▸"} ${name}</a></p><p class="meta"><${Chip}>${entry.type.toLowerCase()}<//>
      </p><//>`;
  }
  return html`<${Row} kref=${entry.kref} class=${entry.status && entry.status !== "current" ? "gone" : ""}>
    <p class="text one-line"><${KrefLink} kref=${entry.kref}>${entry.text || name}<//></p>
    <p class="meta one-line"><span class="mono">${name}</span>
      ${entry.status !== "current" && html`<${Status} status=${entry.status} />`}
      <${Successor} kref=${entry.kref} status=${entry.status} />${entry.trust && html`<${Trust} trust=${entry.trust} />`}${entry.time && html`<${Freshness} at=${fromNanos(entry.time)} />`}</p>
  <//>`;
}

// Kinds and tags

const BELIEFS = `MATCH (i:Item)-[:CURRENT]->(r:Revision) WHERE ($project = '*' OR r.project = $project)`;
const OF_KIND = `${BELIEFS} AND i.kind = $kind RETURN i.kref AS kref, 'Item' AS type, r.summary AS text, 'current' AS status, r.time AS time, r.trust AS trust ORDER BY r.time DESC LIMIT $limit`;
const KINDS = `${BELIEFS} RETURN i.kind AS name, count(*) AS number ORDER BY number DESC LIMIT $limit`;
const TAG_NAMES = `MATCH (i:Item)-[t:TAG]->(r:Revision) WHERE ($project = '*' OR r.project = $project) RETURN t.name AS name, count(*) AS number ORDER BY number DESC LIMIT $limit`;
const TAGGED = `MATCH (i:Item)-[t:TAG]->(r:Revision) WHERE t.name = $tag AND ($project = '*' OR r.project = $project)
OPTIONAL MATCH (i)-[:CURRENT]->(c:Revision)
RETURN r.kref AS kref, 'Item' AS type, r.summary AS text, r.time AS time, r.trust AS trust,
CASE WHEN c.kref IS NULL THEN 'deprecated' WHEN c.kref = r.kref THEN 'current' ELSE 'superseded' END AS status
ORDER BY kref LIMIT $limit`;

function Kinds({ params }) {
  return html`<${Facet} name="kind" chosen=${params.kind} counts=${KINDS} members=${OF_KIND} show="kinds" />`;
}

function Tags({ params }) {
  return html`<${Facet} name="tag" chosen=${params.tag} counts=${TAG_NAMES} members=${TAGGED} show="tags" />`;
}

const FACETS_MAX = 200;

function Facet({ name, chosen, counts, members, show }) {
  const all = useLoad(
    (signal) => rows(counts, { project: projectName(), limit: FACETS_MAX + 1 }, { signal }),
    [show],
  );
  const found = useLoad(
    (signal) =>
      chosen
        ? rows(members, { project: projectName(), [name]: chosen, limit: MAX + 1 }, { signal })
        : Promise.resolve(null),
    [chosen],
  );
  return html`<${Loaded} state=${all}>${(items) =>
    items.length
      ? html`<ul class="facets">${items.slice(0, FACETS_MAX).map((one) => html`<li>
        <a href=${address("browse", { show, [name]: one.name })} aria-current=${one.name === chosen ? "true" : undefined}>${one.name} <span class="count">${one.number}</span></a></li>`)}</ul>
        <${First} shown=${FACETS_MAX} more=${items.length > FACETS_MAX} what="${name}s" />`
      : html`<${Empty} title="There are none yet." />`}<//>
    ${chosen && found.data && html`<${First} shown=${MAX} more=${found.data.length > MAX} />
      <${VirtualList} items=${found.data.slice(0, MAX)} total=${Math.min(MAX, found.data.length)} label="Of the ${name} ${chosen}" row=${(one) => html`<${Entry} entry=${one} key=${one.kref} />`} />`}`;
}

// Names and files

const NAMES_MAX = 500;

function Names() {
  const state = useLoad((signal) =>
    read("entities", { project: inProject(), limit: NAMES_MAX, as_of: systemTime.value }, { signal }),
  );
  return html`<${Loaded} state=${state}>${({ items, next }) =>
    items.length
      ? html`<${First} shown=${items.length} more=${Boolean(next)} what="names" />
        <${VirtualList} items=${items} total=${items.length} label="Names" row=${(one) => html`<${Row} kref=${one.kref} key=${one.kref}><p class="text one-line"><${KrefLink} kref=${one.kref}>${one.name}<//></p><p class="meta">${one.kind && html`<${Chip}>${one.kind}<//>`}<span>${one.mentions} mentions</span>${one.last && html`<${Freshness} at=${one.last} />`}</p><//>`} />`
      : html`<${Empty} title="No names are known yet.">They are read from beliefs and conversations by <code>doxa record-mentions</code>.<//>`}<//>`;
}

const FILES_MAX = 300;
const FILES = `MATCH (r:Revision)-[:HAS_ARTIFACT]->(a:Artifact) WHERE ($project = '*' OR r.project = $project)
RETURN a.kref AS kref, a.name AS name, a.location AS location, a.sha256 AS sha256, a.size_bytes AS size, r.kref AS belief ORDER BY name LIMIT $limit`;

function Files() {
  const state = useLoad((signal) => rows(FILES, { project: projectName(), limit: FILES_MAX + 1 }, { signal }));
  return html`<${Loaded} state=${state}>${(items) =>
    items.length
      ? html`<ul class="rows">
        ${items.slice(0, FILES_MAX).map((file) => html`<${FileRow} file=${file} key=${file.kref} />`)}</ul>
        <${First} shown=${FILES_MAX} more=${items.length > FILES_MAX} what="files" />`
      : html`<${Empty} title="No files are attached.">An agent attaches them with <code>attach</code>.<//>`}<//>`;
}
