// Dream: what background work did, proposed and was refused; a run can be undone.

import { inProject, longWork, read, textsOf, toProject, useLoad, write } from "../api.js";
import { html, useState } from "../lib.js";
import {
  AboutNow,
  Chip,
  Empty,
  First,
  Heading,
  KeyButton,
  KrefLink,
  Loaded,
  LongWork,
  Problem,
  Row,
  Time,
  formatTime,
} from "../parts.js";
import { isPast, say, session } from "../state.js";

const RUNS_MAX = 60;
const PROPOSALS_MAX = 500;
const SHOWN = 40; // of a run, in each state

async function load(signal) {
  const where = { project: inProject() };
  const [runs, proposals] = await Promise.all([
    read("runs", { ...where, limit: RUNS_MAX + 1 }, { signal }),
    read("proposals", { ...where, state: "", limit: PROPOSALS_MAX }, { signal }),
  ]);
  const texts = await textsOf(
    proposals.items.flatMap((one) => one.about),
    signal,
    { now: true },
  );
  return {
    runs: runs.items.slice(0, RUNS_MAX),
    proposals: proposals.items,
    texts,
    moreRuns: runs.items.length > RUNS_MAX,
    moreProposals: Boolean(proposals.next),
  };
}

export function Dream() {
  const state = useLoad(load);
  const ended = (report) =>
    say(
      report
        ? `Dreamed: ${report.proposed.length} proposed, ${report.applied.length} applied.`
        : "The dream was stopped. What it did until then is its run below.",
      { kind: "done" },
    );
  return html`<${Heading} title="Dream" question="What did background work find, and what did it do?">
      <${LongWork} label="Dream now" running="Dreaming" disabled=${isPast.value} ended=${ended}
        start=${(options) => longWork("dream", { project: toProject() }, { ...options, label: "Dreamed", writes: true })} /><//>
    <${AboutNow} />
    <${Loaded} state=${state}>${({ runs, proposals, texts, moreRuns, moreProposals }) =>
      runs.length
        ? html`<${First} shown=${PROPOSALS_MAX} more=${moreProposals} what="proposals" />
          ${runs.map(
            (run) =>
              html`<${Run} run=${run} proposals=${proposals.filter((one) => one.run === run.kref)} texts=${texts} key=${run.kref} />`,
          )}<${First} shown=${RUNS_MAX} more=${moreRuns} what="runs, the newest," />`
        : html`<${Empty} title="Nothing was dreamed yet.">A dream looks at what is new and proposes what to join, end or connect.<//>`}<//>`;
}

const STATES = [
  ["applied", "Applied"],
  ["open", "Proposed"],
  ["rejected", "Refused"],
  ["blocked", "Blocked"],
  ["failed", "Failed"],
];

function Run({ run, proposals, texts }) {
  const [asking, setAsking] = useState(false);
  const [error, setError] = useState(null);
  const undo = async () => {
    try {
      const found = await write("undo-run", { run: run.kref }, { label: "Undid a run", quiet: true });
      say(`The run is undone: ${found.changes.length} changes taken back.`, { kind: "done" });
      setAsking(false);
    } catch (caught) {
      setError(caught);
    }
  };
  const counts = Object.entries(run.counts).filter(([, count]) => count > 0);
  const writes = run.touched > 0 || run.changed > 0;
  return html`<section class="run" aria-label="${run.job}, ${formatTime(run.started)}">
    <h2>${run.job} <${Chip} kind=${run.state === "done" ? "good" : run.state === "undone" ? "past" : "warn"}>
      ${run.state}<//> <span class="small">
      ${formatTime(run.started)}, <${Time} at=${run.started} />, by ${run.model || "rules"}</span></h2>
    <p class="meta">${counts.map(([name, count]) => html`<span>${count} ${name}</span>`)}</p>
    ${run.error && html`<p class="problem small">${run.error}</p>`}
    ${STATES.map(([name, label]) => {
      const found = proposals.filter((one) => one.state === name);
      return found.length
        ? html`<h3>${label} <span class="count">${found.length}</span></h3><ul class="rows">${found.slice(0, SHOWN).map(
            (one) => html`<${Row} kref=${one.about[0]} key=${one.kref}>
        <p><${Chip}>${one.kind}<//> <span class="small">${one.reason} ${one.said}</span></p>
        <ul class="about">${one.about.map((kref) => html`<li><${KrefLink} kref=${kref}>${texts.get(kref) || kref}<//>
          </li>`)}</ul><//>`,
          )}</ul><${First} shown=${SHOWN} total=${found.length} />`
        : null;
    })}
    <${Problem} error=${error} />
    <div class="line">${proposals.some((one) => one.state === "open") && html`<a class="button" href="#/inbox">Decide in the inbox</a>`}
      ${
        run.state !== "undone" &&
        writes &&
        (asking
          ? html`<span>Take back all that this run changed?</span>
            <${KeyButton} class="primary" disabled=${session.value === null} onClick=${undo}>Undo the run<//>
            <button type="button" onClick=${() => setAsking(false)}>Cancel</button>`
          : html`<button type="button" disabled=${isPast.value} onClick=${() => setAsking(true)}>Undo this run</button>`)
      }</div>
  </section>`;
}
