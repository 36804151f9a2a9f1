// Belief: what is believed, since when, because of what, and what depends on it.

import { read, rows, toProject, undo, useLoad, write } from "../api.js";
import { ChangeForm, Effects, factLines, parseFacts } from "../changes.js";
import { WordDiff } from "../diff.js";
import { Neighbourhood } from "../graph.js";
import { html, useState } from "../lib.js";
import {
  Chip,
  Copy,
  Empty,
  Freshness,
  Heading,
  KeyButton,
  KrefLink,
  Loaded,
  Row,
  Sentence,
  Status,
  Time,
  Trust,
  formatTime,
  shortKref,
  useDraft,
} from "../parts.js";
import { go, isPast, receipts, say, session, systemTime, validTime } from "../state.js";
import { OtherAddress } from "./other.js";

export function Belief({ params }) {
  if (params.new) return html`<${NewBelief} />`;
  if (!params.kref)
    return html`<${Heading} title="Belief" question="" />
      <${Empty} title="No belief is chosen.">Ask for one, or browse.<//>`;
  return html`<${Existing} kref=${params.kref} first=${params.form ?? ""} key=${`${params.kref} ${params.form}`} />`;
}

function itemOf(kref) {
  return kref.split("?")[0];
}

async function load(kref, signal) {
  if (/\.(exchange|conflict|bundle|entity|thread|job-run|job-proposal)(\?|$)/.test(kref) || /[?&]a=/.test(kref)) {
    return { other: await read("get", { kref, reveal: true }, { signal }) };
  }
  const known = await read("history", { kref: itemOf(kref), reveal: true }, { signal });
  const then = systemTime.value ? believedAt(known, new Date(systemTime.value)) : null;
  if (then && !then.history.revisions.length) return { unknown: true };
  const explained = await read("explain", { kref: then?.shown ?? kref }, { signal }).catch((error) => {
    if (error.code === "not_found") return null;
    throw error;
  });
  const history = then?.history ?? known;
  const revision = then
    ? { ...explained?.revision, ...history.revisions.find((one) => one.kref === then.shown), unsupported: "" }
    : (explained?.revision ?? history.revisions.at(-1));
  const files = await rows(
    "MATCH (r:Revision)-[:HAS_ARTIFACT]->(a:Artifact) WHERE r.kref STARTS WITH $prefix RETURN a.kref AS kref, a.name AS name, a.location AS location, a.sha256 AS sha256, a.size_bytes AS size",
    { prefix: `${itemOf(kref)}?` },
    { signal },
  ).catch(() => []);
  return { history, explained, revision: { ...revision, status: validStatus(revision) }, files };
}

/** A history as it was at a time: its revisions and tags of then, and what was believed. */
function believedAt(history, at) {
  const reached = (time) => time && new Date(time) <= at;
  const tags = history.tags
    .filter((move) => reached(move.since))
    .map((move) => (reached(move.until) ? move : { ...move, until: null }));
  const held = (kref) => tags.filter((move) => move.kref === kref && !move.until).map((move) => move.tag);
  const current = tags.find((move) => move.tag === "current" && !move.until)?.kref;
  const revisions = history.revisions.filter((one) => reached(one.created));
  const shown = current ?? revisions.at(-1)?.kref;
  const status = (kref) => (kref === current ? "current" : kref === shown ? "deprecated" : "superseded");
  return {
    shown,
    history: {
      ...history,
      tags,
      revisions: revisions.map((one) => ({
        ...one,
        status: status(one.kref),
        tags: held(one.kref).filter((tag) => tag !== "current"),
      })),
    },
  };
}

/** The status at the valid time of the slider: a belief may not hold yet, or no longer. */
function validStatus({ status, valid_from: from, valid_until: until }) {
  const at = validTime.value && status === "current" ? new Date(validTime.value) : null;
  if (at && from && at < new Date(from)) return "not_yet_valid";
  return at && until && at >= new Date(until) ? "expired" : status;
}

function Existing({ kref, first }) {
  const state = useLoad((signal) => load(kref, signal), [kref]);
  return html`${state.error && !state.data && html`<${Heading} title="Belief" question=${itemOf(kref)} />`}<${Loaded} state=${state}>
    ${(data) => {
      if (data.other) return html`<${OtherAddress} kref=${kref} found=${data.other} />`;
      if (data.unknown)
        return html`<${Heading} title="Not yet known" question="What is believed, since when, because of what?" />
          <${Empty} title="Nothing was believed about this then."><code>${itemOf(kref)}</code><//>`;
      return html`<${Whole} ...${data} first=${first} />`;
    }}
  <//>`;
}

function Whole({ history, explained, revision, files, first }) {
  const [form, setForm] = useState(first);
  const [made, setMade] = useState(null);
  const retired = revision.status === "deprecated" || !explained;
  const undone = made && receipts.value.some((one) => one.change === made.change && one.undone);
  const done = (answer) => {
    setForm("");
    setMade(answer);
    setTimeout(() => document.querySelector(".receipt")?.scrollIntoView({ block: "nearest" }), 50);
  };
  return html`
    <${Heading} title=${revision.title || revision.summary.slice(0, 90)} question="What is believed, since when, because of what?" />
    <article class="belief ${revision.status === "current" ? "" : "gone"}">
      <p class="statement text">${revision.summary}</p>
      <p class="meta"><${Status} status=${revision.status} /><${Trust} trust=${revision.trust} />
        <${Freshness} at=${revision.time} />
        <span>since ${formatTime(explained?.since ?? revision.created)}</span><span>by ${revision.author}</span>
        ${revision.confidence < 1 && html`<span>certain to ${Math.round(revision.confidence * 100)} %</span>`}
        ${revision.unsupported && html`<${Chip} kind="warn">lost its support<//><span>
          <${Sentence} text=${revision.unsupported} /></span>`}
        ${revision.valid_from && html`<span>holds from ${formatTime(revision.valid_from)}</span>`}${revision.valid_until && html`<span>holds until ${formatTime(revision.valid_until)}</span>`}
        ${revision.tags.map((tag) => html`<${Chip}>
          ${tag}<//>`)}${revision.topics.map((topic) => html`<${Chip} kind="topic">${topic}<//>`)}</p>
      ${revision.facts.length > 0 && html`<ul class="facts">${revision.facts.map((fact) => html`<li><span>
        ${fact[0]}</span> <em>${fact[1]}</em> <strong>${String(fact[2])}</strong></li>`)}</ul>`}
      <p class="address"><code>${revision.kref}</code> <${Copy} text=${revision.kref} /></p>
      ${isPast.value ? html`<p class="small">You look at the past: go back to now to change it.</p>` : html`<${Actions} revision=${revision} retired=${retired} form=${form} setForm=${setForm} done=${done} />`}
      ${
        made &&
        !undone &&
        html`<section class="receipt" aria-label="Receipt"><h2>Receipt ${made.change}: ${made.action}</h2>
          <${Effects} change=${made} /><button type="button" onClick=${() => {
          undo(made.change);
          setMade(null);
        }}>Undo <kbd>u</kbd></button></section>`
      }
    </article>
    <${Timeline} history=${history} shown=${revision.kref} done=${done} />
    ${explained && html`<${Reasons} explained=${explained} />`}
    ${files.length > 0 && html`<${Files} files=${files} />`}
    <${Neighbourhood} kref=${revision.kref} />`;
}

function Actions({ revision, retired, form, setForm, done }) {
  const operator = session.value?.role === "operator";
  const item = revision.item;
  const close = () => setForm("");
  const verify = async () => {
    try {
      done(
        await write(
          "revise",
          { what: item, text: revision.summary, trust: "verified", expect: revision.number },
          { label: "Verified" },
        ),
      );
    } catch (error) {
      say(`${error.message} ${error.nextStep ?? ""}`, { kind: "error", seconds: 15 });
    }
  };
  const last = receipts.value.find((one) => !one.undone && one.kref.startsWith(item));
  return html`<div class="line actions">
      ${
        !retired &&
        html`<button type="button" class="primary" data-page-key="r" aria-expanded=${form === "revise"} onClick=${() => setForm(form === "revise" ? "" : "revise")}>Revise</button>
        <button type="button" disabled=${!operator || revision.trust === "verified"} title=${operator ? "Say that a person checked it" : "Operators verify"} onClick=${verify}>Verify</button>
        <button type="button" aria-expanded=${form === "retire"} onClick=${() => setForm(form === "retire" ? "" : "retire")}>Retire</button>`
      }
      ${retired && html`<button type="button" onClick=${() => setForm("restore")}>Restore</button>`}
      ${last && html`<button type="button" onClick=${() => undo(last.change)}>Undo the last change <kbd>u</kbd>
        </button>`}
    </div>
    ${form === "revise" && html`<${Revise} revision=${revision} done=${done} cancel=${close} />`}
    ${form === "retire" && html`<${ChangeForm} verb="deprecate" label="Retire" start="Show what would follow" arguments_=${() => ({ kref: item, expect: revision.number })} done=${done} cancel=${close}><p>It is left out of recall from now on; history keeps it.</p><//>`}
    ${form === "restore" && html`<${ChangeForm} verb="restore" label="Restore" start="Show what would follow" arguments_=${() => ({ kref: item })} done=${done} cancel=${close}><p>It is believed again.</p><//>`}`;
}

function Revise({ revision, done, cancel }) {
  const [text, setText, textDone] = useDraft(`revise.${revision.item}`, revision.summary);
  const [facts, setFacts, factsDone] = useDraft(`facts.${revision.item}`, factLines(revision.facts));
  const args = () => {
    const parsed = parseFacts(facts);
    if (typeof parsed === "string") return parsed;
    const changed = factLines(parsed) !== factLines(revision.facts);
    return { what: revision.item, text, expect: revision.number, facts: changed ? parsed : undefined };
  };
  const finish = (answer) => {
    textDone();
    factsDone();
    done(answer);
  };
  return html`<${ChangeForm} verb="revise" label="Revise" arguments_=${args} before=${revision.summary} after=${() => text} done=${finish} cancel=${cancel}>
    <label>New text <textarea rows="3" value=${text} onInput=${(event) => setText(event.target.value)} required>
      </textarea></label>
    <label>Facts, each on a line: subject | predicate | value <textarea rows="2" value=${facts} onInput=${(event) => setFacts(event.target.value)}></textarea></label>
  <//>`;
}

function Timeline({ history, shown, done }) {
  const [back, setBack] = useState("");
  const revisions = [...history.revisions].reverse();
  return html`<section aria-labelledby="timeline-title"><h2 id="timeline-title">Since when</h2>
    <ol class="timeline">${revisions.map((one, at) => {
      const before = revisions[at + 1];
      return html`<${Row} kref=${one.kref} class=${one.status === "current" ? "" : "gone"} key=${one.kref}>
        <p class="meta"><strong>Revision ${one.number}</strong><${Status} status=${one.status} />
          <${Trust} trust=${one.trust} /><span>${formatTime(one.created)}</span><${Time} at=${one.created} />
          <span>by ${one.author}</span>${one.kref === shown && html`<${Chip} kind="good">shown<//>`}</p>
        ${before && before.summary !== one.summary ? html`<${WordDiff} before=${before.summary} after=${one.summary} />` : html`<p class="text">${one.summary}</p>`}
        ${one.status === "superseded" && at > 0 && html`<p class="small">Replaced by <${KrefLink} kref=${revisions[at - 1].kref}>revision ${revisions[at - 1].number}<//>.</p>`}
        ${
          one.status === "superseded" &&
          !isPast.value &&
          (back === one.kref
            ? html`<${ChangeForm} verb="rollback" label="Roll back" start="Show what would follow" arguments_=${() => ({ kref: one.kref })} before=${revisions[0].summary} after=${() => one.summary} done=${(
                answer,
              ) => {
                setBack("");
                done(answer);
              }} cancel=${() => setBack("")} />`
            : html`<${KeyButton} shortcut="b" onClick=${() => setBack(one.kref)}>Go back to this<//>`)
        }
      <//>`;
    })}</ol>
    ${history.tags.length > 0 && html`<details><summary>Tags moved (${history.tags.length})</summary>
      <ul class="moves">${history.tags.map((move) => html`<li><${Chip}>
      ${move.tag}<//> on <${KrefLink} kref=${move.kref}>
      ${shortKref(move.kref)}<//> from ${formatTime(move.since)}${move.until ? ` until ${formatTime(move.until)}` : ""}</li>`)}</ul></details>`}
  </section>`;
}

function Reasons({ explained }) {
  const groups = [
    ["Because of", explained.grounds, "No source was given with it."],
    ["It replaced", explained.replaced, ""],
    ["It gave way to", explained.gave_way_to, ""],
    ["What depends on it", explained.dependents, "Nothing depends on it."],
    ["It contradicts", explained.contradicts, ""],
  ];
  return html`<section class="reasons" aria-label="Reasons">
    ${isPast.value && html`<p class="small as-known">Its reasons are shown as they are known today.</p>`}
    ${groups
      .filter(([, found, none]) => found.length || none)
      .map(
        ([title, found, none]) => html`<div><h2>${title}</h2>
      ${found.length ? html`<ul>${found.map((one) => html`<li><${KrefLink} kref=${one.kref}>
        ${one.says || shortKref(one.kref)}<//> <span class="small">${one.how}</span>
        </li>`)}</ul>` : html`<p class="small">${none}</p>`}</div>`,
      )}
    ${explained.conflicts.length > 0 && html`<div><h2>Conflicts</h2><ul>${explained.conflicts.map((one) => html`<li>
      <strong>${one.decision || "open"}</strong>: <span class="text">
      ${one.challenger.summary}</span> <span class="small">by ${one.opened_by}, ${formatTime(one.opened)}</span> <a href="#/inbox">Decide in the inbox</a></li>`)}</ul></div>`}
  </section>`;
}

function Files({ files }) {
  return html`<section><h2>Files</h2><ul class="rows">
    ${files.map((file) => html`<${FileRow} file=${file} key=${file.kref} />`)}</ul></section>`;
}

/** A file of a belief; its hash is checked when the person asks. */
export function FileRow({ file }) {
  const [checked, setChecked] = useState(null);
  const check = async () => {
    try {
      const found = await read("artifact-file", { kref: file.kref });
      setChecked({ good: true, text: `The file is there and has the same hash, ${found.sha256.slice(0, 12)}….` });
    } catch (error) {
      setChecked({ good: false, text: error.message });
    }
  };
  return html`<${Row}><p class="text"><strong>${file.name}</strong> <span class="small">${file.location}</span></p>
    <p class="meta"><span>${file.size ? `${Number(file.size).toLocaleString()} bytes` : ""}</span><span>
      ${file.sha256 ? `SHA-256 ${file.sha256.slice(0, 12)}…` : "no hash"}</span>
      ${file.belief && html`<${KrefLink} kref=${file.belief} />`}
      <${KeyButton} shortcut="c" onClick=${check}>Check the hash<//>
      ${checked && html`<${Chip} kind=${checked.good ? "good" : "bad"}>${checked.text}<//>`}</p><//>`;
}

function NewBelief() {
  const [text, setText, textDone] = useDraft("new.text");
  const [name, setName, nameDone] = useDraft("new.name");
  const [kind, setKind] = useState("fact");
  const args = () =>
    text.trim() ? { text: text.trim(), name: name.trim(), kind, project: toProject() } : "Say what is believed.";
  const [error, setError] = useState(null);
  const save = async (event) => {
    event.preventDefault();
    const given = args();
    if (typeof given === "string") return setError({ message: given });
    try {
      const answer = await write("remember", given, { label: "Remembered" });
      textDone();
      nameDone();
      go("belief", { kref: answer.kref });
    } catch (caught) {
      setError(caught);
    }
  };
  return html`<${Heading} title="State a belief" question="What should be remembered?" />
    <form class="change" onSubmit=${save}>
      <label>In one sentence <textarea rows="3" value=${text} onInput=${(event) => setText(event.target.value)} required></textarea></label>
      <div class="line"><label>Name, by which it can be revised <input value=${name} onInput=${(event) => setName(event.target.value)} pattern="[\\w\\-]*" /></label>
      <label>Kind <input list="kinds" value=${kind} onInput=${(event) => setKind(event.target.value)} /></label>
        <datalist id="kinds">
        ${["fact", "decision", "preference", "directive"].map((one) => html`<option value=${one} />`)}</datalist></div>
      ${error && html`<div class="problem" role="alert"><p><strong>${error.message}</strong></p>
        ${error.nextStep && html`<p>${error.nextStep}</p>`}</div>`}
      <div class="line"><button class="primary">Remember</button></div>
    </form>`;
}
