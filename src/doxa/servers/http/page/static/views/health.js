// Health: whether the memory is whole, what waits, what it grows by, and what models cost.

import { inProject, longWork, read, useLoad } from "../api.js";
import { html, useState } from "../lib.js";
import { AboutNow, Chip, Freshness, Heading, KrefLink, Loaded, LongWork, formatTime } from "../parts.js";

async function load(signal) {
  const optional = (call) => call.catch((error) => ({ refused: error.message }));
  const [stats, checks, survey, spending, log, growth, hooks] = await Promise.all([
    optional(read("stats", {}, { signal })),
    optional(read("doctor", {}, { signal })),
    optional(read("survey", { project: inProject() }, { signal })),
    optional(read("spending", { days: 30 }, { signal })),
    optional(read("log", { limit: 500, newest_first: true }, { signal })),
    optional(read("growth", {}, { signal })),
    optional(read("hook-report", {}, { signal })),
  ]);
  return { stats, checks, survey, spending, log, growth, hooks };
}

export function Health() {
  const state = useLoad(load);
  return html`<${Heading} title="Health" question="Is the memory whole, and what does it need?"><${Verify} /><//>
    <${AboutNow} />
    <${Loaded} state=${state}>${({ stats, checks, survey, spending, log, growth, hooks }) => html`
      <${Checks} checks=${checks} />
      <${Backup} growth=${growth} />
      <${Size} stats=${stats} growth=${growth} />
      <${Writers} log=${log} />
      <${Hooks} hooks=${hooks} />
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

const mebibytes = (bytes) => `${(bytes / 1_048_576).toFixed(1)} MiB`;

function Size({ stats, growth }) {
  if (stats.refused) return html`<section><h2>Size and growth</h2><${Refused} of=${stats} /></section>`;
  return html`<section><h2>Size and growth</h2>
    <dl class="numbers">${COUNTS.filter((name) => name in stats).map((name) => html`<div><dt>
      ${name.replaceAll("_", " ")}</dt><dd>${Number(stats[name]).toLocaleString()}</dd></div>`)}
      ${stats.bytes !== undefined && html`<div><dt>size</dt><dd>${mebibytes(stats.bytes)}</dd></div>`}
      ${!growth.refused && html`<div><dt>a week adds</dt><dd>${mebibytes(growth.bytes_per_week)}</dd></div>`}</dl>
    ${(stats.jobs ?? []).length > 0 && html`<p class="meta">${stats.jobs.map((one) => html`<span>
      ${one}</span>`)}</p>`}
    ${growth.refused ? html`<${Refused} of=${growth} />` : html`<${Growth} growth=${growth} />`}</section>`;
}

/** What of the file grows, how fast, and what would trim it. */
function Growth({ growth }) {
  const { weeks, parts, operations } = growth;
  const most = Math.max(1, ...weeks);
  const said = `Entries of the log in each of the last ${weeks.length} weeks: ${weeks.join(", ")}`;
  return html`<figure class="growth">
      <svg viewBox="0 0 ${weeks.length * 24} 60" role="img" aria-label=${said}>
      ${weeks.map((count, at) => html`<rect x=${at * 24 + 1} y=${58 - (count / most) * 54} width="22" height=${(count / most) * 54 + 1}><title>${count}</title></rect>`)}</svg>
      <figcaption class="small">${said}. Most by ${operations.map((one) => `${one.op} ${one.entries.toLocaleString()}`).join(", ") || "nobody"}.</figcaption></figure>
    <div class="scroll" tabindex="0" role="region" aria-label="Parts of the file"><table><thead><tr><th scope="col">Part</th>
      <th scope="col">Size</th><th scope="col">What would trim it</th></tr></thead><tbody>
      ${parts.map((one) => html`<tr><th scope="row">${one.part}</th><td>${mebibytes(one.bytes)}</td><td>${one.trim}</td></tr>`)}</tbody></table></div>`;
}

function Backup({ growth }) {
  if (growth.refused) return null;
  const { backup } = growth;
  if (!backup)
    return html`<section><h2>Last backup <${Chip} kind="warn">none<//></h2><p class="small">
      <code>doxa backups run</code> makes one and restores it as a test.</p></section>`;
  const made = new Date(Date.now() - backup.age_s * 1000).toISOString();
  const state = !backup.exists
    ? ["bad", "its file is gone"]
    : backup.problem
      ? ["bad", "its restore failed"]
      : backup.tested
        ? ["good", "its restore was tested"]
        : ["warn", "its restore was not tested"];
  return html`<section><h2>Last backup <${Chip} kind=${state[0]}>${state[1]}<//></h2>
    <p class="meta"><span>${backup.name}</span><${Freshness} at=${made} />
      ${backup.tested && html`<span>up to change ${backup.change.toLocaleString()}, ${mebibytes(backup.size_bytes)}</span>`}</p>
    ${backup.problem && html`<p class="problem">${backup.problem}</p>`}</section>`;
}

const LOADS = { healthy: "good", near_budget: "warn", over_budget: "bad", error: "bad" };

/** How long hooks of agent hosts took. */
function Hooks({ hooks }) {
  if (hooks.refused || !hooks.items) return null;
  if (!hooks.items.length)
    return html`<section><h2>How long hooks take</h2><p class="small">No hook of an agent was measured yet.</p></section>`;
  return html`<section><h2>How long hooks take</h2>
    <div class="scroll" tabindex="0" role="region" aria-label="How long hooks take"><table><thead><tr><th scope="col">Host</th>
      <th scope="col">Event</th><th scope="col">Calls</th><th scope="col">Median</th><th scope="col">95 %</th>
      <th scope="col">Budget</th><th scope="col">State</th></tr></thead><tbody>
      ${hooks.items.map((one) => html`<tr><th scope="row">${one.host || "unknown"}</th><td>${one.event}</td><td>${one.count}</td>
      <td>${one.median_ms.toFixed(1)} ms</td><td>${one.p95_ms.toFixed(1)} ms</td><td>${one.budget_ms} ms</td>
      <td><${Chip} kind=${LOADS[one.status] ?? ""}>${one.status.replaceAll("_", " ")}<//>${one.errors > 0 && ` ${one.errors} failed`}</td>
      </tr>`)}</tbody></table></div></section>`;
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
  return html`<section><h2>Spending on models</h2><div class="scroll" tabindex="0" role="region" aria-label="Spending on models"><table><thead><tr><th scope="col">Day</th><th scope="col">For</th>
    <th scope="col">Model</th><th scope="col">Calls</th><th scope="col">Tokens</th></tr></thead><tbody>
    ${spending.days.map((one) => html`<tr><td>${one.day}</td><td>${one.purpose}</td><td>${one.model}</td><td>
    ${one.calls}</td><td>${(one.tokens_in + one.tokens_out).toLocaleString()}</td></tr>`)}</tbody></table></div></section>`;
}
