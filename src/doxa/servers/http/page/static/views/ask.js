// Ask: what comes back for a question, and why; what nearly did; what is left out, and why not.

import { inProject, projectName, read, rows, useLoad } from "../api.js";
import { html, useState } from "../lib.js";
import {
  Chip,
  Empty,
  First,
  Freshness,
  Heading,
  KrefLink,
  Loaded,
  Meter,
  Row,
  Sentence,
  Status,
  Successor,
  Trust,
  shortKref,
  useDraft,
} from "../parts.js";
import { address, go, systemTime, validTime } from "../state.js";

const BACK = 8;
const LIMIT = 14;
const LANE_WORDS = {
  words: "same words",
  meaning: "same meaning",
  entities: "same names",
  time: "asked time",
  graph: "connected",
  recency: "recent",
  policy: "kept in use",
  mentions: "mentioned",
};

export function Ask({ params }) {
  const question = params.q ?? "";
  return html`<${Heading} title="Ask" question="What comes back for a question, and why?" />
    ${question ? html`<${Answers} question=${question} />` : html`<${Start} />`}`;
}

function Start() {
  const state = useLoad((signal) => read("recent", { limit: 8, project: inProject() }, { signal }));
  const [question, setQuestion, asked] = useDraft("question");
  return html`<form class="big-ask" onSubmit=${(event) => {
    event.preventDefault();
    asked();
    go("ask", { q: question.trim() });
  }}>
      <label for="question">Your question, in plain words</label>
      <div class="line"><input id="question" name="q" type="text" autocomplete="off" value=${question} onInput=${(event) => setQuestion(event.target.value)} required />
        <button class="primary">Ask</button></div>
    </form>
    <h2>Said or stated last</h2>
    <${Loaded} state=${state} empty=${html`<${Empty} title="This memory is empty.">Tell it something: <a href=${address("belief", { new: "1" })}>state a first belief</a>, or let an agent remember.<//>`}>
      ${({ items }) =>
        items.length
          ? html`<ul class="rows">${items.map((hit) => html`<${Hit} hit=${hit} key=${hit.kref} />`)}</ul>
        <p><a class="button" href=${address("belief", { new: "1" })}>State a belief</a></p>`
          : null}
    <//>`;
}

function recall(question, options, signal) {
  const about = { text: question, project: inProject(), as_of: systemTime.value, valid_at: validTime.value };
  return read("recall", { ...about, limit: LIMIT, ...options }, { signal });
}

function Answers({ question }) {
  const state = useLoad((signal) => recall(question, {}, signal), [question]);
  return html`<${Loaded} state=${state}>
    ${(found) => html`
      <p class="summary" role="status">
        ${found.hits.length ? `${Math.min(found.hits.length, BACK)} of ${found.searched} come back` : "Nothing comes back"}${found.answerable_level && found.hits.length ? `; that they answer the question is ${{ high: "likely", medium: "possible", low: "unlikely" }[found.answerable_level]}` : ""}.</p>
      ${found.warnings.filter((text) => !text.includes("faded by policy")).map((text) => html`<p class="small">
        ${text}</p>`)}
      ${
        found.hits.length
          ? html`<ol class="rows">
            ${found.hits.slice(0, BACK).map((hit) => html`<${Hit} hit=${hit} why key=${hit.kref} />`)}</ol>`
          : html`<${Empty} title="Memory has no answer to this.">Ask in other words, or <a href=${address("belief", { new: "1" })}>state what is true</a>.<//>`
      }
      ${
        found.hits.length > BACK &&
        html`<h2>Nearly</h2><p class="small">Found too, with a lower score.</p>
        <ol class="rows">${found.hits.slice(BACK).map((hit) => html`<${Hit} hit=${hit} why key=${hit.kref} />`)}</ol>`
      }
      <${LeftOut} found=${found} question=${found.query} key=${found.query} />`}
  <//>`;
}

function Hit({ hit, why }) {
  return html`<${Row} kref=${hit.kref} class=${hit.status === "current" ? "" : "gone"}>
    <p class="text"><${KrefLink} kref=${hit.kref}>${hit.text}<//></p>
    <p class="meta">
      <${Freshness} at=${hit.time} />
      <${Trust} trust=${hit.trust} />
      ${hit.status !== "current" && html`<${Status} status=${hit.status} />`}
      <${Successor} kref=${hit.kref} status=${hit.status} />
      ${hit.unsupported && html`<${Chip} kind="warn" title=${hit.unsupported}>lost its support<//>`}
      ${hit.contested.length > 0 && html`<${Chip} kind="bad">contested<//>`}
      ${hit.speaker && html`<span>by ${hit.speaker}</span>`}
      ${why && html`<${Meter} value=${hit.score / 2} label="score ${hit.score.toFixed(2)}" />`}
    </p>
    ${why && html`<p class="why"><strong>Why:</strong> <${Sentence} text=${hit.why || "no reason is known"} /></p>
      <${Lanes} lanes=${hit.lanes} />`}
  <//>`;
}

function Lanes({ lanes }) {
  const found = Object.entries(lanes)
    .filter(([, value]) => value > 0.005)
    .sort((a, b) => b[1] - a[1]);
  if (!found.length) return null;
  return html`<ul class="lanes" aria-label="Signals">${found.map(([name, value]) => html`<li>
    <${Meter} value=${value} label="${LANE_WORDS[name] ?? name} ${value.toFixed(2)}" /></li>`)}</ul>`;
}

// Why something did not come back

function reasonOf(hit) {
  if (hit.status === "superseded") return "a newer revision replaced it";
  if (hit.status === "deprecated") return "it was retired";
  if (hit.status === "contested") return "it challenges a verified belief, and nobody decided yet";
  if (hit.status === "expired") return "it is no longer valid";
  if (hit.status === "not_yet_valid") return "it is not valid yet";
  if (hit.status === "detached") return "nothing points to this revision any more";
  if (hit.trust === "untrusted") return "its source is not trusted";
  return "others had a higher score";
}

const HIDDEN_MAX = 20;
const HIDDEN = `MATCH (n:Exchange) WHERE ($project = '*' OR n.project = $project) AND any(word IN $words WHERE toLower(n.text) CONTAINS word)
CALL doxa.policy.explain(n) YIELD visible, reason WHERE NOT visible
RETURN n.kref AS kref, n.text AS text, n.time AS time, reason LIMIT $limit`;

/** What is about the question too. It is asked for when the answers are there, which come first. */
function LeftOut({ found, question }) {
  const [hidden, setHidden] = useState(null);
  const everything = { history: true, trust: "untrusted" };
  const all = useLoad((signal) => recall(question, everything, signal), [question]);
  const shown = new Set(found.hits.map((hit) => hit.kref));
  const left = all.data?.hits.filter((hit) => !shown.has(hit.kref)) ?? [];
  const look = async () => {
    const words = question.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? [];
    setHidden(await rows(HIDDEN, { words, project: projectName(), limit: HIDDEN_MAX + 1 }));
  };
  return html`<h2>Left out</h2>
    ${
      left.length
        ? html`<p class="small">They are about it too, and why they did not come back stands with each.</p>
        <ul class="rows">${left.map(
          (hit) => html`<${Row} kref=${hit.kref} class="gone" key=${hit.kref}>
          <p class="text"><${KrefLink} kref=${hit.kref}>${hit.text}<//></p>
          <p class="meta"><strong class="reason">Not shown: ${reasonOf(hit)}.</strong>
            <${Successor} kref=${hit.kref} status=${hit.status} /> <${Status} status=${hit.status} /> <${Trust} trust=${hit.trust} /> <${Freshness} at=${hit.time} /></p>
        <//>`,
        )}</ul>`
        : html`<p class="small">${all.loading ? "Looking …" : "Nothing else is about it."}</p>`
    }
    ${
      hidden === null
        ? html`<p><button type="button" onClick=${look}>Show what faded${found.faded ? ` (${found.faded})` : ""}</button></p>`
        : hidden.length
          ? html`<ul class="rows">${hidden.slice(0, HIDDEN_MAX).map((one) => html`<${Row} kref=${one.kref} class="gone" key=${one.kref}>
            <p class="text">${one.text}</p><p class="meta">
            <strong class="reason">Hidden:</strong> ${one.reason} <a class="small" href=${address("belief", { kref: one.kref })}>${shortKref(one.kref)}</a></p><//>`)}</ul>
            <${First} shown=${HIDDEN_MAX} more=${hidden.length > HIDDEN_MAX} />`
          : html`<p class="small">Nothing that faded has these words.</p>`
    }`;
}
