// The neighbourhood of a belief as SVG, with labels that can be selected and reached by keyboard, and
// the same as a list beside it.

import { read, rows, useLoad } from "./api.js";
import { html, useMemo, useState } from "./lib.js";
import { KrefLink, krefAddress } from "./parts.js";
import { isPast } from "./state.js";

export const NODES_MAX = 300;
const WIDTH = 720;
const HEIGHT = 460;
const ROUNDS = 220;
const LABEL_CHARS = 28;
const EDGE_WORDS = {
  DEPENDS_ON: "depends on",
  SUPERSEDES: "replaces",
  DERIVED_FROM: "comes from",
  REFERENCED: "mentions",
  MENTIONS: "mentions",
  EVIDENCES: "is evidence for",
  CONTRADICTS: "contradicts",
  CREATED_FROM: "was made from",
  HAS_ARTIFACT: "has the file",
  SUPPORTS: "supports",
};

// A walk says what it reached, and not in which direction an edge points.
const EDGES = `UNWIND $krefs AS k MATCH (a {kref: k})-[r]->(b) WHERE b.kref IN $krefs AND NOT type(r) IN $hidden
RETURN DISTINCT a.kref AS a, type(r) AS type, b.kref AS b LIMIT $limit`;
const EDGES_MAX = 1000;
const HIDDEN_TYPES = ["HAS_REVISION", "CURRENT", "TAG", "HAS_ITEM"];

export function Neighbourhood({ kref }) {
  const [depth, setDepth] = useState(1);
  const state = useLoad((signal) => loadNeighbours(kref, depth, signal), [kref, depth]);
  const found = state.data ?? { nodes: [], edges: [], cut: "" };
  return html`<section class="neighbourhood" aria-labelledby="graph-title">
    <div class="section-head"><h2 id="graph-title">Around it</h2>
      <div class="choice" role="group" aria-label="Depth">
        ${[1, 2, 3].map((one) => html`<button type="button" aria-pressed=${depth === one} onClick=${() => setDepth(one)}>${one} step${one > 1 ? "s" : ""}</button>`)}</div>
    </div>
    ${
      found.nodes.length > 1
        ? html`<div class="graph-and-list"><${Drawing} ...${found} /><${EdgeList} ...${found} /></div>`
        : html`<p class="small">${state.loading ? "Loading …" : state.error ? state.error.message : "Nothing is connected with it."}</p>`
    }
    ${found.cut && html`<p class="small">${found.cut}</p>`}
  </section>`;
}

async function loadNeighbours(kref, depth, signal) {
  const walk = await read("traverse", { kref, direction: "both", depth }, { signal });
  const known = walk.steps.filter((step) => !/\.job-(proposal|run)$/.test(step.kref));
  const steps = known.slice(0, NODES_MAX - 1);
  const krefs = [walk.start, ...new Set(steps.map((step) => step.kref))];
  const texts = await rows(
    "UNWIND $krefs AS k MATCH (n {kref: k}) RETURN k, coalesce(n.title, n.summary, n.text, n.name, '') AS text",
    { krefs },
    { signal },
  );
  const text = new Map(texts.map((row) => [row.k, row.text]));
  const drawn = await rows(EDGES, { krefs, hidden: HIDDEN_TYPES, limit: EDGES_MAX + 1 }, { signal });
  const manyEdges = drawn.splice(EDGES_MAX).length > 0;
  const depths = new Map([[walk.start, 0]]);
  const current = new Map();
  for (const step of steps) {
    if (!depths.has(step.kref)) depths.set(step.kref, step.depth);
    current.set(step.kref, step.current);
  }
  // A walk is about now: of what it reached, the past has what it finds, and what edges join to it.
  const joined = isPast.value ? reached(walk.start, drawn) : null;
  const there = krefs.filter((one) => !joined || (joined.has(one) && text.has(one)));
  const nodes = there.map((one) => ({
    kref: one,
    text: text.get(one) || one.split("/").at(-1),
    depth: depths.get(one),
    current: isPast.value || (current.get(one) ?? true), // whether it is, is known of now alone
  }));
  const edges = drawn
    .filter((row) => there.includes(row.a) && there.includes(row.b))
    .map((row) => ({ from: row.a, to: row.b, type: row.type }));
  const left = known.length - steps.length;
  return {
    nodes,
    edges,
    cut:
      left > 0
        ? `${left} more are not drawn.`
        : manyEdges
          ? `The first ${EDGES_MAX} connections are drawn.`
          : depth < 3 && walk.cut
            ? "There is more further away."
            : "",
  };
}

/** What edges lead to, from a start. */
function reached(start, drawn) {
  const found = new Set([start]);
  for (let size = 0; size < found.size; ) {
    size = found.size;
    for (const { a, b } of drawn) if (found.has(a) || found.has(b)) found.add(a).add(b);
  }
  return found;
}

/** Place nodes by repulsion and springs, from the same start each time. */
export function layout(nodes, edges, width = WIDTH, height = HEIGHT) {
  const at = nodes.map((node, index) => {
    const angle = index * 2.399963; // the golden angle
    const radius = 26 + 120 * (node.depth || 0) + index;
    return {
      x: width / 2 + (index ? radius * Math.cos(angle) : 0),
      y: height / 2 + (index ? radius * Math.sin(angle) * 0.7 : 0),
    };
  });
  const number = new Map(nodes.map((node, index) => [node.kref, index]));
  const springs = edges.map((edge) => [number.get(edge.from), number.get(edge.to)]);
  const wanted = Math.max(46, Math.sqrt((width * height) / Math.max(nodes.length, 1)) * 0.72);
  for (let round = 0; round < (nodes.length > 120 ? 60 : ROUNDS); round++) {
    const heat = 14 * (1 - round / ROUNDS);
    const force = at.map(() => ({ x: 0, y: 0 }));
    for (let i = 0; i < at.length; i++) {
      for (let j = i + 1; j < at.length; j++) push(at, force, i, j, wanted);
    }
    for (let i = 1; i < at.length; i++) {
      force[i].x += (width / 2 - at[i].x) * 0.035;
      force[i].y += (height / 2 - at[i].y) * 0.06;
    }
    for (const [i, j] of springs) pull(at, force, i, j, wanted);
    for (let i = 1; i < at.length; i++) {
      const length = Math.hypot(force[i].x, force[i].y) || 1;
      at[i].x = clamp(at[i].x + (force[i].x / length) * Math.min(length, heat), 95, width - 95);
      at[i].y = clamp(at[i].y + (force[i].y / length) * Math.min(length, heat), 24, height - 30);
    }
  }
  return at;
}

function push(at, force, i, j, wanted) {
  const x = at[i].x - at[j].x || 0.1 * (i - j);
  const y = (at[i].y - at[j].y || 0.1) * 1.7; // labels are wide: rows need less height
  const distance = Math.max(4, Math.hypot(x, y));
  const strength = ((wanted * wanted) / (distance * distance)) * 1.6;
  force[i].x += (x / distance) * strength * 10;
  force[i].y += (y / distance) * strength * 10;
  force[j].x -= (x / distance) * strength * 10;
  force[j].y -= (y / distance) * strength * 10;
}

function pull(at, force, i, j, wanted) {
  const x = at[j].x - at[i].x;
  const y = at[j].y - at[i].y;
  const distance = Math.max(1, Math.hypot(x, y));
  const strength = (distance - wanted) * 0.06;
  force[i].x += (x / distance) * strength * 6;
  force[i].y += (y / distance) * strength * 6;
  force[j].x -= (x / distance) * strength * 6;
  force[j].y -= (y / distance) * strength * 6;
}

function clamp(value, low, high) {
  return Math.max(low, Math.min(high, value));
}

function cut(text) {
  return text.length > LABEL_CHARS ? `${text.slice(0, LABEL_CHARS - 1)}…` : text;
}

function kindOf(kref) {
  return kref.split("?")[0].split(".").at(-1);
}

export function Drawing({ nodes, edges, center = true }) {
  const at = useMemo(() => layout(nodes, edges), [nodes, edges]);
  const number = new Map(nodes.map((node, index) => [node.kref, index]));
  return html`<svg class="graph" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="group" aria-label="Graph of ${nodes.length} elements; the list beside it has the same">
    <defs><marker id="arrow" viewBox="0 0 8 8" refX="15" refY="4" markerWidth="7" markerHeight="7" orient="auto">
      <path d="M0 0 8 4 0 8z" /></marker></defs>
    ${edges.map(({ from, to, type }) => {
      const a = at[number.get(from)];
      const b = at[number.get(to)];
      return html`<line class="edge edge-${type.toLowerCase()}" x1=${a.x} y1=${a.y} x2=${b.x} y2=${b.y}><title>
        ${EDGE_WORDS[type] ?? type}</title></line>`;
    })}
    ${nodes.map(
      (
        node,
        index,
      ) => html`<a href=${krefAddress(node.kref)} class="node ${center && !index ? "center" : ""} ${node.current ? "" : "gone"} kind-${kindOf(node.kref)}">
      <circle cx=${at[index].x} cy=${at[index].y} r=${center && !index ? 10 : 7} />
      <text x=${at[index].x} y=${at[index].y + 22} text-anchor="middle">${cut(node.text)}</text>
      <title>${node.text}${node.current ? "" : ", no longer current"}</title>
    </a>`,
    )}
  </svg>`;
}

export function EdgeList({ nodes, edges, center = true }) {
  const text = new Map(nodes.map((node) => [node.kref, node]));
  return html`<div class="edges" tabindex="0" role="region" aria-label="The same as a list"><ul>${edges.map(
    ({ from, to, type }) => {
      const name = (kref) =>
        center && kref === nodes[0].kref
          ? html`<strong>this</strong>`
          : html`<span class=${text.get(kref).current ? "" : "gone"}><${KrefLink} kref=${kref}>
            ${text.get(kref).text}<//></span>`;
      return html`<li>${name(from)} <span class="small">
        ${EDGE_WORDS[type] ?? type.toLowerCase().replaceAll("_", " ")}</span> ${name(to)}</li>`;
    },
  )}</ul></div>`;
}
