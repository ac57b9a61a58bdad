// Keys: j and k (or the arrows on an item) go to the next and the previous one, Enter opens, / searches, Escape leaves.
"use strict";
const rows = () => [...document.querySelectorAll("table.items tbody tr")];

function moved(by) {
  const all = rows();
  const now = all.findIndex((row) => row.contains(document.activeElement));
  const next = all[now < 0 ? (by > 0 ? 0 : all.length - 1) : now + by];
  if (next) next.querySelector("a").focus();
  else if (all.length) document.querySelector(by > 0 ? "a[rel=next]" : "a[rel=prev]")?.click();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("input:not([type=checkbox]), textarea, select");
  if (event.key === "Escape") {
    document.querySelectorAll("details.menu[open]").forEach((menu) => { menu.open = false; });
    if (typing) event.target.blur();
    else document.querySelector("a[rel=up]")?.click();
    return;
  }
  if (typing) return;
  const list = rows().length > 0;
  const by = { j: 1, k: -1, ...(list ? {} : { ArrowRight: 1, ArrowLeft: -1 }) }[event.key];
  if (by) {
    event.preventDefault();
    if (list) moved(by);
    else document.querySelector(by > 0 ? "a[rel=next]" : "a[rel=prev]")?.click();
  } else if (event.key === "/") {
    const search = document.getElementById("q");
    if (search) { event.preventDefault(); search.focus(); search.select(); }
  }
});

// A menu closes when the mouse or the focus goes elsewhere.
document.addEventListener("pointerdown", (event) => {
  document.querySelectorAll("details.menu[open]").forEach((menu) => { if (!menu.contains(event.target)) menu.open = false; });
});
