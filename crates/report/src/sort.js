// Heads of columns become buttons that sort the rows. Without scripts the table is as it was given.
"use strict";
(() => {
  const units = {
    "": 1, "%": 0.01, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, PB: 1e15, EB: 1e18,
    k: 1e3, M: 1e6, G: 1e9, T: 1e12, ns: 1e-9, "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, d: 86400,
  };
  // The number that a text begins with, units and all; NaN where it begins with none.
  const number = (text) => {
    let sum = NaN;
    for (const [, digits, unit] of text.replace(/,/g, "").matchAll(/([-+]?[\d.]+(?:e[-+]?\d+)?)\s*([^\s\d–-]*)/g)) {
      const part = Number(digits) * (units[unit] ?? NaN);
      if (Number.isNaN(part)) break;
      sum = Number.isNaN(sum) ? part : unit === "" || text.includes("–") ? sum : sum + part;
    }
    return /^[<>]?[-+]?[\d.]/.test(text.trim()) ? sum : NaN;
  };
  const words = new Intl.Collator(undefined, { numeric: true });
  for (const table of document.querySelectorAll("table")) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") === "descending" || (!head.hasAttribute("aria-sort") && !head.classList.contains("number"));
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = [...body.rows].map((row) => {
          const text = row.cells[column].textContent;
          return { row, text, value: number(text) };
        });
        const numeric = rows.every(({ text, value }) => !Number.isNaN(value) || text === "" || text === "–");
        const rank = (a) => (Number.isNaN(a.value) ? -Infinity : a.value);
        const compare = numeric ? (a, b) => (rank(a) === rank(b) ? 0 : rank(a) - rank(b)) : (a, b) => words.compare(a.text, b.text);
        rows.sort((a, b) => (up ? compare(a, b) : compare(b, a)));
        body.append(...rows.map(({ row }) => row));
      });
    });
  }
})();
