// Shows texts with the components of a row. Returns what went wrong: a text that is not shown as it
// is, an element that came of one, a row that is wider than the window.
async (texts) => {
  const { html, render } = await import("/ui/lib.js");
  const { Row, Chip } = await import("/ui/parts.js");
  const { WordDiff } = await import("/ui/diff.js");
  const box = document.createElement("ul");
  document.querySelector("main").append(box);
  const wrong = [];
  const row = (text) => html`<${Row} kref="kref://p/a.fact">
    <p class="text whole">${text}</p>
    <p class="meta"><${Chip}>${text.slice(0, 40)}<//></p>
    <${WordDiff} before="a b" after=${text} />
  <//>`;
  for (let at = 0; at < texts.length; at += 100) {
    const some = texts.slice(at, at + 100);
    render(html`${some.map(row)}`, box);
    const shown = [...box.querySelectorAll("p.whole")].map((one) => one.textContent);
    wrong.push(...some.filter((text, index) => shown[index] !== text));
    wrong.push(...[...box.querySelectorAll(":not(li, p, span, del, ins)")].map((one) => one.outerHTML));
    if (document.documentElement.scrollWidth > innerWidth) wrong.push(`wide: ${at}`);
  }
  box.remove();
  return wrong.slice(0, 5);
};
