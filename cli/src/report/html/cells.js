// The elements of the table. Only the visible rows exist.

const CLASSES = { ".": "pass", "~": "flaky", "?": "unknown" };
const signClass = (letter) => CLASSES[letter] ?? letter;

function sign(letter, tolerated) {
  const name = `sign ${signClass(letter)}${tolerated ? " tolerated" : ""}`;
  return el("b", { class: name, "aria-hidden": "true" }, letter);
}

/** A time in microseconds as text. */
function time(us) {
  if (us < 1e3) return `${us} µs`;
  if (us < 1e6) return `${us < 1e4 ? (us / 1e3).toFixed(1) : Math.round(us / 1e3)} ms`;
  if (us < 6e7) return `${(us / 1e6).toFixed(us < 1e7 ? 2 : 1)} s`;
  const seconds = Math.round(us / 1e6);
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
}

const timeOf = (device, test) =>
  TIMELESS.includes(device.letter(test)) ? "" : time(device.results.times[test]);

const meaning = (letter) => kindOf.get(letter)?.meaning ?? "no result";
const number = (count) => count.toLocaleString("en").replaceAll(",", "\u2009");
const counted = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
/** The beginning of a text on one line. */
const oneLine = (text) => text.slice(0, 400).trim().replace(/\s+/g, " ");

function testCell(device, test) {
  const letter = device.letter(test);
  if (letter === " ") return { children: [], label: "no result" };
  const duration = timeOf(device, test);
  return {
    children: [sign(letter, device.details(test)?.tolerated), el("span", { class: "time" }, duration)],
    label: `${meaning(letter)}${duration && `, ${duration}`}`,
  };
}

function suiteCell(suite, column) {
  const start = (suite * view.columns.length + column) * kinds.length;
  const counts = view.counts.subarray(start, start + kinds.length);
  const present = kinds.map((kind, at) => ({ ...kind, count: counts[at] })).filter((kind) => kind.count);
  const total = present.reduce((sum, kind) => sum + kind.count, 0);
  const of = (wanted) => present.filter((kind) => kind.letter !== "." && kind.unexpected === wanted);
  const passed = counts[kindNumber[".".charCodeAt(0)]];
  const children = [
    ...of(true).map(({ letter, count }) => el("span", {}, sign(letter), ` ${number(count)}`)),
    total > 0 && el("span", { class: "passed" }, passed ? number(passed) : "–"),
    ...of(false).map(({ letter, count }) =>
      el("span", { class: "others" }, el("i", { class: signClass(letter) }, letter), number(count))),
  ].filter(Boolean);
  if (total > 0) children.push(shareBar(counts, total));
  return { children, label: present.map((kind) => `${kind.count} ${kind.meaning}`).join(", ") || "no result" };
}

/** The widths of a digit, and of a sign and of a letter with their gaps, in pixels, at most. */
const [DIGIT, SIGN, LETTER] = [8.3, 19, 10];

/** Returns the width of the widest cell of a suite, in pixels, at most. */
function widestSuiteCell() {
  let widest = 0;
  for (let start = 0; start < view.counts.length; start += kinds.length) {
    const widths = kinds.map(({ letter, unexpected }, at) => {
      const count = view.counts[start + at];
      // A cell without passes has a dash.
      if (letter === ".") return DIGIT * number(count).length;
      return count ? 7 + (unexpected ? SIGN : LETTER) + DIGIT * number(count).length : 0;
    });
    widest = Math.max(widest, widths.reduce((sum, width) => sum + width));
  }
  return Math.ceil(widest + 16);
}

function groupCell(column) {
  const count = view.troubles[column];
  return { children: [el("b", {}, count ? number(count) : "")], label: counted(count, "unexpected result") };
}

/** The shares of unexpected results, expected failures and passes, as a line. */
function shareBar(counts, total) {
  const sums = { "var(--bad)": 0, "var(--known)": 0, "var(--ok)": 0, "var(--line)": 0 };
  kinds.forEach((kind, at) => {
    const color = kind.unexpected ? "bad" : kind.letter === "." ? "ok" : kind.letter === "x" ? "known" : "line";
    sums[`var(--${color})`] += counts[at];
  });
  let end = 0;
  const stops = Object.entries(sums).map(([color, sum]) => {
    const begin = end;
    end += (100 * sum) / total;
    return `${color} ${begin}% ${end}%`;
  });
  const bar = el("span", { class: "share" });
  bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  return bar;
}

function nameCell(row, room) {
  const [kind, item] = [rowKind(row), rowItem(row)];
  const fold = () => el("span", { class: "fold" });
  switch (kind) {
    case GROUP: return [fold(), "Unexpected results", el("span", { class: "many" }, counted(view.unexpected.length, "test"))];
    case SUITE: return [fold(), el("span", { title: suites[item].name }, suites[item].name),
      el("span", { class: "many" }, number(view.shown[item].length))];
    case TROUBLE: {
      const device = view.columns.find((one) => one.isUnexpected(item));
      return [el("span", {}, shortened(paths[item], room)), el("span", {}, oneLine(device.headline(item)) || meaning(device.letter(item)))];
    }
    default: {
      const { name } = suites[suiteOf[item]];
      const short = paths[item].slice(name.length).replace(/^::/, "") || name;
      return [el("span", {}, shortened(short, room))];
    }
  }
}

/** The width of a character of a name, in pixels, at most. */
const CHARACTER = 7.3;

/** Returns a name without its middle if it is wider than its column: its end has the parameters. */
function shortened(name, room) {
  const most = Math.max(16, Math.floor(room / CHARACTER));
  if (name.length <= most) return name;
  const begin = Math.floor(most * 0.45);
  return `${name.slice(0, begin)}…${name.slice(begin + 1 - most)}`;
}

const ROW_CLASSES = ["test", "trouble", "suite", "group"];

function rowElement(at, room) {
  const row = view.rows[at];
  const [kind, item] = [rowKind(row), rowItem(row)];
  const isTest = kind === TEST || kind === TROUBLE;
  const mark = (column, isChosen) =>
    `${at === active.row && column === active.column ? " active" : ""}${isChosen ? " chosen" : ""}`;
  const name = el("div", { role: "rowheader", class: `name${mark(0)}`, id: `c${at}-0`, "aria-colindex": 1,
    "aria-label": isTest ? paths[item] : undefined, title: isTest ? paths[item] : undefined }, nameCell(row, room));
  const cells = view.columns.map((device, column) => {
    const isChosen = isTest && item === state.test && device.id === state.device;
    const { children, label } = isTest ? testCell(device, item) : kind === SUITE ? suiteCell(item, column) : groupCell(column);
    return el("div", {
      role: "gridcell", class: `cell${mark(column + 1, isChosen)}`, id: `c${at}-${column + 1}`, "aria-colindex": column + 2,
      "aria-selected": isTest ? String(isChosen) : undefined, title: `${device.id}: ${label}`,
    }, el("span", { class: "spoken" }, `${device.id}: ${label}`), el("span", { class: "shown", "aria-hidden": "true" }, children));
  });
  const element = el("div", {
    role: "row", class: `row ${ROW_CLASSES[kind]}`, "aria-rowindex": at + 2, "aria-level": isTest ? 2 : 1,
    "aria-expanded": isTest ? undefined : String(isOpen(row)),
  }, name, cells);
  element.style.top = `${view.tops[at]}px`;
  element.style.height = `${HEIGHTS[kind]}px`;
  return element;
}

/** Returns the row at a height. */
function rowAt(height) {
  let [low, high] = [0, view.rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (view.tops[middle + 1] <= height) low = middle + 1; else high = middle;
  }
  return low;
}

/** Makes the rows that are visible, and a few more. */
function renderRows() {
  const first = Math.max(0, rowAt(grid.scrollTop) - 4);
  const last = Math.min(view.rows.length, rowAt(grid.scrollTop + grid.clientHeight) + 5);
  const elements = [];
  const room = (headRow.querySelector("[role=columnheader]")?.clientWidth ?? 0) - 46;
  for (let at = first; at < last; at++) elements.push(rowElement(at, room));
  rowsBox.replaceChildren(...elements);
  if (!view.rows.length) rowsBox.append(el("p", { id: "empty" }, paths.length ? "No result matches the filters." : "The run has no results."));
  const isThere = active.row >= first && active.row < last;
  if (isThere) grid.setAttribute("aria-activedescendant", `c${active.row}-${active.column}`);
  else grid.removeAttribute("aria-activedescendant");
}

function renderHead() {
  const row = el("div", { role: "row", class: "row", "aria-rowindex": 1 },
    el("div", { role: "columnheader", "aria-colindex": 1 }, el("b", {}, "Test"), el("small", {}, `${counted(view.tests, "test")} in ${counted(view.shown.filter((tests) => tests.length).length, "suite")}`)));
  view.columns.forEach((device, column) => {
    const about = device.facts["driver version"] ?? "";
    row.append(el("div", { role: "columnheader", "aria-colindex": column + 2 },
      el("button", { title: `About ${device.id}`, "aria-label": `About the device ${device.id}`, onclick: () => openPanel(-1, device.id, true) }, device.id),
      el("small", { title: about }, about)));
  });
  headRow.replaceChildren(row);
}
