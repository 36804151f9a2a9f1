// Starts the page: the shell around the views, the keyboard, and the states of the connection.

import { begin, leave, switchDatabase, undo } from "./api.js";
import { html, render, useLayoutEffect, useRef, useState } from "./lib.js";
import { Dialog } from "./parts.js";
import {
  address,
  applyTheme,
  chooseProject,
  chooseTheme,
  connection,
  database,
  dismiss,
  draft,
  go,
  helpOpen,
  isPast,
  keepDraft,
  notices,
  project,
  route,
  session,
  theme,
} from "./state.js";
import { TimeBar, timeOpen } from "./time.js";
import { Ask } from "./views/ask.js";
import { Belief } from "./views/belief.js";
import { Browse } from "./views/browse.js";
import { Cypher } from "./views/cypher.js";
import { Dream } from "./views/dream.js";
import { Fading } from "./views/fading.js";
import { Health } from "./views/health.js";
import { Inbox } from "./views/inbox.js";
import { Today } from "./views/today.js";

const VIEWS = [
  ["ask", "Ask", Ask],
  ["inbox", "Inbox", Inbox],
  ["today", "Today", Today],
  ["browse", "Browse", Browse],
  ["fading", "Fading", Fading],
  ["dream", "Dream", Dream],
  ["health", "Health", Health],
  ["cypher", "Cypher", Cypher],
];
const KEYS = [
  ["/", "search"],
  ["j, k", "the next, the previous row"],
  ["Enter", "open the row"],
  ["r", "revise the row, or the belief"],
  ["u", "undo the last change made here"],
  ["t", "travel in time"],
  ["1 – 8", "the views, in the order of the menu"],
  ["?", "this help"],
  ["Esc", "leave a field or a dialog"],
];

function Shell() {
  const { view, params } = route.value;
  const found = VIEWS.find(([name]) => name === view);
  const View = view === "belief" ? Belief : (found?.[2] ?? Ask);
  const main = useRef(null);
  const first = useRef(true);
  // With the new view itself, not after it is painted: what is typed by then stays where it is.
  useLayoutEffect(() => {
    if (first.current) first.current = false;
    else if (document.activeElement?.id !== "search") {
      main.current?.querySelector("h1")?.focus({ preventScroll: true });
    }
    window.scrollTo(0, 0);
    document.querySelector('nav [aria-current="page"]')?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [view, params.kref, params.at, params.q]);
  return html`
    <a class="skip" href="#main" onClick=${(event) => {
      event.preventDefault();
      main.current.focus();
    }}>Skip to content</a>
    <${TopBar} />
    <${Connection} />
    <${TimeBar} />
    <div class="columns">
      <nav aria-label="Views"><ul>
        ${VIEWS.map(([name, label], at) => html`<li>
          <a href=${address(name)} aria-current=${view === name ? "page" : undefined}>${label}<kbd aria-hidden="true">
          ${at + 1}</kbd></a></li>`)}
      </ul></nav>
      <main id="main" ref=${main} tabindex="-1" class=${isPast.value ? "past-view" : ""}>
        <${View} key=${view} params=${params} />
      </main>
    </div>
    <${Notices} />
    <${Help} />`;
}

/** What is typed stays until it is asked, or another question is: through a reload and a lost server. */
function Search() {
  const asked = route.value.view === "ask" ? (route.value.params.q ?? "") : "";
  const [typed, setTyped] = useState(() => draft("search") || null);
  const first = useRef(true);
  const type = (text) => {
    setTyped(text);
    keepDraft("search", text ?? "");
  };
  useLayoutEffect(() => {
    if (first.current) first.current = false;
    else type(null);
  }, [asked]);
  const search = (event) => {
    event.preventDefault();
    const question = event.currentTarget.elements.q.value.trim();
    type(null);
    document.getElementById("main").focus({ preventScroll: true });
    go("ask", { q: question });
  };
  return html`<form role="search" onSubmit=${search}>
    <input id="search" name="q" type="search" aria-label="Ask the memory" placeholder="Ask the memory  ( / )" autocomplete="off" value=${typed ?? asked} onInput=${(event) => type(event.target.value)} />
  </form>`;
}

function DatabaseSwitch() {
  const names = session.value?.databases ?? [];
  if (names.length < 2) return null;
  return html`<label class="compact">Database <select id="database" value=${database.value || names[0]} onChange=${(event) => switchDatabase(event.target.value === names[0] ? "" : event.target.value)}>
    ${names.map((name) => html`<option value=${name}>${name}</option>`)}</select></label>`;
}

function TopBar() {
  const names = session.value?.projects ?? [];
  const own = session.value?.project || (session.value ? "all" : "own");
  const themes = { system: "light", light: "dark", dark: "system" };
  return html`<header class="top">
    <a class="brand" href=${address("ask")} aria-label="doxa, start">
      <img src="icon.svg" width="28" height="28" alt="" /><span>doxa</span></a>
    <${Search} />
    <div class="top-side">
      <${DatabaseSwitch} />
      <label class="compact">Project <input id="project" list="project-names" value=${project.value} placeholder=${own} size="8"
        onChange=${(event) => chooseProject(event.target.value.trim())} /></label>
      <datalist id="project-names">
        ${[...names, ...(names.length ? [] : ["*"])].map((name) => html`<option value=${name} />`)}</datalist>
      <button type="button" aria-pressed=${timeOpen.value} onClick=${() => (timeOpen.value = !timeOpen.value)}>Time</button>
      <button type="button" onClick=${() => chooseTheme(themes[theme.value])} aria-label="Colours: ${theme.value}">
        ${{ system: "◐", light: "☀", dark: "☾" }[theme.value]}</button>
      <button type="button" onClick=${() => (helpOpen.value = true)} aria-label="Keys and help">?</button>
    </div>
  </header>`;
}

function Connection() {
  if (connection.value === "open") return null;
  return html`<div class="connection" role="alert">${
    connection.value === "lost"
      ? html`<strong>The server does not answer.</strong> What you typed is kept; the page goes on as soon as it is back.`
      : html`<strong>This browser session is over.</strong> Run <code>doxa ui</code> for another link. What you typed is kept.`
  }</div>`;
}

function Notices() {
  return html`<div class="notices" role="status" aria-live="polite">
    ${notices.value.map(
      (one) => html`<div class="notice ${one.kind}" key=${one.id}>
      <span>${one.text}</span>
      ${
        one.action &&
        html`<button type="button" onClick=${() => {
          dismiss(one.id);
          one.action.run();
        }}>${one.action.text} <kbd>u</kbd></button>`
      }
      <button type="button" class="quiet" aria-label="Dismiss" onClick=${() => dismiss(one.id)}>×</button>
    </div>`,
    )}
  </div>`;
}

function Help() {
  const who = session.value;
  return html`<${Dialog} title="Keys" open=${helpOpen.value} close=${() => (helpOpen.value = false)}>
    <dl class="keys">${KEYS.map(([key, text]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${text}</dd></div>`)}</dl>
    <p>Buttons of a row have their key in them: it works while the row is focused.</p>
    ${who && html`<p class="small">You are ${who.name}, ${who.role}${who.projects.length ? `, of ${who.projects.join(", ")}` : ""}. <button type="button" onClick=${leave}>End this session</button></p>`}
  <//>`;
}

// The keyboard

function isTyping(target) {
  return target.closest("input, textarea, select, [contenteditable]") !== null;
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (document.querySelector("dialog[open]")) return;
  if (isTyping(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const done = () => event.preventDefault();
  const row = document.activeElement?.closest("[data-row]");
  const button = row?.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (button && !button.disabled) {
    done();
    button.click();
  } else if (!row && document.querySelector(`main [data-page-key="${CSS.escape(event.key)}"]`)) {
    done();
    document.querySelector(`main [data-page-key="${CSS.escape(event.key)}"]`).click();
  } else if (event.key === "j" || event.key === "k") {
    done();
    moveRow(event.key === "j" ? 1 : -1);
  } else if (event.key === "/") {
    done();
    const search = document.getElementById("search");
    search.focus();
    search.select();
  } else if (event.key === "u") {
    done();
    undo();
  } else if (event.key === "t") {
    done();
    timeOpen.value = !timeOpen.value;
  } else if (event.key === "?") {
    done();
    helpOpen.value = true;
  } else if (/^[1-8]$/.test(event.key)) {
    done();
    go(VIEWS[Number(event.key) - 1][0]);
  }
}

function moveRow(step) {
  const found = [...document.querySelectorAll("main [data-row]")];
  if (!found.length) return;
  const at = found.indexOf(document.activeElement?.closest("[data-row]"));
  const next = found[Math.max(0, Math.min(found.length - 1, at < 0 ? 0 : at + step))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

// Start

function registerWorker() {
  if (!("serviceWorker" in navigator)) return;
  const path = "worker.js";
  const policy = window.trustedTypes?.createPolicy("doxa", { createScriptURL: (url) => (url === path ? url : "") });
  navigator.serviceWorker.register(policy ? policy.createScriptURL(path) : path).catch(() => {});
}

applyTheme();
document.addEventListener("keydown", onKey);
await begin();
const root = document.getElementById("app");
root.replaceChildren();
render(html`<${Shell} />`, root);
registerWorker();
