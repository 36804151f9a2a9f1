// Cypher: a statement, its rows as a table or a graph, and its plan.

import { asOf, statement } from "../api.js";
import { Drawing, EdgeList, NODES_MAX } from "../graph.js";
import { html, useState } from "../lib.js";
import { Chip, Heading, Problem, useDraft, KrefLink } from "../parts.js";
import { isPast, session } from "../state.js";

const FIRST = "MATCH (a:Revision)-[r:DEPENDS_ON]->(b:Revision) RETURN a, r, b LIMIT 25";
const ROWS_MAX = 200;
const EXAMPLES = [
  ["What depends on what", FIRST],
  [
    "The newest beliefs",
    "MATCH (i:Item)-[:CURRENT]->(r:Revision) RETURN r.kref, r.summary, r.trust ORDER BY r.time DESC LIMIT 20",
  ],
  ["Who said how much", "MATCH (n:Exchange) RETURN n.speaker AS speaker, count(*) AS turns ORDER BY turns DESC"],
];

export function Cypher() {
  const [text, setText] = useDraft("cypher", FIRST);
  const [result, setResult] = useState(null);
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const [shown, setShown] = useState("table");
  const [writes, setWrites] = useState(false);
  const run = async (event, mode = "") => {
    event?.preventDefault();
    setBusy(true);
    setError(null);
    try {
      setResult(await statement(mode ? `${mode} ${asOf(text)}` : asOf(text), {}, { writes: writes && !mode && !isPast.value }));
      setShown((before) => (mode ? "plan" : before === "plan" ? "table" : before));
    } catch (caught) {
      setError(caught);
    }
    setBusy(false);
  };
  const keys = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run(event);
  };
  return html`<${Heading} title="Cypher" question="Ask the graph itself." />
    <form class="change" onSubmit=${run}>
      <label>Statement <textarea rows="4" class="mono" spellcheck="false" value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${keys} required></textarea></label>
      <div class="line"><button class="primary" disabled=${busy}>${busy ? "Running …" : "Run"} <kbd>Ctrl Enter</kbd>
        </button>
        <button type="button" disabled=${busy} onClick=${(event) => run(event, "EXPLAIN")}>Plan</button>
        <label class="compact">
          <input type="checkbox" checked=${writes && !isPast.value} disabled=${session.value === null || isPast.value} onChange=${(event) => setWrites(event.target.checked)} /> may write</label>
        ${isPast.value && html`<${Chip} kind="warn">as of the time above<//>`}</div>
      <div class="line">${EXAMPLES.map(([label, example]) => html`<button type="button" class="quiet" onClick=${() => setText(example)}>${label}</button>`)}</div>
    </form>
    <${Problem} error=${error} />
    ${error?.fields?.excerpt && html`<pre class="excerpt" tabindex="0">${error.fields.excerpt}</pre>`}
    ${result && html`<${Result} result=${result} shown=${shown} setShown=${setShown} />`}`;
}

function Result({ result, shown, setShown }) {
  const graph = graphOf(result);
  const counted = Object.entries(result.counters).filter(([, value]) => typeof value === "number" && value > 0);
  return html`<section aria-label="Result">
    <div class="line"><div class="choice" role="group" aria-label="Shown as">
      ${["table", "graph", "plan"].map((name) => html`<button type="button" aria-pressed=${shown === name} disabled=${(name === "graph" && !graph.nodes.length) || (name === "plan" && !result.plan)} onClick=${() => setShown(name)}>${name}</button>`)}</div>
      <span class="small" role="status">
        ${result.rows.length} row${result.rows.length === 1 ? "" : "s"}${counted.map(([name, value]) => `, ${name} ${value}`)}</span></div>
    ${result.notifications.map((one) => html`<p class="small">${one.description}</p>`)}
    ${shown === "table" && html`<${Rows} result=${result} />`}
    ${shown === "graph" && html`<div class="graph-and-list"><${Drawing} ...${graph} center=${false} />
      <${EdgeList} ...${graph} center=${false} /></div>`}
    ${shown === "plan" && result.plan && html`<ul class="plan"><${PlanStep} step=${result.plan} /></ul>`}
  </section>`;
}

function Rows({ result }) {
  if (!result.columns.length) return html`<p class="small">The statement returns nothing.</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Rows"><table><thead><tr>
    ${result.columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
    <tbody>${result.rows.slice(0, ROWS_MAX).map((row) => html`<tr>${row.map((value) => html`<td>
      ${cell(value)}</td>`)}</tr>`)}</tbody></table></div>
    ${result.rows.length > ROWS_MAX && html`<p class="small">The first ${ROWS_MAX} rows are shown.</p>`}`;
}

function cell(value) {
  if (value === null) return html`<span class="small">null</span>`;
  if (typeof value === "string") return value.startsWith("kref://") ? html`<${KrefLink} kref=${value} />` : value;
  if (value?.properties?.kref) return html`<${KrefLink} kref=${value.properties.kref}>${textOf(value)}<//>`;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function textOf(node) {
  const { title, summary, text, name, kref } = node.properties;
  return title || summary || text || name || kref || node.elementId;
}

/** The nodes and relationships of a result, each once. */
function graphOf(result) {
  const nodes = new Map();
  const edges = new Map();
  const take = (value) => {
    if (Array.isArray(value)) value.forEach(take);
    else if (value?.labels && nodes.size < NODES_MAX)
      nodes.set(value.elementId, {
        kref: value.properties.kref ?? value.elementId,
        text: textOf(value),
        depth: 1,
        current: true,
      });
    else if (value?.startNodeElementId) edges.set(value.elementId, value);
  };
  result.rows.forEach((row) => row.forEach(take));
  const drawn = [...edges.values()].filter(
    (one) => nodes.has(one.startNodeElementId) && nodes.has(one.endNodeElementId),
  );
  return {
    nodes: [...nodes.values()],
    edges: drawn.map((one) => ({
      from: nodes.get(one.startNodeElementId).kref,
      to: nodes.get(one.endNodeElementId).kref,
      type: one.type,
    })),
  };
}

function PlanStep({ step }) {
  const { Details: details, ...others } = step.arguments;
  const extra = Object.entries(others)
    .map(([name, value]) => `${name} ${value}`)
    .join(", ");
  return html`<li><strong>${step.operatorType}</strong> <span class="small">${extra}</span>
    ${details && html`<pre tabindex="0" aria-label="Details of ${step.operatorType}">${details}</pre>`}
    ${step.children.length > 0 && html`<ul>
      ${step.children.map((one) => html`<${PlanStep} step=${one} />`)}</ul>`}</li>`;
}
