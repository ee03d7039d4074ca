"use strict";
(() => {
  // Sorts and filters rows that are there already: without this script the page shows the same numbers.
  const table = document.getElementById("secrets-table");
  if (!table) return;
  const body = table.tBodies[0], rows = Array.from(body.rows);
  const value = (row, at) => row.cells[at].dataset.v ?? row.cells[at].textContent.trim().toLowerCase();
  const compare = (a, b) => {
    if (a === "" || b === "") return (a === "") - (b === "");  // unknown values come last, either way
    const x = Number(a), y = Number(b);
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
  };
  const headers = Array.from(table.tHead.rows[0].cells);
  headers.forEach((header, at) => {
    if (!header.dataset.sort) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = header.textContent.trim();
    header.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = header.dataset.sort === "down";
      const now = header.getAttribute("aria-sort");
      const descending = now ? now === "ascending" : down;
      headers.forEach((other) => other.removeAttribute("aria-sort"));
      header.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const keyed = rows.map((row, place) => [value(row, at), place, row]);
      keyed.sort(([a, i], [b, j]) => {
        const unknown = a === "" || b === "";
        return (descending && !unknown ? -compare(a, b) : compare(a, b)) || i - j;
      });
      body.append(...keyed.map(([, , row]) => row));
    });
  });
  const search = document.getElementById("search"), state = document.getElementById("state");
  const kind = document.getElementById("kind"), shown = document.getElementById("shown");
  const words = rows.map((row) => row.cells[0].title.toLowerCase());
  const filter = () => {
    const wanted = search.value.trim().toLowerCase();
    let count = 0;
    rows.forEach((row, place) => {
      const kept = words[place].includes(wanted) && (!state.value || row.dataset.state === state.value) &&
        (!kind.value || row.dataset.kind === kind.value);
      row.hidden = !kept;
      count += kept;
    });
    shown.textContent = `${count.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
  };
  [search, state, kind].forEach((one) => one.addEventListener("input", filter));
  filter();
  document.getElementById("tools").hidden = false;
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => { one.open = true; }));
})();
