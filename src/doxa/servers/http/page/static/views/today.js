// Today: what changed without the person, by who did it and in which sitting, live; a sitting can be
// undone as a whole.

import { events as getEvents, follow, textsOf, useLoad, write } from "../api.js";
import { html, useEffect, useState } from "../lib.js";
import { Chip, Empty, Heading, KrefLink, Loaded, Row, Time, formatTime, shortKref } from "../parts.js";
import { connection, epoch, project, say } from "../state.js";

const DAY_MS = 86_400_000;
const SITTING_MS = 30 * 60_000; // a longer pause begins another sitting
const EVENTS_MAX = 2000;
const PAGE = 500;
const QUIET = new Set([
  "edge.created",
  "revision.tagged",
  "node.created",
  "space.created",
  "thread.created",
  "item.changed",
  "edge.changed",
  "mention.created",
  "revision.untagged",
  "node.changed",
  "node.deleted",
  "edge.deleted",
  "tag.created",
]);
const WORDS = {
  "item.created": "new",
  "revision.created": "said",
  "exchange.added": "heard",
  "item.deprecated": "retired",
  "item.restored": "restored",
  "conflict.opened": "conflict",
  "conflict.decided": "decided",
  "memory.hidden": "hidden",
  "memory.restored": "shown again",
  "artifact.created": "file",
  "entity.created": "name",
  "catalogue.changed": "rules",
};

async function load(days, signal) {
  const since = new Date(Date.now() - days * DAY_MS).toISOString();
  const items = [];
  let after;
  while (items.length < EVENTS_MAX) {
    const where = project.value && project.value !== "*" ? { project: project.value } : {};
    const page = await getEvents({ ...(after ? { after } : { since }), limit: PAGE, ...where }, signal);
    items.push(...page.items);
    if (!page.next) break;
    after = page.next;
  }
  const said = new Set(
    items.filter((one) => one.name === "revision.created").map((one) => `${one.change} ${one.kref.split("?")[0]}`),
  );
  const shown = items.filter(
    (one) => !QUIET.has(one.name) && !(one.name === "item.created" && said.has(`${one.change} ${one.kref}`)),
  );
  const sittings = group(shown);
  const texts = await textsOf(
    shown
      .map((one) => one.kref)
      .filter(Boolean)
      .slice(-400),
    signal,
  );
  return { sittings, texts, cut: items.length >= EVENTS_MAX };
}

/** Events by who did it, and then by pauses: the newest sitting first. */
export function group(events) {
  const open = new Map();
  const found = [];
  for (const event of events) {
    const at = new Date(event.time).valueOf();
    let sitting = open.get(event.actor);
    if (!sitting || at - sitting.until > SITTING_MS) {
      sitting = { actor: event.actor, role: event.role, since: at, until: at, events: [], changes: [], ops: new Set() };
      open.set(event.actor, sitting);
      found.push(sitting);
    }
    sitting.until = at;
    sitting.events.push(event);
    sitting.ops.add(event.op);
    if (sitting.changes.at(-1) !== event.change) sitting.changes.push(event.change);
  }
  return found.reverse();
}

export function Today() {
  const [days, setDays] = useState(1);
  const [actor, setActor] = useState("");
  const state = useLoad((signal) => load(days, signal), [days]);
  useEffect(() => {
    let timer = 0;
    if (connection.value !== "open") return undefined;
    const stop = follow(() => {
      clearTimeout(timer);
      timer = setTimeout(() => epoch.value++, 400);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [connection.value]);
  return html`<${Heading} title="Today" question="What changed without me, and who did it?">
      <div class="choice" role="group" aria-label="How far back">${[
        [1, "24 hours"],
        [7, "7 days"],
        [31, "31 days"],
      ].map(
        ([count, label]) =>
          html`<button type="button" aria-pressed=${days === count} onClick=${() => setDays(count)}>${label}</button>`,
      )}</div>
    <//>
    <${Loaded} state=${state}>${({ sittings, texts, cut }) => {
      if (!sittings.length)
        return html`<${Empty} title="Nothing changed.">This page shows changes as they are made.<//>`;
      const actors = [...new Set(sittings.map((one) => one.actor))];
      const chosen = sittings.filter((one) => !actor || one.actor === actor);
      return html`<label class="compact">Who <select value=${actor} onChange=${(event) => setActor(event.target.value)}><option value="">everybody (${actors.length})</option>${actors.map((one) => html`<option value=${one}>${one}</option>`)}</select></label>
        ${cut && html`<p class="small">Only the first ${EVENTS_MAX} events of this time are shown.</p>`}
        ${chosen.slice(0, 60).map((one) => html`<${Sitting} sitting=${one} texts=${texts} key=${`${one.actor}${one.since}`} />`)}`;
    }}<//>`;
}

const SHOWN = 12;

function Sitting({ sitting, texts }) {
  const [all, setAll] = useState(false);
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState("");
  const events = all ? sitting.events.slice(0, 200) : sitting.events.slice(0, SHOWN);
  const undoAll = async () => {
    const changes = [...sitting.changes].reverse();
    let done = 0;
    for (const change of changes) {
      setBusy(`Undoing ${done + 1} of ${changes.length} …`);
      try {
        await write("undo", { change }, { label: `Undid ${change}`, quiet: true });
        done++;
      } catch (error) {
        say(`Change ${change} stays: ${error.message}`, { kind: "error", seconds: 20 });
      }
    }
    setBusy("");
    setAsking(false);
    say(`${done} of ${changes.length} changes of ${sitting.actor} are undone.`, { kind: "done", seconds: 12 });
  };
  return html`<section class="sitting" aria-label="${sitting.actor}, ${formatTime(new Date(sitting.since).toISOString())}">
    <h2>${sitting.actor} <${Chip}>${sitting.role}<//> <span class="small">
      ${formatTime(new Date(sitting.since).toISOString())}, ${sitting.changes.length} change${sitting.changes.length > 1 ? "s" : ""} by ${[...sitting.ops].join(", ")}</span></h2>
    <ul class="rows">${events.map(
      (event) => html`<${Row} kref=${event.kref} key=${event.id}>
      <p class="text"><${Chip}>
        ${WORDS[event.name] ?? event.name}<//> ${event.kref ? html`<${KrefLink} kref=${event.kref}>
        ${texts.get(event.kref) || shortKref(event.kref)}<//>` : event.name}</p>
      <p class="meta"><${Time} at=${event.time} /><span>change ${event.change}, ${event.op}</span></p>
    <//>`,
    )}</ul>
    <div class="line">
      ${sitting.events.length > SHOWN && !all && html`<button type="button" onClick=${() => setAll(true)}>Show all ${sitting.events.length}</button>`}
      ${
        sitting.role === "background"
          ? html`<a class="button" href="#/dream">Its runs, and how to undo one</a>`
          : asking
            ? html`<span>Undo ${sitting.changes.length} change${sitting.changes.length > 1 ? "s" : ""} of ${sitting.actor}, the newest first?</span><button type="button" class="primary" disabled=${busy !== ""} onClick=${undoAll}>${busy || "Undo them"}</button><button type="button" onClick=${() => setAsking(false)}>Cancel</button>`
            : html`<button type="button" onClick=${() => setAsking(true)}>Undo this sitting</button>`
      }
    </div>
  </section>`;
}
