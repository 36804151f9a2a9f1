// Fading: what will be hidden in the next 30 days, by which curve, and what another policy would do.

import { projectName, rows, statement, useLoad } from "../api.js";
import { Curve } from "../curve.js";
import { html, useState } from "../lib.js";
import {
  AboutNow,
  Chip,
  Empty,
  First,
  Heading,
  KrefLink,
  Loaded,
  Meter,
  Problem,
  Row,
  formatTime,
  relativeTime,
  useDraft,
} from "../parts.js";
import { isPast, say, session } from "../state.js";

const DAYS = 30;
const FADES = `MATCH (n:Exchange) WHERE ($project = '*' OR n.project = $project)
CALL doxa.policy.explain(n) YIELD visible, score, threshold, visibleUntil, profile
WITH n, visible, score, threshold, datetime(visibleUntil) AS until, profile
WHERE until < datetime() + duration('P${DAYS}D')
RETURN n.kref AS kref, n.text AS text, n.speaker AS speaker, visible, score, threshold, until, profile
ORDER BY until LIMIT $limit`;
const FADES_MAX = 500;
const SHOWN = 100; // of those soon, and of those hidden

async function load(signal) {
  const [fading, profiles] = await Promise.all([
    rows(FADES, { project: projectName(), limit: FADES_MAX + 1 }, { signal, now: true }),
    rows(
      "CALL doxa.policy.profiles() YIELD kind, Name, HalfLifeSeconds, VisibilityThreshold, ScoreFloor, Function, ScoreFrom WHERE kind = 'decayBundle' RETURN Name, HalfLifeSeconds, VisibilityThreshold, ScoreFloor, Function, ScoreFrom",
      {},
      { signal, now: true },
    ),
  ]);
  const more = fading.splice(FADES_MAX).length > 0;
  return { soon: fading.filter((one) => one.visible), gone: fading.filter((one) => !one.visible), profiles, more };
}

export function Fading() {
  const state = useLoad(load);
  return html`<${Heading} title="Fading" question="What will I stop seeing in the next ${DAYS} days?" />
    <${AboutNow} />
    <${Loaded} state=${state}>${({ soon, gone, profiles, more }) => html`
      <${First} shown=${FADES_MAX} more=${more} what="that fade, those hidden first," />
      ${!profiles.length && html`<${Empty} title="Nothing fades: there are no policies.">
        <code>doxa policy bootstrap</code> installs the standard ones.<//>`}
      <section><h2>Hidden soon <span class="count">${soon.length}</span></h2>
        ${soon.length ? html`<ul class="rows">
          ${soon.slice(0, SHOWN).map((one) => html`<${Fade} one=${one} key=${one.kref} />`)}</ul>
          <${First} shown=${SHOWN} total=${soon.length} />` : html`<p class="small">Nothing, within ${DAYS} days.</p>`}</section>
      ${
        profiles.some((one) => one.HalfLifeSeconds > 0) &&
        html`<section><h2>Curves</h2>
          <p class="small">The score of a memory as it ages. Below the dashed line it is hidden; use brings it back.</p>
        <div class="curves">${profiles.filter((one) => one.HalfLifeSeconds > 0).map((one) => html`<${Curve} profile=${one} key=${one.Name} />`)}</div></section>`
      }
      <${Simulation} profiles=${profiles} />
      <section><h2>Hidden already <span class="count">${gone.length}</span></h2>
        ${gone.length ? html`<ul class="rows">
          ${gone.slice(0, SHOWN).map((one) => html`<${Fade} one=${one} key=${one.kref} />`)}</ul>
          <${First} shown=${SHOWN} total=${gone.length} />` : html`<p class="small">Nothing.</p>`}</section>
    `}<//>`;
}

function Fade({ one }) {
  return html`<${Row} kref=${one.kref} class=${one.visible ? "" : "gone"}>
    <p class="text"><${KrefLink} kref=${one.kref}>${one.text}<//></p>
    <p class="meta"><strong>${one.visible ? "hidden" : "hidden since"} ${relativeTime(one.until)}</strong><span>
      ${formatTime(one.until)}</span>
      <${Meter} value=${one.score} label="score ${one.score.toFixed(2)} of ${one.threshold}" /><${Chip}>
      ${one.profile ?? "no profile"}<//><span>by ${one.speaker}</span></p>
  <//>`;
}

/** Policy commands are tried on what there is, and only then carried out. */
function Simulation({ profiles }) {
  const decaying = profiles.filter((one) => one.HalfLifeSeconds > 0);
  const [text, setText, textDone] = useDraft(
    "policy",
    decaying[0] ? command(decaying.find((one) => one.Name === "exchange_retention") ?? decaying[0], 30) : "",
  );
  const [effects, setEffects] = useState(null);
  const [error, setError] = useState(null);
  const change = (value) => {
    setText(value);
    setEffects(null);
  };
  const simulate = async (event) => {
    event.preventDefault();
    setError(null);
    try {
      setEffects(
        await rows("CALL doxa.policy.simulate($ddl, duration($horizon))", { ddl: text, horizon: `P${DAYS}D` }, { now: true }),
      );
    } catch (caught) {
      setError(caught);
    }
  };
  const apply = async () => {
    try {
      await statement(text, {}, { writes: true });
      textDone();
      setEffects(null);
      say("The policy is in force.", { kind: "done" });
    } catch (caught) {
      setError(caught);
    }
  };
  const operator = session.value?.role === "operator";
  return html`<section><h2>Simulate a policy</h2><form class="change" onSubmit=${simulate}>
      ${decaying.length > 0 && html`<div class="line"><span class="small">Half-life of</span>
        ${decaying.slice(0, 3).map((one) => html`<button type="button" onClick=${() => change(command(one, (one.HalfLifeSeconds / 86_400) * 2))}>${one.Name} × 2</button>`)}</div>`}
      <label>Policy commands <textarea rows="2" spellcheck="false" class="mono" value=${text} onInput=${(event) => change(event.target.value)} required></textarea></label>
      <${Problem} error=${error} />
      ${
        effects &&
        html`<section class="preview" aria-label="What the policy would do"><h3>Over the next ${DAYS} days</h3>${
          effects.length
            ? html`<ul>${effects.map((one) => html`<li><strong>
              ${one.names.join(", ") || "all"}</strong>: ${one.elements} under another rule; hidden now ${one.hiddenNow}, hidden by then ${one.hiddenByHorizon}, shown again ${one.shownAgain}</li>`)}</ul>`
            : html`<p>No element would be under another rule.</p>`
        }</section>`
      }
      <div class="line"><button class="primary">Simulate</button>
        ${effects && html`<button type="button" disabled=${!operator || isPast.value} title=${operator ? "" : "Operators change policies"} onClick=${apply}>Put it in force</button>`}</div>
    </form></section>`;
}

function command(profile, days) {
  return `ALTER DECAY PROFILE ${profile.Name} SET OPTIONS { halfLifeSeconds: ${Math.round(days * 86_400)} }`;
}
