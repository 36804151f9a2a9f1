// Shows a list of as many entries as are asked for.
async (count) => {
  const { html, render } = await import("/ui/lib.js");
  const { VirtualList } = await import("/ui/virtual.js");
  const { Row } = await import("/ui/parts.js");
  const items = Array.from({ length: count }, (_, at) => ({ at }));
  const box = document.createElement("div");
  box.id = "long";
  document.querySelector("main").append(box);
  const row = (one) => html`<${Row} key=${one.at}><p class="text">entry ${one.at}</p><//>`;
  render(html`<${VirtualList} items=${items} total=${count} label="Long" row=${row} />`, box);
};
