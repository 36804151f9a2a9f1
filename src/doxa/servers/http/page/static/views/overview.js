// The overview of a project: its spaces as areas by the number of their beliefs, and what joins them;
// the same as a table below it. It has some dozens of marks for any number of beliefs.

import { projectName, rows, useLoad } from "../api.js";
import { layout } from "../graph.js";
import { html, useMemo } from "../lib.js";
import { Empty, First, Freshness, Loaded, freshnessOf, fromNanos } from "../parts.js";
import { address } from "../state.js";

const SPACES_MAX = 40;
const WIDTH = 720;
const HEIGHT = 460;
const RADIUS = [9, 58]; // the smallest and the largest area
const IN = "($project = '*' OR r.project = $project)";
const SPACES = `MATCH (i:Item)-[:CURRENT]->(r:Revision) WHERE ${IN}
RETURN r.project AS project, r.space AS space, i.kind AS kind, count(*) AS number, max(r.time) AS last`;
const JOINED = `MATCH (r:Revision)-[e:DEPENDS_ON|CONTRADICTS|SUPPORTS]->(b:Revision) WHERE ${IN}
RETURN r.project AS project, r.space AS space, b.project AS toProject, b.space AS toSpace, count(*) AS number`;

async function load(signal) {
  const given = { project: projectName() };
  const [counted, joined] = await Promise.all([
    rows(SPACES, given, { signal }),
    rows(JOINED, given, { signal }),
  ]);
  const spaces = new Map();
  const name = (project, space) => [project, space].filter(Boolean).join("/");
  for (const one of counted) {
    const key = name(one.project, one.space);
    const held = spaces.get(key) ?? { kref: `kref://${key}`, name: key, number: 0, last: 0, kinds: [] };
    held.number += one.number;
    held.last = Math.max(held.last, Number(one.last));
    held.kinds.push([one.kind, one.number]);
    spaces.set(key, held);
  }
  const all = [...spaces.values()].sort((a, b) => b.number - a.number || (a.name < b.name ? -1 : 1));
  const nodes = all.slice(0, SPACES_MAX);
  const shown = new Set(nodes.map((one) => one.kref));
  const pairs = new Map();
  for (const one of joined) {
    const ends = [name(one.project, one.space), name(one.toProject, one.toSpace)].map((key) => `kref://${key}`).sort();
    if (ends[0] === ends[1] || !ends.every((end) => shown.has(end))) continue;
    pairs.set(ends.join(" "), (pairs.get(ends.join(" ")) ?? 0) + one.number);
  }
  const edges = [...pairs].map(([ends, number]) => ({ from: ends.split(" ")[0], to: ends.split(" ")[1], number }));
  return { nodes, edges, total: all.length };
}

export function Overview() {
  const state = useLoad(load);
  return html`<${Loaded} state=${state}>${({ nodes, edges, total }) =>
    nodes.length
      ? html`<p class="small">An area is a space: the larger, the more beliefs; the greener, the newer the last of them. A line
          joins spaces whose beliefs depend on each other.</p>
        <${First} shown=${SPACES_MAX} total=${total} what="spaces, the largest," />
        <${Areas} nodes=${nodes} edges=${edges} /><${Spaces} nodes=${nodes} edges=${edges} />`
      : html`<${Empty} title="Nothing is believed here yet." />`}<//>`;
}

function Areas({ nodes, edges }) {
  const at = useMemo(() => layout(nodes, edges, WIDTH, HEIGHT), [nodes, edges]);
  const number = new Map(nodes.map((node, index) => [node.kref, index]));
  const most = Math.max(...nodes.map((one) => one.number));
  const radius = (one) => RADIUS[0] + (RADIUS[1] - RADIUS[0]) * Math.sqrt(one.number / most);
  return html`<svg class="graph overview" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="group" aria-label="${nodes.length} spaces; the table below has the same">
    ${edges.map(({ from, to, number: count }) => {
      const [a, b] = [at[number.get(from)], at[number.get(to)]];
      return html`<line class="edge" x1=${a.x} y1=${a.y} x2=${b.x} y2=${b.y} stroke-width=${1 + Math.min(9, Math.log2(count + 1))}>
        <title>${count} connections</title></line>`;
    })}
    ${nodes.map(
      (one, index) => html`<a href=${address("browse", { at: one.kref })} class="node area-${freshnessOf(fromNanos(one.last))}">
      <circle cx=${at[index].x} cy=${at[index].y} r=${radius(one)} />
      <text x=${at[index].x} y=${at[index].y + 4} text-anchor="middle">${one.name.split("/").at(-1)} ${one.number.toLocaleString()}</text>
      <title>${one.name}: ${one.number} beliefs</title></a>`,
    )}</svg>`;
}

function Spaces({ nodes, edges }) {
  const joined = (kref) =>
    edges.filter((one) => one.from === kref || one.to === kref).reduce((sum, one) => sum + one.number, 0);
  return html`<div class="scroll spaces" tabindex="0" role="region" aria-label="The same as a table"><table><thead><tr>
    <th scope="col">Space</th><th scope="col">Beliefs</th><th scope="col">Kinds</th><th scope="col">Joined with others</th>
    <th scope="col">Last</th></tr></thead><tbody>
    ${nodes.map(
      (one) => html`<tr><th scope="row"><a href=${address("browse", { at: one.kref })}>${one.name}</a></th>
      <td>${one.number.toLocaleString()}</td><td>${one.kinds
        .sort((a, b) => b[1] - a[1])
        .slice(0, 4)
        .map(([kind, count]) => `${kind} ${count.toLocaleString()}`)
        .join(", ")}</td>
      <td>${joined(one.kref)}</td><td><${Freshness} at=${fromNanos(one.last)} /></td></tr>`,
    )}</tbody></table></div>`;
}
