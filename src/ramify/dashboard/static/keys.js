// A key that the focused element has a use for is that element's alone; keys of the page (data-keys) do not scroll it.
const ARROWS = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End"];

function uses(element, key) {
  if (element.closest(".q-menu, .q-dialog, .q-field")) return true;
  if (key === " " || key === "Enter") return !!element.closest("button, a[href], summary, [role=button], [role=tab]");
  return ARROWS.includes(key) && !!element.closest("[role=slider], [role=tablist]");
}

document.body.addEventListener("keydown", (event) => {
  const focused = document.activeElement || document.body;
  if (focused !== document.body && uses(focused, event.key)) {
    event.stopPropagation(); // the page listens at the document, above the body
    return;
  }
  const own = document.querySelector("[data-keys]");
  if (own && !event.ctrlKey && !event.altKey && !event.metaKey && !focused.matches("input, select, textarea")) {
    if (own.dataset.keys.split(",").includes(event.key)) event.preventDefault();
  }
});

// After a click of the mouse the keys are the page's again, and not those of the button that was clicked.
document.addEventListener("click", (event) => {
  const focused = document.activeElement; // within a button, where Quasar has moved it
  const control = focused && focused.closest("button, [role=tab], [role=slider]");
  if (event.detail && control && !control.closest(".q-menu, .q-dialog")) focused.blur();
});
