// On a pair under review: r, u, n say yes and R, U, N say no (again takes it back), a says yes to all, c goes to the note,
// Enter goes on. Keys: j and k (or the arrows on an item) go to the next and the previous one, Enter opens, / searches, Escape leaves.
"use strict";
const rows = () => [...document.querySelectorAll("table.items tbody tr")];

function moved(by) {
  const all = rows();
  const now = all.findIndex((row) => row.contains(document.activeElement));
  const next = all[now < 0 ? (by > 0 ? 0 : all.length - 1) : now + by];
  if (next) next.querySelector("a").focus();
  else if (all.length) document.querySelector(by > 0 ? "a[rel=next]" : "a[rel=prev]")?.click();
}

// A change is sent at once; what could not be kept is said.
const marking = () => document.getElementById("mark");
function say(name, value) {
  const radio = marking().querySelector(`input[name=${name}][value="${value}"]`);
  const none = marking().querySelector(`input[name=${name}][value=""]`);
  (radio.checked && value ? none : radio).checked = true;
}
function judged(key) {
  const name = { r: "right", u: "unique", n: "natural" }[key.toLowerCase()];
  if (name) say(name, key === key.toLowerCase() ? "yes" : "no");
  else if (key === "a") marking().querySelectorAll("input[value=yes]").forEach((radio) => { radio.checked = true; });
  else return false;
  marking().dispatchEvent(new Event("change"));
  return true;
}
for (const failure of ["htmx:sendError", "htmx:responseError"]) {
  document.addEventListener(failure, () => {
    const kept = document.getElementById("kept");
    if (kept) { kept.className = "wrong"; kept.textContent = "Not kept: the server did not answer. Is digsite view still running?"; }
  });
}
document.addEventListener("click", (event) => { if (event.target.closest("#all")) judged("a"); });

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("input:not([type=checkbox]):not([type=radio]), textarea, select");
  if (event.key === "Escape") {
    document.querySelectorAll("details.menu[open]").forEach((menu) => { menu.open = false; });
    if (typing) event.target.blur();
    else document.querySelector("a[rel=up]")?.click();
    return;
  }
  if (typing) return;
  if (marking()) {
    if (judged(event.key)) { event.preventDefault(); return; }
    if (event.key === "Enter" && !event.target.matches("a, button, summary")) { event.preventDefault(); marking().querySelector("[name=go]").click(); return; }
    if (event.key === "c") { event.preventDefault(); document.getElementById("note").focus(); return; }
  }
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

// A menu near the right edge opens to the left.
document.addEventListener("toggle", (event) => {
  const menu = event.target;
  if (!menu.matches("details.menu")) return;
  menu.classList.remove("flipped");
  if (menu.open && menu.lastElementChild.getBoundingClientRect().right > document.documentElement.clientWidth) menu.classList.add("flipped");
}, true);
