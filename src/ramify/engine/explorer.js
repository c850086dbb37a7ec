// Shows one position of a search, with the edges from it as a table whose rows lead to the next. Used by result_html.py.
function (id, nodes) {
  const place = document.getElementById(id);
  const make = (tag, text, parent) => {
    const element = document.createElement(tag);
    element.textContent = text;
    parent.append(element);
    return element;
  };
  const show = (path) => {
    const node = nodes[path.at(-1).to];
    place.replaceChildren();
    const line = make("p", "", place);
    path.forEach((edge, i) => {
      if (i > 0) make("span", " › ", line);
      const step = make(i + 1 < path.length ? "a" : "b", edge.name, line);
      if (i + 1 < path.length) {
        step.href = "#";
        step.onclick = (event) => { event.preventDefault(); show(path.slice(0, i + 1)); };
      }
    });
    const picture = make("div", "", place);
    picture.innerHTML = node.picture;
    make("p", `visits ${node.visits}, value ${node.value.join(" ")}`, place);
    if (node.edges.length === 0) return;
    const table = make("table", "", place);
    const head = make("tr", "", table);
    ["action", "visits", "share", "value 0", "value 1"].forEach((title) => make("th", title, head));
    node.edges.forEach((edge) => {
      const row = make("tr", "", table);
      const cells = [edge.name, edge.visits, `${(100 * edge.share).toFixed(1)} %`, ...edge.value];
      cells.forEach((text) => make("td", text, row));
      if (edge.to === undefined) return;
      row.style.cursor = "pointer";
      row.title = "show this position";
      row.onclick = () => show([...path, edge]);
    });
  };
  show([{name: "root", to: 0}]);
}
