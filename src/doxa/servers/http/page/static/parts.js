// Small components that every view uses. Text of memories is only ever a child of an element, so
// that it is a text node and never markup.

import { html, useEffect, useRef, useState } from "./lib.js";
import { address, draft, go, isPast, keepDraft, say, systemTime } from "./state.js";

// Time

const SHORT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const DAY_MS = 86_400_000;

export function moment(text) {
  return text ? new Date(text) : null;
}

export function formatTime(text) {
  const at = moment(text);
  return at && !Number.isNaN(at.valueOf()) ? SHORT.format(at) : "";
}

export function relativeTime(text) {
  const now = systemTime.value ? new Date(systemTime.value) : new Date();
  const days = (moment(text) - now) / DAY_MS;
  if (Math.abs(days) < 1 / 24) return RELATIVE.format(Math.round(days * 1440), "minute");
  if (Math.abs(days) < 1) return RELATIVE.format(Math.round(days * 24), "hour");
  if (Math.abs(days) < 60) return RELATIVE.format(Math.round(days), "day");
  return RELATIVE.format(Math.round(days / 30.4), "month");
}

export function Time({ at }) {
  if (!at) return null;
  return html`<time datetime=${at} title=${formatTime(at)}>${relativeTime(at)}</time>`;
}

const AGES = [
  [3, "fresh"],
  [14, "recent"],
  [60, "older"],
  [Infinity, "old"],
];

/** The word for how old something is at the time that the page looks at. */
export function freshnessOf(at) {
  const now = systemTime.value ? new Date(systemTime.value) : new Date();
  const days = Math.max(0, (now - moment(at)) / DAY_MS);
  return AGES.find(([limit]) => days < limit)[1];
}

/** How fresh something is: a colour, a bar and a word, so that no one depends on the colour. */
export function Freshness({ at }) {
  if (!at) return null;
  const name = freshnessOf(at);
  return html`<span class="fresh fresh-${name}"><span class="fresh-bar" aria-hidden="true"></span>
    ${name}, <${Time} at=${at} /></span>`;
}

// Labels

export function Chip({ kind = "", children, title }) {
  return html`<span class="chip ${kind}" title=${title}>${children}</span>`;
}

const STATUS_KINDS = {
  current: "good",
  superseded: "past",
  deprecated: "past",
  detached: "past",
  contested: "bad",
  expired: "past",
  not_yet_valid: "past",
  open: "bad",
};

export function Status({ status }) {
  return status ? html`<${Chip} kind=${STATUS_KINDS[status] ?? ""}>${status.replaceAll("_", " ")}<//>` : null;
}

const TRUST_KINDS = { verified: "good", stated: "", inferred: "warn", candidate: "warn", untrusted: "bad" };

export function Trust({ trust }) {
  return trust ? html`<${Chip} kind=${TRUST_KINDS[trust] ?? ""} title="How far it is trusted">${trust}<//>` : null;
}

/** A button for long work, with how far it is and a button that stops it. `start({onJob, signal})` returns
 *  its answer, null if it was stopped. */
export function LongWork({ label, running, start, ended, disabled = false, primary = true }) {
  const [job, setJob] = useState(null);
  const [stop, setStop] = useState(null);
  const [error, setError] = useState(null);
  const begin = async () => {
    const abort = new AbortController();
    setStop(abort);
    setError(null);
    try {
      ended(await start({ onJob: setJob, signal: abort.signal }));
    } catch (caught) {
      setError(caught);
    }
    setStop(null);
    setJob(null);
  };
  const far = job?.done ? `, ${job.done.toLocaleString()} done` : job?.state === "queued" ? ", waiting for its turn" : "";
  return html`${
    stop
      ? html`<span class="long-work" role="status">${running} …${far}</span>
        <button type="button" disabled=${stop.signal.aborted} onClick=${() => {
          stop.abort();
          setJob((before) => ({ ...before }));
        }}>${stop.signal.aborted ? "Stopping …" : "Stop"}</button>`
      : html`<button type="button" class=${primary ? "primary" : ""} disabled=${disabled} onClick=${begin}>${label}</button>`
  }<${Problem} error=${error} />`;
}

/** Where what replaced a superseded revision is: its item, which is what is believed now. */
export function Successor({ kref, status }) {
  if (status !== "superseded") return null;
  return html`<span class="successor">replaced by <${KrefLink} kref=${kref.split("?")[0]}>what is believed now<//></span>`;
}

/** Where an address leads on this page, and what it is called there. */
export function krefAddress(kref) {
  const plain = kref.split("?")[0];
  if (plain.endsWith(".thread") || !/\.[a-z0-9-]+$/i.test(plain)) return address("browse", { at: plain });
  return address("belief", { kref });
}

export function shortKref(kref) {
  return kref.replace(/^kref:\/\//, "");
}

export function KrefLink({ kref, children, ...rest }) {
  return html`<a class="kref" href=${krefAddress(kref)} ...${rest}>${children ?? shortKref(kref)}</a>`;
}

/** A sentence of doxa's own, with its addresses as links. */
export function Sentence({ text }) {
  return text
    .split(/(kref:\/\/[^\s,;)]*[^\s,;:.)])/)
    .map((part) => (part.startsWith("kref://") ? html`<${KrefLink} kref=${part} />` : part));
}

export function Copy({ text, label = "Copy address" }) {
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    say("Copied.", { seconds: 3 });
  };
  return html`<button class="quiet" type="button" onClick=${copy}>${label}</button>`;
}

// States of a view

export function Problem({ error, again }) {
  if (!error) return null;
  return html`<div class="problem" role="alert">
    <p><strong>${error.message}</strong></p>
    ${error.nextStep && html`<p>${error.nextStep}</p>`}
    ${again && html`<button type="button" onClick=${again}>Try again</button>`}
  </div>`;
}

export function Empty({ title, children }) {
  return html`<div class="empty"><p><strong>${title}</strong></p>${children && html`<p>${children}</p>`}</div>`;
}

/** Says that a list is cut: of how many, as far as that is known. `more`: there are more. */
export function First({ shown, total = 0, more = total > shown, what = "entries" }) {
  if (!more) return null;
  const of = total > shown ? ` of ${total.toLocaleString()}` : "";
  return html`<p class="small cut">The first ${shown.toLocaleString()}${of} ${what} are shown${of ? "" : "; there are more"}.</p>`;
}

/** Says, while the page looks at the past, that a view does not. */
export function AboutNow() {
  return isPast.value
    ? html`<p class="small about-now"><${Chip} kind="warn">about now<//> What follows is as it is now, not at the time above. To change it, go back to now.</p>`
    : null;
}

/** What a load shows while it runs, when it failed, and when there is nothing. */
export function Loaded({ state, children, empty }) {
  if (state.error && state.data === null) return html`<${Problem} error=${state.error} again=${state.again} />`;
  if (state.data === null) return html`<p class="loading" role="status">Loading …</p>`;
  return html`${state.error && html`<${Problem} error=${state.error} again=${state.again} />`}${children(state.data) ?? empty}`;
}

export function Heading({ title, question, children }) {
  useEffect(() => {
    document.title = `${title} · doxa`;
  }, [title]);
  return html`<header class="heading"><div><h1 tabindex="-1">${title}</h1><p>${question}</p></div>
    <div class="heading-side">${children}</div></header>`;
}

// Lists

/** A row that j, k and enter reach; r revises it. Keys of its buttons are in their data-key. */
export function Row({ kref, class: kind = "", children }) {
  const open = (event) => {
    if (event.target !== event.currentTarget || !kref) return;
    if (event.key === "Enter") location.hash = krefAddress(kref);
    if (event.key === "r" && krefAddress(kref).startsWith("#/belief")) {
      event.stopPropagation();
      go("belief", { kref: kref.split("?")[0], form: "revise" });
    }
  };
  return html`<li class="row ${kind}" data-row tabindex="-1" onKeyDown=${open}>${children}</li>`;
}

export function KeyButton({ shortcut, onClick, children, ...rest }) {
  return html`<button type="button" data-key=${shortcut} onClick=${onClick} ...${rest}>
    ${children}${shortcut && html` <kbd>${shortcut}</kbd>`}</button>`;
}

// Forms

/** A field whose text survives a reload until `done` empties it. */
export function useDraft(name, initial = "") {
  const [text, setText] = useState(() => draft(name, initial));
  const last = useRef(name);
  if (last.current !== name) {
    last.current = name;
    setText(draft(name, initial));
  }
  const change = (value) => {
    setText(value);
    keepDraft(name, value === initial ? "" : value);
  };
  return [
    text,
    change,
    () => {
      keepDraft(name, "");
      setText(initial);
    },
  ];
}

export function Dialog({ title, open, close, children }) {
  const ref = useRef(null);
  useEffect(() => {
    const dialog = ref.current;
    if (open && !dialog.open) dialog.showModal();
    if (!open && dialog.open) dialog.close();
  }, [open]);
  return html`<dialog ref=${ref} onClose=${close} aria-label=${title}>
    <div class="dialog-head"><h2>${title}</h2><button type="button" class="quiet" onClick=${close}>Close</button></div>
    ${open && children}
  </dialog>`;
}

export function open(view, params) {
  return () => go(view, params);
}

/** A rough bar from 0 to 1, with its value as text. */
export function Meter({ value, label }) {
  const share = Math.max(0, Math.min(1, value));
  return html`<span class="meter" title=${label}><svg viewBox="0 0 40 6" width="40" height="6" aria-hidden="true">
    <rect class="meter-back" width="40" height="6" rx="3" />
      <rect class="meter-fill" width=${40 * share} height="6" rx="3" />
  </svg>${label}</span>`;
}

/** A time in nanoseconds, as Cypher has it, as ISO text. */
export function fromNanos(value) {
  return value == null ? "" : new Date(Number(value) / 1e6).toISOString();
}
