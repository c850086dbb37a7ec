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
    make("p", `${node.visits} visits, value ${node.value.join(" ")}`, place);
    if (node.edges.length === 0) return;
    const table = make("table", "", place);
    const head = make("tr", "", table);
    const titles = ["action", "visits", "share", "value of player 0", "value of player 1", "prior"];
    titles.forEach((title, i) => { make("th", title, head).style.textAlign = i === 0 ? "left" : "right"; });
    node.edges.forEach((edge) => {
      const row = make("tr", "", table);
      const first = make("td", "", row);
      first.style.textAlign = "left";
      const cells = [edge.visits, `${(100 * edge.share).toFixed(1)} %`, ...edge.value, edge.prior];
      cells.forEach((text) => { make("td", text, row).style.textAlign = "right"; });
      if (edge.to === undefined) {
        first.textContent = edge.name;
        return;
      }
      const name = make("a", edge.name, first);  // for the keyboard; a click anywhere on the row will do
      name.href = "#";
      row.style.cursor = "pointer";
      row.title = "show this position";
      row.onclick = (event) => { event.preventDefault(); show([...path, edge]); };
    });
    if (node.more > 0) make("p", `and ${node.more} more`, place);
  };
  show([{name: "root", to: 0}]);
}
