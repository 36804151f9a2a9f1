// Inbox: what waits for a person: conflicts, proposals, candidates, what is in quarantine, and names
// that may mean several things. One key each, with a receipt and undo.

import { inProject, projectName, read, rows, textsOf, together, useLoad, write } from "../api.js";
import { WordDiff } from "../diff.js";
import { html, useState } from "../lib.js";
import {
  AboutNow,
  Chip,
  Empty,
  First,
  Freshness,
  Heading,
  KeyButton,
  KrefLink,
  Loaded,
  Row,
  Trust,
  fromNanos,
} from "../parts.js";
import { isPast, say, session } from "../state.js";

const MAX = 100; // of each group
const WAITING = `MATCH (i:Item)-[:CURRENT]->(r:Revision) WHERE r.trust = $trust
AND ($project = '*' OR r.project = $project)
RETURN r.kref AS kref, r.number AS number, r.summary AS text, r.trust AS trust, r.author AS author, r.time AS time
ORDER BY r.time DESC LIMIT $limit`;
const LATER = "doxa.later";

/** What waits now, whichever time the page looks at. */
async function load(signal) {
  const where = { project: inProject(), limit: MAX };
  const waiting = (trust) =>
    rows(WAITING, { trust, project: projectName(), limit: MAX + 1 }, { signal, now: true }).then((items) => ({
      items: items.slice(0, MAX),
      next: items.length > MAX,
    }));
  const [conflicts, proposals, candidates, quarantine, names] = await Promise.all([
    read("conflicts", where, { signal }),
    read("proposals", { ...where, state: "open" }, { signal }),
    waiting("candidate"),
    waiting("untrusted"),
    read("pending-entities", where, { signal }),
  ]);
  const texts = await textsOf(
    proposals.items.flatMap((one) => one.about),
    signal,
    { now: true },
  );
  const later = new Set(JSON.parse(sessionStorage.getItem(LATER) ?? "[]"));
  const kept = ({ items, next }) => ({ items: items.filter((one) => !later.has(one.kref)), more: Boolean(next) });
  return {
    texts,
    later: later.size,
    conflicts: kept(conflicts),
    proposals: kept(proposals),
    candidates: kept(candidates),
    quarantine: kept(quarantine),
    names: kept(names),
  };
}

export function Inbox() {
  const state = useLoad(load);
  const again = state.again;
  return html`<${Heading} title="Inbox" question="What waits for a decision of yours?">
    <a class="button" href="#/dream">What dreams did</a><//>
    <${AboutNow} />
    <${Loaded} state=${state}>${(found) => {
      const groups = [
        ["Conflicts", "Something new contradicts what was verified.", found.conflicts, ConflictRow],
        ["Proposals", "Background work found these, and changed nothing.", found.proposals, ProposalRow],
        ["Candidates", "Rules read these from conversations; nobody stated them.", found.candidates, CandidateRow],
        [
          "Quarantine",
          "From sources that are not trusted. It is text to be judged, and never an instruction.",
          found.quarantine,
          CandidateRow,
        ],
        ["Names", "Names that may mean several things.", found.names, NameRow],
      ].filter(([, , group]) => group.items.length);
      if (!groups.length)
        return html`<${Empty} title="Nothing waits for you.">
          ${found.later ? `${found.later} are put off until this tab is closed.` : "New conflicts, proposals and candidates appear here."}<//>`;
      return groups.map(
        ([
          title,
          about,
          { items, more },
          Kind,
        ]) => html`<section key=${title} aria-label=${title}><h2>${title} <span class="count">
          ${items.length}${more ? " and more" : ""}</span></h2><p class="small">${about}</p>
        <ul class="rows">${items.map((one) => html`<${Kind} one=${one} texts=${found.texts} again=${again} key=${one.kref} />`)}</ul>
        <${First} shown=${items.length} more=${more} /></section>`,
      );
    }}<//>`;
}

/** Buttons of a row. Each calls a verb; a refusal stays in the row. */
function Decisions({ kref, actions, again }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const later = () => {
    const held = JSON.parse(sessionStorage.getItem(LATER) ?? "[]");
    sessionStorage.setItem(LATER, JSON.stringify([...held, kref]));
    again();
  };
  const run = async (call) => {
    setBusy(true);
    setProblem("");
    focusNext();
    try {
      await call();
    } catch (error) {
      setProblem(`${error.message} ${error.nextStep ?? ""}`);
    }
    setBusy(false);
  };
  return html`<div class="line">
    ${actions.map(([shortcut, label, call, disabled]) => html`<${KeyButton} shortcut=${shortcut} disabled=${busy || isPast.value || disabled} class=${shortcut === "a" ? "primary" : ""} onClick=${() => run(call)}>${label}<//>`)}
    <${KeyButton} shortcut="l" disabled=${busy} onClick=${later}>Later<//>
    ${problem && html`<p class="problem small" role="alert">${problem}</p>`}
  </div>`;
}

/** The row that is decided goes away: keep the keyboard in the list. */
function focusNext() {
  const row = document.activeElement?.closest("[data-row]");
  const all = [...document.querySelectorAll("main [data-row]")];
  const next = all[all.indexOf(row) + 1] ?? all[all.indexOf(row) - 1];
  next?.focus();
}

function ConflictRow({ one, again }) {
  const decide = (decision, label) => () => write("resolve", { conflict: one.kref, decision }, { label });
  const held = one.held[0];
  return html`<${Row} kref=${one.challenger.item}>
    <p class="small">Believed: <${KrefLink} kref=${one.challenger.item} /> ${held && html`<${Trust} trust=${held.trust} /> by ${held.author}`}</p>
    ${held ? html`<${WordDiff} before=${held.summary} after=${one.challenger.summary} />` : html`<p class="text">
      ${one.challenger.summary}</p>`}
    <p class="meta"><span>New, by ${one.opened_by}</span><${Trust} trust=${one.challenger.trust} />
      <${Freshness} at=${one.opened} /></p>
    <${Decisions} kref=${one.kref} again=${again} actions=${[
      ["a", "Accept the new", decide("accept", "Accepted the new belief")],
      ["x", "Keep the old", decide("reject", "Kept the old belief")],
      ["m", "Keep both", decide("both", "Kept both, one after the other")],
    ]} />
  <//>`;
}

const PROPOSAL_WORDS = {
  duplicate: "They say the same",
  contradiction: "They contradict each other",
  stale: "It may be outdated",
  gap: "Something is missing",
  relation: "They belong together",
  summary: "A summary",
  unsupported: "It lost its support",
};

const RETIRE =
  "CALL doxa.deprecate($item, {expect: $number}) YIELD action, kref, change " +
  "CALL doxa.reject($proposal, {reason: $reason}) YIELD state RETURN action, kref, change";

function ProposalRow({ one, texts, again }) {
  const can = Object.keys(one.action).length > 0;
  const apply = async () => {
    const { items } = await write("apply", { proposals: [one.kref], age_days: 0 }, { label: "Applied a proposal" });
    const found = items[0];
    if (found.state !== "applied") throw new Error(found.said || `It is ${found.state}.`);
    say(`Applied.${found.change ? ` Receipt ${found.change}.` : ""}`, { kind: "done" });
  };
  const reject = async () => {
    await write("reject", { proposal: one.kref }, { label: "Rejected a proposal" });
    say("Rejected: it will not be proposed again.", { kind: "done" });
  };
  const retire = async () => {
    const [item, number] = one.about[0].split("?r=");
    const reason = "it was retired";
    if ((await read("get", { kref: item })).status === "deprecated")
      return write("reject", { proposal: one.kref, reason }, { quiet: true });
    return together(RETIRE, { item, number: Number(number), proposal: one.kref, reason }, { label: "Retired" });
  };
  const lost = one.kind === "unsupported";
  const actions = [["x", lost ? "It still holds" : "Reject", reject]];
  if (can) actions.unshift(["a", "Apply", apply]);
  else if (lost) actions.unshift(["a", "Retire it", retire]);
  return html`<${Row} kref=${one.about[0]}>
    <p><strong>${PROPOSAL_WORDS[one.kind] ?? one.kind}.</strong> <span class="small">${one.reason}</span></p>
    <ul class="about">${one.about.map((kref) => html`<li><${KrefLink} kref=${kref}>${texts.get(kref) || kref}<//>
      </li>`)}</ul>
    <p class="meta"><${Freshness} at=${one.made} /></p>
    <${Decisions} kref=${one.kref} again=${again} actions=${actions} />
  <//>`;
}

function CandidateRow({ one, again }) {
  const item = one.kref.split("?")[0];
  const said = { what: item, text: one.text, again: true, expect: one.number }; // what was read, and nothing newer
  const accept = () => write("revise", { ...said, trust: "stated" }, { label: "Accepted" });
  const retire = () => write("deprecate", { kref: item, expect: one.number }, { label: "Retired" });
  const operator = session.value?.role === "operator";
  const verify = () => write("revise", { ...said, trust: "verified" }, { label: "Verified" });
  return html`<${Row} kref=${one.kref}>
    <p class="text"><${KrefLink} kref=${one.kref}>${one.text}<//></p>
    <p class="meta"><${Trust} trust=${one.trust} /><span>by ${one.author}</span>
      <${Freshness} at=${fromNanos(one.time)} /></p>
    <${Decisions} kref=${one.kref} again=${again} actions=${[
      ["a", "Accept", accept],
      ["x", "Retire", retire],
      ...(operator ? [["v", "Verify", verify]] : []),
    ]} />
  <//>`;
}

function NameRow({ one, again }) {
  const answer = (text, label) => () => write("resolve-entity", { mention: one.kref, answer: text }, { label });
  return html`<${Row} kref=${one.sources[0]}>
    <p><strong>${one.name}</strong> ${one.kind && html`<${Chip}>${one.kind}<//>`} <span class="small">
      ${one.reason}</span></p>
    <p class="small">In ${one.sources.map((kref) => html`<${KrefLink} kref=${kref} /> `)}</p>
    <${Decisions} kref=${one.kref} again=${again} actions=${[
      ...one.candidates
        .slice(0, 3)
        .map((found, at) => [at ? "" : "a", `It is ${found.name}`, answer(found.kref, `${one.name} is ${found.name}`)]),
      ["n", "Somebody new", answer("new", `${one.name} is new`)],
      ["x", "Not a name", answer("none", `${one.name} is not a name`)],
    ]} />
  <//>`;
}
