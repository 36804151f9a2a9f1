// Today: what changed without the person, by who did it and in which sitting, live; a sitting can be
// undone as a whole.

import { events as getEvents, follow, projectName, textsOf, useLoad, write } from "../api.js";
import { html, useEffect, useState } from "../lib.js";
import {
  AboutNow,
  Chip,
  Empty,
  First,
  Heading,
  KrefLink,
  Loaded,
  Row,
  Time,
  formatTime,
  shortKref,
} from "../parts.js";
import { connection, epoch, isPast, say } from "../state.js";

const HOUR_MS = 3_600_000;
const HOURS = [1, 6, 24, 168, 744]; // read from the newest hour back, until there are enough
const SITTING_MS = 30 * 60_000; // a longer pause begins another sitting
const EVENTS_MAX = 2000; // the newest
const SITTINGS_MAX = 60;
const PAGE = 1000;
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
  const { items, cut } = await newest(days * 24, signal);
  const said = new Set(
    items.filter((one) => one.name === "revision.created").map((one) => `${one.change} ${one.kref.split("?")[0]}`),
  );
  const shown = items.filter(
    (one) => !(one.name === "item.created" && said.has(`${one.change} ${one.kref}`)),
  );
  const sittings = group(shown);
  const texts = await textsOf(
    shown
      .map((one) => one.kref)
      .filter(Boolean)
      .slice(-400),
    signal,
    { now: true },
  );
  return { sittings, texts, cut };
}

/** The newest events of the last hours, in their order. Events are read forwards from a time on: so the
 *  newest hour comes first, then what is before it. */
async function newest(hours, signal) {
  const now = Date.now();
  let items = [];
  let before = Infinity;
  let cut = false;
  for (const back of HOURS.filter((one) => one <= hours)) {
    const since = now - back * HOUR_MS;
    const found = await between(since, before, signal);
    cut ||= found.cut || found.items.length + items.length > EVENTS_MAX;
    items = [...found.items, ...items].slice(-EVENTS_MAX);
    before = since;
    if (cut) break;
  }
  return { items, cut };
}

/** The last of the events from a time on and before another one. */
async function between(since, before, signal) {
  const project = projectName();
  const where = project === "*" ? {} : { project };
  let items = [];
  let cut = false;
  let from = { since: new Date(since).toISOString() };
  while (from) {
    const page = await getEvents({ ...from, limit: PAGE, ...where }, signal);
    const found = page.items.filter((one) => new Date(one.time).valueOf() < before);
    const wanted = found.filter((one) => !QUIET.has(one.name));
    cut ||= items.length + wanted.length > EVENTS_MAX;
    items = [...items, ...wanted].slice(-EVENTS_MAX);
    from = page.next && found.length === page.items.length ? { after: page.next } : null;
  }
  return { items, cut };
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
    <${AboutNow} />
    <${Loaded} state=${state}>${({ sittings, texts, cut }) => {
      if (!sittings.length)
        return html`<${Empty} title="Nothing changed.">This page shows changes as they are made.<//>`;
      const actors = [...new Set(sittings.map((one) => one.actor))];
      const chosen = sittings.filter((one) => !actor || one.actor === actor);
      return html`<label class="compact">Who <select value=${actor} onChange=${(event) => setActor(event.target.value)}><option value="">everybody (${actors.length})</option>${actors.map((one) => html`<option value=${one}>${one}</option>`)}</select></label>
        ${cut && html`<p class="small cut">The newest ${EVENTS_MAX.toLocaleString()} events are shown; there are older ones.</p>`}
        ${chosen.slice(0, SITTINGS_MAX).map((one) => html`<${Sitting} sitting=${one} texts=${texts} key=${`${one.actor}${one.since}`} />`)}
        <${First} shown=${SITTINGS_MAX} total=${chosen.length} what="sittings" />`;
    }}<//>`;
}

const SHOWN = 12; // the last of a sitting
const ALL_MAX = 200;

function Sitting({ sitting, texts }) {
  const [all, setAll] = useState(false);
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState("");
  const events = sitting.events.slice(all ? -ALL_MAX : -SHOWN);
  const before = sitting.events.length - events.length;
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
    ${before > 0 && html`<p class="small">${before.toLocaleString()} before these.</p>`}
    <ul class="rows">${events.map(
      (event) => html`<${Row} kref=${event.kref} key=${event.id}>
      <p class="text"><${Chip}>
        ${WORDS[event.name] ?? event.name}<//> ${event.kref ? html`<${KrefLink} kref=${event.kref}>
        ${texts.get(event.kref) || shortKref(event.kref)}<//>` : event.name}</p>
      <p class="meta"><${Time} at=${event.time} /><span>change ${event.change}, ${event.op}</span></p>
    <//>`,
    )}</ul>
    <div class="line">
      ${sitting.events.length > SHOWN && !all && html`<button type="button" onClick=${() => setAll(true)}>Show ${sitting.events.length > ALL_MAX ? `the last ${ALL_MAX}` : `all ${sitting.events.length}`}</button>`}
      ${
        sitting.role === "background"
          ? html`<a class="button" href="#/dream">Its runs, and how to undo one</a>`
          : asking
            ? html`<span>Undo ${sitting.changes.length} change${sitting.changes.length > 1 ? "s" : ""} of ${sitting.actor}, the newest first?</span><button type="button" class="primary" disabled=${busy !== ""} onClick=${undoAll}>${busy || "Undo them"}</button><button type="button" onClick=${() => setAsking(false)}>Cancel</button>`
            : html`<button type="button" disabled=${isPast.value} onClick=${() => setAsking(true)}>Undo this sitting</button>`
      }
    </div>
  </section>`;
}
