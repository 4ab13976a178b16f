// Finds the headings that have all words, those with the words in their names first. `pages` is made by build.py.
const field = document.getElementById("search");
const list = document.getElementById("found");
const up = document.body.dataset.up;

function find(question) {
  const words = question.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const found = [];
  for (const page of pages) {
    const name = `${page.page} ${page.heading}`.toLowerCase();
    const text = page.text.toLowerCase();
    if (!words.every((word) => name.includes(word) || text.includes(word))) continue;
    const named = words.filter((word) => name.includes(word)).length;
    const place = text.indexOf(words.find((word) => text.includes(word)) ?? "");
    found.push({ page, named, place });
  }
  return found.sort((a, b) => b.named - a.named).slice(0, 12);
}

function show() {
  const found = find(field.value);
  list.replaceChildren(...found.map(({ page, place }) => {
    const link = document.createElement("a");
    link.href = up + page.at;
    const name = document.createElement("strong");
    name.textContent = page.heading === page.page ? page.page : `${page.page}: ${page.heading}`;
    const text = document.createElement("span");
    const from = Math.max(0, place - 40);
    text.textContent = (from ? "…" : "") + page.text.slice(from, from + 130);
    link.append(name, text);
    const item = document.createElement("li");
    item.append(link);
    return item;
  }));
  if (field.value.trim() && !found.length) {
    const item = document.createElement("li");
    item.textContent = "Nothing found.";
    list.append(item);
  }
  list.hidden = !field.value.trim();
}

field.addEventListener("input", show);
field.addEventListener("keydown", (event) => {
  if (event.key === "Escape") { field.value = ""; show(); }
  if (event.key === "Enter") list.querySelector("a")?.click();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== field) { event.preventDefault(); field.focus(); }
});
