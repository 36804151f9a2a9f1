// Dream: what background work did, proposed and was refused; a run can be undone.

import { inProject, read, textsOf, useLoad, write } from "../api.js";
import { html, useState } from "../lib.js";
import { Chip, Empty, Heading, KeyButton, KrefLink, Loaded, Problem, Row, Time, formatTime } from "../parts.js";
import { say, session } from "../state.js";

async function load(signal) {
  const where = { project: inProject() };
  const [runs, proposals] = await Promise.all([
    read("runs", { ...where, limit: 60 }, { signal }),
    read("proposals", { ...where, state: "", limit: 500 }, { signal }),
  ]);
  const texts = await textsOf(
    proposals.items.flatMap((one) => one.about),
    signal,
  );
  return { runs: runs.items, proposals: proposals.items, texts };
}

export function Dream() {
  const state = useLoad(load);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const dream = async () => {
    setBusy(true);
    setError(null);
    try {
      const report = await write("dream", { project: inProject() }, { label: "Dreamed", quiet: true });
      say(`Dreamed: ${report.proposed.length} proposed, ${report.applied.length} applied.`, { kind: "done" });
    } catch (caught) {
      setError(caught);
    }
    setBusy(false);
  };
  return html`<${Heading} title="Dream" question="What did background work find, and what did it do?">
      <button type="button" class="primary" disabled=${busy} onClick=${dream}>
        ${busy ? "Dreaming …" : "Dream now"}</button><//>
    <${Problem} error=${error} />
    <${Loaded} state=${state}>${({ runs, proposals, texts }) =>
      runs.length
        ? runs.map(
            (run) =>
              html`<${Run} run=${run} proposals=${proposals.filter((one) => one.run === run.kref)} texts=${texts} key=${run.kref} />`,
          )
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
        ? html`<h3>${label} <span class="count">${found.length}</span></h3><ul class="rows">${found.slice(0, 40).map(
            (one) => html`<${Row} kref=${one.about[0]} key=${one.kref}>
        <p><${Chip}>${one.kind}<//> <span class="small">${one.reason} ${one.said}</span></p>
        <ul class="about">${one.about.map((kref) => html`<li><${KrefLink} kref=${kref}>${texts.get(kref) || kref}<//>
          </li>`)}</ul><//>`,
          )}</ul>`
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
          : html`<button type="button" onClick=${() => setAsking(true)}>Undo this run</button>`)
      }</div>
  </section>`;
}
