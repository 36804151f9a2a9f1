// The client of the public API. Nothing else on this page talks to the server, and it talks to
// nothing but /v1, of the database that was chosen.

import { useLayoutEffect, useState } from "./lib.js";
import {
  chooseDatabase,
  connection,
  database,
  epoch,
  isPast,
  project,
  receipts,
  replaceRoute,
  say,
  session,
  systemTime,
  validTime,
} from "./state.js";

const PREFIX = "/v1/";
const AGAIN_MS = 1500;
// Verbs that keep their first answer under a key, so that a retry writes once.
const KEYED = new Set(
  (
    "remember tell revise contract deprecate restore rollback undo resolve tag untag link unlink " +
    "attach bundle forget supersede"
  ).split(" "),
);

export class ApiProblem extends Error {
  constructor(status, problem) {
    super(problem.detail ?? "The request failed.");
    this.status = status;
    this.code = problem.code ?? "";
    this.nextStep = problem.next_step ?? "";
    this.fields = problem.fields ?? {};
  }
}

export class Lost extends Error {
  constructor() {
    super("The server does not answer.");
    this.nextStep = "What you typed is kept. The page tries again by itself.";
    this.code = "lost";
  }
}

function base() {
  return database.value ? `/db/${encodeURIComponent(database.value)}${PREFIX}` : PREFIX;
}

async function send(path, options = {}) {
  let reply;
  try {
    reply = await fetch(base() + path, {
      credentials: "same-origin",
      cache: "no-store",
      ...options,
      headers: { Accept: "application/json, application/vnd.doxa.selected+json", ...options.headers },
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    lose();
    throw new Lost();
  }
  if (reply.status === 204) return null;
  const answer = await reply.json().catch(() => ({}));
  if (reply.ok) return answer;
  if (reply.status === 401) {
    connection.value = "over";
    watch();
  }
  throw new ApiProblem(reply.status, answer);
}

function post(verb, body, { signal, headers, fields } = {}) {
  const query = fields ? `?fields=${encodeURIComponent(fields)}` : "";
  return send(verb + query, {
    method: "POST",
    body: JSON.stringify(body),
    signal,
    headers: { "Content-Type": "application/json", ...headers },
  });
}

/** Call a verb that reads. `options.cursor` continues a list. */
export function read(verb, args = {}, { cursor, ...options } = {}) {
  const path = cursor ? `${verb}?cursor=${encodeURIComponent(cursor)}` : verb;
  return post(path, clean(args), options);
}

/** Run a statement of Cypher that reads, as of the time of the slider, or with `now` as of now. Returns
 *  records. It is always as of a system time: such a read counts as no access, so that looking at
 *  something is no use of it. */
export async function rows(text, params = {}, { now = false, ...options } = {}) {
  const at = systemTime.value && !now ? "" : "AS OF SYSTEM TIME datetime() ";
  const table = await post("read", { text: at + (now ? text : asOf(text)), params }, options);
  return table.rows.map((row) => Object.fromEntries(table.columns.map((name, at) => [name, row[at]])));
}

const TEXTS = "UNWIND $krefs AS k MATCH (n {kref: k}) RETURN k, coalesce(n.summary, n.text, n.name, '') AS text";

/** What is said at some addresses, by address. */
export async function textsOf(krefs, signal, { now = false } = {}) {
  if (!krefs.length) return new Map();
  const found = await rows(TEXTS, { krefs: [...new Set(krefs)] }, { signal, now });
  return new Map(found.map((row) => [row.k, row.text]));
}

/** Run a statement and return the table with plan and counters. */
export function statement(text, params = {}, { writes = false } = {}) {
  return writes ? write("run", { text, params }) : post("read", { text, params });
}

export function asOf(text) {
  const quoted = (time) => `datetime('${time.replace(/[^0-9TZ:.+-]/g, "")}')`;
  const system = systemTime.value ? `AS OF SYSTEM TIME ${quoted(systemTime.value)} ` : "";
  const valid = validTime.value ? `AS OF VALID TIME ${quoted(validTime.value)} ` : "";
  return system + valid + text;
}

/** Call a verb that writes. The receipt can be undone with `u`. From the past nothing is written. */
export async function write(verb, args, { label = "", quiet = false } = {}) {
  if (isPast.value) throw new ApiProblem(409, IN_THE_PAST);
  const given = clean(args);
  const answer = args.dry_run ? await post(verb, given) : await once(verb, given);
  if (!args.dry_run) settle(verb, answer, label, quiet);
  return answer;
}

/** Call procedures in one statement, so that all of them are done or none. Its first row is the change. */
export async function together(text, params, { label }) {
  if (isPast.value) throw new ApiProblem(409, IN_THE_PAST);
  const { columns, rows: found } = await post("run", { text, params });
  const answer = Object.fromEntries(columns.map((name, at) => [name, found[0][at]]));
  settle("run", answer, label, false);
  return answer;
}

const IN_THE_PAST = {
  detail: "You look at the past, and nothing is changed from there.",
  next_step: "Go back to now.",
};

function settle(verb, answer, label, quiet) {
  noteReceipt(verb, answer, label, quiet);
  epoch.value++;
  channel.postMessage("changed");
}

const UNANSWERED = "doxa.unanswered";

/** Send a change under a key that stays the same until it is answered: when its answer was lost, the
 *  same change again, also after a reload, gets the first answer and is made once. */
async function once(verb, args) {
  if (!KEYED.has(verb)) return post(verb, args);
  const what = JSON.stringify([database.value, verb, args]);
  const held = () => JSON.parse(sessionStorage.getItem(UNANSWERED) ?? "{}");
  const key = held()[what] ?? crypto.randomUUID();
  sessionStorage.setItem(UNANSWERED, JSON.stringify({ ...held(), [what]: key }));
  const answered = () => {
    const { [what]: _, ...others } = held();
    sessionStorage.setItem(UNANSWERED, JSON.stringify(others));
  };
  try {
    const answer = await post(verb, args, { headers: { "Idempotency-Key": key } });
    answered();
    return answer;
  } catch (error) {
    if (error.status < 500) answered();
    throw error;
  }
}

// Long work

const POLL_MS = 250;

/** Run a verb as a job: `onJob(job)` is called as it goes on, `signal` cancels it. Returns the answer;
 *  null if it was cancelled. */
export async function longWork(verb, args, { onJob, signal, label = "", writes = false }) {
  if (writes && isPast.value) throw new ApiProblem(409, IN_THE_PAST);
  let job = await post(verb, clean(args), { headers: { Prefer: "respond-async" } });
  const path = `jobs/${encodeURIComponent(job.id)}`;
  const cancel = () => send(path, { method: "DELETE" }).catch(() => {});
  signal?.addEventListener("abort", cancel);
  while (job.state === "queued" || job.state === "running") {
    onJob(job);
    await new Promise((done) => setTimeout(done, POLL_MS));
    job = await send(path).catch((error) => {
      if (error instanceof Lost) return job;
      throw error;
    });
  }
  signal?.removeEventListener("abort", cancel);
  if (writes) settle(verb, job.answer, label, true);
  if (job.state === "failed") throw new ApiProblem(job.problem.status, job.problem);
  return job.state === "done" ? job.answer : null;
}

function noteReceipt(verb, answer, label, quiet) {
  const change = answer?.change?.change ?? answer?.change;
  if (typeof change !== "number") return;
  const action = answer.action ?? answer.change?.action ?? verb;
  const kref = answer.kref ?? answer.change?.kref ?? "";
  receipts.value = [{ change, action, kref, label: label || verb, undone: false }, ...receipts.value].slice(0, 50);
  if (!quiet)
    say(`${label || action}. Receipt ${change}.`, { kind: "done", action: { text: "Undo", run: () => undo(change) } });
}

/** Undo a change, by default the last one that was made here. */
export async function undo(change) {
  const found = change ?? receipts.value.find((one) => !one.undone && one.action !== "undone")?.change;
  if (found === undefined) {
    say("Nothing was changed here yet.");
    return null;
  }
  try {
    const answer = await write("undo", { change: found }, { label: `Undid change ${found}`, quiet: true });
    receipts.value = receipts.value.map((one) => (one.change === found ? { ...one, undone: true } : one));
    say(`Change ${found} is undone. Receipt ${answer.change}.`, { kind: "done" });
    return answer;
  } catch (error) {
    say(`${error.message} ${error.nextStep ?? ""}`, { kind: "error", seconds: 15 });
    return null;
  }
}

function clean(args) {
  return Object.fromEntries(
    Object.entries(args).filter(([, value]) => value !== "" && value !== undefined && value !== null),
  );
}

// What is looked at is one project, everywhere: the one that was chosen, else the login's own, else
// all of them (*).

/** The project that a verb reads. */
export function inProject() {
  return project.value || (session.value?.project ? undefined : "*");
}

/** The same for a statement, which has to name it. */
export function projectName() {
  return project.value || session.value?.project || "*";
}

/** The project that a verb writes to; where all are looked at, the login's own. */
export function toProject() {
  return project.value === "*" ? undefined : project.value || undefined;
}

// The connection

let watching = 0;

function lose() {
  if (connection.value === "open") connection.value = "lost";
  watch();
}

/** Ask until the server answers and knows this browser: after a restart, a new link in any tab. */
function watch() {
  if (watching) return;
  watching = setInterval(async () => {
    try {
      const reply = await fetch(`${base()}session`, { credentials: "same-origin", cache: "no-store" });
      if (reply.status === 401) connection.value = "over";
      if (!reply.ok) return;
      session.value = await reply.json();
      clearInterval(watching);
      watching = 0;
      connection.value = "open";
      epoch.value++;
    } catch {
      connection.value = "lost";
    }
  }, AGAIN_MS);
}

export async function begin() {
  try {
    session.value = await send("session");
  } catch (error) {
    if (error.status === 404 && database.value) {
      chooseDatabase(""); // it was removed
      return begin();
    }
    if (!(error instanceof Lost) && error.status !== 401) watch();
  }
}

/** Look at another database, from its start: what was shown is not there, and changes that were made
 *  in the one before are not undone here. */
export async function switchDatabase(name) {
  replaceRoute("ask", {});
  chooseDatabase(name);
  receipts.value = [];
  await begin();
  epoch.value++;
}

export async function leave() {
  await send("session", { method: "DELETE" });
  session.value = null;
  connection.value = "over";
}

const channel = new BroadcastChannel("doxa");
channel.onmessage = () => epoch.value++;

/** A page of events. */
export function events(query, signal) {
  return send(`events?${new URLSearchParams(query)}`, { signal });
}

/** Follow events as they are committed. Returns a function that ends it. */
export function follow(onEvent) {
  const source = new EventSource(`${base()}events?since=now`);
  const take = (message) => onEvent(JSON.parse(message.data));
  source.onmessage = take;
  for (const name of EVENT_NAMES) source.addEventListener(name, take);
  return () => source.close();
}

const EVENT_NAMES = [
  "item.created",
  "item.deprecated",
  "item.restored",
  "revision.created",
  "revision.tagged",
  "exchange.added",
  "conflict.opened",
  "conflict.decided",
  "catalogue.changed",
  "memory.hidden",
  "edge.created",
];

/** Load what a view shows. `load(signal)` is called again when `deps`, the time, the project or the
 *  memory changes; what was there before stays until the new answer is there. */
export function useLoad(load, deps = []) {
  const [state, setState] = useState({ data: null, error: null, loading: true });
  const [turn, setTurn] = useState(0);
  useLayoutEffect(() => {
    const abort = new AbortController();
    setState((before) => ({ ...before, loading: true }));
    Promise.resolve(load(abort.signal)).then(
      (data) => abort.signal.aborted || setState({ data, error: null, loading: false }),
      (error) => {
        if (abort.signal.aborted || error.name === "AbortError") return;
        setState((before) => ({ data: error instanceof Lost ? before.data : null, error, loading: false }));
      },
    );
    return () => abort.abort();
  }, [...deps, turn, epoch.value, systemTime.value, validTime.value, project.value, database.value]);
  return { ...state, again: () => setTurn(turn + 1) };
}
