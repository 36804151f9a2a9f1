// Addresses that are no belief: turns of conversations, bundles, conflicts and the rest.

import { read, useLoad } from "../api.js";
import { Neighbourhood } from "../graph.js";
import { html } from "../lib.js";
import { AboutNow, Chip, Copy, Freshness, Heading, KrefLink, Row, Status, formatTime } from "../parts.js";
import { systemTime } from "../state.js";

export function OtherAddress({ kref, found }) {
  if (kref.split("?")[0].endsWith(".entity")) return html`<${Entity} kref=${kref} />`;
  if ("speaker" in found) return html`<${Turn} turn=${found} />`;
  if ("members" in found) return html`<${BundlePage} bundle=${found} />`;
  if ("challenger" in found) return html`<${ConflictPage} conflict=${found} />`;
  return html`<${Properties} found=${found} />`;
}

function Turn({ turn }) {
  return html`<${Heading} title="Said by ${turn.speaker || "somebody"}" question="A turn of a conversation, word for word." />
    <article class="belief ${turn.deprecated ? "gone" : ""}"><p class="statement text">${turn.text}</p>
      <p class="meta"><${Freshness} at=${turn.time} /><span>${formatTime(turn.time)}</span><span>${turn.role}</span>
        <span>session ${turn.session || "none"}</span><${KrefLink} kref=${turn.thread}>the conversation<//></p>
      <p class="address"><code>${turn.kref}</code> <${Copy} text=${turn.kref} /></p></article>
    <${Neighbourhood} kref=${turn.kref} />`;
}

function BundlePage({ bundle }) {
  return html`<${Heading} title="Bundle ${bundle.name}" question="What belongs together." />
    <${AboutNow} />
    <ul class="rows">${bundle.members.map((one) => html`<${Row} kref=${one.kref} key=${one.kref}>
      <${KrefLink} kref=${one.kref} /> <span class="small">since ${formatTime(one.since)}</span><//>`)}</ul>
    <p class="address"><code>${bundle.kref}</code> <${Copy} text=${bundle.kref} /></p>`;
}

function ConflictPage({ conflict }) {
  return html`<${Heading} title="A conflict" question="Two beliefs that cannot both be true." />
    <${AboutNow} />
    <p><strong>${conflict.decision || "open"}</strong>, opened ${formatTime(conflict.opened)} by ${conflict.opened_by}</p>
    <h2>New</h2><p class="text"><${KrefLink} kref=${conflict.challenger.kref}>${conflict.challenger.summary}<//></p>
    <h2>Believed</h2>${conflict.held.map((one) => html`<p class="text"><${KrefLink} kref=${one.kref}>
      ${one.summary}<//></p>`)}
    <p><a class="button" href="#/inbox">Decide in the inbox</a></p>`;
}

function Entity({ kref }) {
  const state = useLoad((signal) => read("entity", { entity: kref, as_of: systemTime.value }, { signal }), [kref]);
  const page = state.data;
  if (!page) return html`<${Heading} title="Entity" question="" />`;
  return html`<${Heading} title=${page.name} question="Who or what it is, and where it is mentioned." />
    <p class="meta">${page.kind && html`<${Chip}>${page.kind}<//>`}<span>${page.count} mentions</span>
      ${page.aliases.map((one) => html`<${Chip}>${one.name}<//>`)}</p>
    <h2>Mentioned in</h2><ul class="rows">${page.mentions.map((one) => html`<${Row} kref=${one.kref} key=${one.kref}>
      <${KrefLink} kref=${one.kref} /> <span class="small">as ${one.name}: ${one.why}</span><//>`)}</ul>
    ${page.facts.length > 0 && html`<h2>Facts</h2><ul class="facts">${page.facts.map((one) => html`<li><span>
      ${one.subject}</span> <em>${one.predicate}</em> <strong>${one.value}</strong> <${KrefLink} kref=${one.kref} />
      </li>`)}</ul>`}
    <${Neighbourhood} kref=${kref} />`;
}

function Properties({ found }) {
  const pairs = Object.entries(found.properties ?? found).filter(([, value]) => value !== "" && value !== null);
  return html`<${Heading} title=${found.kref} question=${found.type ?? ""} /><${AboutNow} /><${Status} status=${found.status} />
    <dl class="properties">${pairs.map(([name, value]) => html`<div><dt>${name}</dt><dd>
      ${typeof value === "object" ? JSON.stringify(value) : String(value)}</dd></div>`)}</dl>
    <p><${Copy} text=${found.kref} /></p>`;
}
