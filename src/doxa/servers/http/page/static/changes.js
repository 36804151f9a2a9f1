// Changes to beliefs: a preview by a dry run, then the change with its receipt.

import { textsOf, useLoad, write } from "./api.js";
import { WordDiff } from "./diff.js";
import { html, useState } from "./lib.js";
import { KrefLink, Problem, Sentence } from "./parts.js";

/** What a change does, from a dry run or a receipt. */
export function Effects({ change, before = "", after = "" }) {
  const { losses = [], gained = [], lost = [], unsupported = [], supported = [], conflict = "" } = change;
  const touched = [...unsupported, ...supported].map((one) => one.kref);
  const texts = useLoad((signal) => textsOf(touched, signal), [touched.join()]).data;
  const said = (kref) => texts?.get(kref) || undefined;
  const plain = !losses.length && !unsupported.length && !supported.length && !conflict && !lost.length;
  return html`<div class="effects">
    ${after && html`<${WordDiff} before=${before} after=${after} />`}
    ${conflict && html`<p>
      <strong>A verified belief stands against it:</strong> a conflict is opened, and a person decides.</p>`}
    ${lost.length > 0 && html`<h3>No longer said</h3><ul>${lost.map((fact) => html`<li><del>${fact.join(" · ")}</del>
      </li>`)}</ul>`}
    ${gained.length > 0 && html`<h3>Newly said</h3><ul>${gained.map((fact) => html`<li><ins>${fact.join(" · ")}</ins>
      </li>`)}</ul>`}
    ${losses.length > 0 && html`<h3>Given up</h3><ul>${losses.map((one) => html`<li>
      ${one.says} <${KrefLink} kref=${one.kref} /> <span class="small">${one.why}</span></li>`)}</ul>`}
    ${unsupported.length > 0 && html`<h3>Now lacks support</h3><ul class="unsupported">
      ${unsupported.map((one) => html`<li><${KrefLink} kref=${one.kref}>${said(one.kref)}<//> <span class="small">
      <${Sentence} text=${one.cause} /></span></li>`)}</ul>`}
    ${supported.length > 0 && html`<h3>Has its support again</h3><ul>${supported.map((one) => html`<li>
      <${KrefLink} kref=${one.kref}>${said(one.kref)}<//></li>`)}</ul>`}
    ${plain && html`<p class="small">Nothing else changes.</p>`}
  </div>`;
}

/** A form whose change is shown before it is made. `arguments_()` returns the verb's arguments, or a
 *  text that says what is missing. */
export function ChangeForm({
  verb,
  label,
  arguments_,
  before = "",
  after = () => "",
  done,
  children,
  cancel,
  start = "Preview",
}) {
  const [preview, setPreview] = useState(null);
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const attempt = async (event, dryRun) => {
    event.preventDefault();
    const args = dryRun ? arguments_() : preview.args; // what was shown is what is done
    if (typeof args === "string") return setError({ message: args });
    setBusy(true);
    setError(null);
    try {
      const answer = await write(verb, { ...args, dry_run: dryRun || undefined }, { label });
      setPreview(dryRun ? { answer, args } : null);
      if (!dryRun) done(answer);
    } catch (caught) {
      setError(caught);
    }
    setBusy(false);
  };
  return html`<form class="change" onSubmit=${(event) => attempt(event, preview === null)} onInput=${() => setPreview(null)}>
    ${children}
    <${Problem} error=${error} />
    ${preview && html`<section aria-label="What this would change" class="preview"><h2>This would change</h2>
      <${Effects} change=${preview.answer} before=${before} after=${after()} /></section>`}
    <div class="line">
      <button class="primary" disabled=${busy}>${preview ? label : start}</button>
      ${cancel && html`<button type="button" onClick=${cancel}>Cancel</button>`}
    </div>
  </form>`;
}

export function factLines(facts) {
  return facts.map((fact) => fact.join(" | ")).join("\n");
}

/** Read lines of "subject | predicate | value". Returns a text if a line is none. */
export function parseFacts(text) {
  const found = [];
  for (const line of text.split("\n").filter((one) => one.trim())) {
    const parts = line.split("|").map((part) => part.trim());
    if (parts.length !== 3 || parts.some((part) => !part))
      return `This line is not "subject | predicate | value": ${line}`;
    found.push(parts);
  }
  return found;
}
