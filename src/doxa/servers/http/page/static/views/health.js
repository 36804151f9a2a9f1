// Health: whether the memory is whole, what waits, what it grows by, and what models cost.

import { inProject, longWork, read, useLoad } from "../api.js";
import { html, useState } from "../lib.js";
import { AboutNow, Chip, Heading, KrefLink, Loaded, LongWork, formatTime } from "../parts.js";

async function load(signal) {
  const optional = (call) => call.catch((error) => ({ refused: error.message }));
  const [stats, checks, survey, spending, log] = await Promise.all([
    optional(read("stats", {}, { signal })),
    optional(read("doctor", {}, { signal })),
    optional(read("survey", { project: inProject() }, { signal })),
    optional(read("spending", { days: 30 }, { signal })),
    optional(read("log", { limit: 500, newest_first: true }, { signal })),
  ]);
  return { stats, checks, survey, spending, log };
}

export function Health() {
  const state = useLoad(load);
  return html`<${Heading} title="Health" question="Is the memory whole, and what does it need?"><${Verify} /><//>
    <${AboutNow} />
    <${Loaded} state=${state}>${({ stats, checks, survey, spending, log }) => html`
      <${Checks} checks=${checks} />
      <${Growth} stats=${stats} log=${log} />
      <${Writers} log=${log} />
      <${Care} survey=${survey} />
      <${Spent} spending=${spending} />`}<//>`;
}

function Verify() {
  const [found, setFound] = useState(null);
  const ended = (proof) =>
    setFound(
      proof
        ? {
            good: true,
            text: `Whole: ${proof.receipts} receipts and ${proof.entries} entries, head ${proof.head.slice(0, 12)}…`,
          }
        : { good: false, text: "It was stopped before the end." },
    );
  return html`<${LongWork} label="Verify the log" running="Checking" primary=${false} ended=${ended}
      start=${(options) => longWork("verify", {}, options)} /><span role="status">
    ${found && html`<${Chip} kind=${found.good ? "good" : "warn"}>${found.text}<//>`}</span>`;
}

function Refused({ of }) {
  return html`<p class="small">${of.refused}</p>`;
}

function Checks({ checks }) {
  if (checks.refused) return html`<section><h2>Checks</h2><${Refused} of=${checks} /></section>`;
  const bad = checks.items.filter((one) => !one.ok);
  return html`<section><h2>Checks <${Chip} kind=${bad.length ? "bad" : "good"}>
    ${bad.length ? `${bad.length} need attention` : "all is well"}<//></h2>
    <div class="scroll" tabindex="0" role="region" aria-label="Checks"><table><thead><tr><th scope="col">What</th>
      <th scope="col">State</th><th scope="col">Found</th></tr></thead><tbody>
      ${[...bad, ...checks.items.filter((one) => one.ok)].map((one) => html`<tr><th scope="row">${one.name}</th>
      <td class="state"><${Chip} kind=${one.ok ? "good" : "bad"}>${one.ok ? "well" : "look"}<//></td><td>
      ${one.detail}${one.next_step && html`<br /><span class="small">${one.next_step}</span>`}</td></tr>`)}</tbody>
      </table></div></section>`;
}

const COUNTS = [
  "projects",
  "items",
  "revisions",
  "exchanges",
  "threads",
  "artifacts",
  "unembedded",
  "changes",
  "log_entries",
];

function Growth({ stats, log }) {
  if (stats.refused) return html`<section><h2>Size</h2><${Refused} of=${stats} /></section>`;
  const days = new Map();
  for (const one of log.items ?? [])
    days.set(one.time.slice(0, 10), (days.get(one.time.slice(0, 10)) ?? 0) + one.last_seq - one.first_seq + 1);
  const known = [...days].sort().slice(-30);
  const most = Math.max(1, ...known.map(([, count]) => count));
  return html`<section><h2>Size and growth</h2>
    <dl class="numbers">${COUNTS.filter((name) => name in stats).map((name) => html`<div><dt>
      ${name.replaceAll("_", " ")}</dt><dd>${Number(stats[name]).toLocaleString()}</dd></div>`)}
      ${stats.bytes !== undefined && html`<div><dt>size</dt><dd>${(stats.bytes / 1_048_576).toFixed(1)} MiB</dd>
        </div>`}</dl>
    ${known.length > 1 && html`<figure class="growth">
      <svg viewBox="0 0 ${known.length * 12} 60" role="img" aria-label="Entries of the log by day, at most ${most}">
      ${known.map(([day, count], at) => html`<rect x=${at * 12 + 1} y=${58 - (count / most) * 54} width="10" height=${(count / most) * 54 + 1}><title>${day}: ${count}</title></rect>`)}</svg><figcaption class="small">Entries of the log by day, ${known[0][0]} to ${known.at(-1)[0]}</figcaption></figure>`}
    ${(stats.jobs ?? []).length > 0 && html`<p class="meta">${stats.jobs.map((one) => html`<span>
      ${one}</span>`)}</p>`}</section>`;
}

/** Who writes what: hooks, agents, people and jobs. */
function Writers({ log }) {
  if (log.refused) return null;
  const found = new Map();
  for (const one of log.items) {
    const writer = found.get(one.actor) ?? {
      actor: one.actor,
      role: one.role,
      changes: 0,
      ops: new Map(),
      last: one.time,
    };
    writer.changes++;
    writer.ops.set(one.op, (writer.ops.get(one.op) ?? 0) + 1);
    found.set(one.actor, writer);
  }
  const most = [...found.values()].sort((a, b) => b.changes - a.changes).slice(0, 40);
  return html`<section><h2>Who writes what</h2>
    <p class="small">Of the last ${log.items.length} changes. A hook writes under the name of its host.</p>
    <div class="scroll" tabindex="0" role="region" aria-label="Who writes what"><table><thead><tr>
      <th scope="col">Who</th><th scope="col">Role</th><th scope="col">Changes</th><th scope="col">By</th>
      <th scope="col">Last</th></tr></thead><tbody>${most.map((one) => html`<tr><th scope="row">${one.actor}</th><td>
      ${one.role}</td><td>${one.changes}</td><td>
      ${[...one.ops].map(([op, count]) => `${op} ${count}`).join(", ")}</td><td>${formatTime(one.last)}</td>
      </tr>`)}</tbody></table></div></section>`;
}

function Care({ survey }) {
  if (survey.refused) return null;
  const facts = [
    ["open conflicts", survey.conflicts],
    ["without support", survey.unsupported],
    ["expired", survey.expired],
    ["doubtful", survey.doubtful],
    ["stale", survey.stale],
    ["waiting for embedding", survey.pending],
  ];
  return html`<section><h2>What could be looked at</h2><dl class="numbers">${facts.map(([name, count]) => html`<div>
    <dt>${name}</dt><dd>${count}</dd></div>`)}</dl>
    ${survey.oldest.length > 0 && html`<ul>${survey.oldest.map((one) => html`<li><${KrefLink} kref=${one.kref}>
      ${one.text}<//> <span class="small">${one.days} days old</span></li>`)}</ul>`}</section>`;
}

function Spent({ spending }) {
  if (spending.refused) return null;
  if (!spending.days.length)
    return html`<section><h2>Spending on models</h2><p class="small">No language model was used in 30 days.</p>
      </section>`;
  return html`<section><h2>Spending on models</h2><table><thead><tr><th scope="col">Day</th><th scope="col">For</th>
    <th scope="col">Model</th><th scope="col">Calls</th><th scope="col">Tokens</th></tr></thead><tbody>
    ${spending.days.map((one) => html`<tr><td>${one.day}</td><td>${one.purpose}</td><td>${one.model}</td><td>
    ${one.calls}</td><td>${(one.tokens_in + one.tokens_out).toLocaleString()}</td></tr>`)}</tbody></table></section>`;
}
