// The rows of the table: filters, counts, folding.

// A row is a number: its kind times ROW_KIND, plus a test or a suite.
const ROW_KIND = 2 ** 26;
const [TEST, TROUBLE, SUITE, GROUP] = [0, 1, 2, 3];
const rowKind = (row) => Math.floor(row / ROW_KIND);
const rowItem = (row) => row % ROW_KIND;
const HEIGHTS = [24, 42, 30, 30];
/** All suites are open if the table has few rows. */
const FEW_TESTS = 30;

let lowerPaths;

/** Returns for each test whether its path or a message has all words. */
function matches(words, columns) {
  lowerPaths ??= paths.map((path) => path.toLowerCase());
  const all = new Uint8Array(paths.length).fill(1);
  for (const word of words) {
    const hits = new Uint8Array(paths.length);
    lowerPaths.forEach((path, test) => { hits[test] = path.includes(word) ? 1 : 0; });
    for (const { results } of columns) {
      results.lower ??= results.texts.map((text) => text.toLowerCase());
      const has = results.lower.map((text) => text.includes(word));
      for (const { test, attempts, expected } of results.details) {
        if (has[expected] || attempts.some(({ message }) => has[message])) hits[test] = 1;
      }
    }
    hits.forEach((hit, test) => { all[test] &= hit; });
  }
  return all;
}

/** Applies the filters, and counts. */
function select() {
  const columns = run().devices.filter((device) => !state.hidden.has(device.id));
  const words = state.text.toLowerCase().split(/\s+/).filter((word) => word);
  const hits = words.length ? matches(words, columns) : undefined;
  const wanted = new Uint8Array(128).fill(state.verdicts.size ? 0 : 1);
  for (const letter of state.verdicts) wanted[letter.charCodeAt(0)] = 1;
  const verdicts = columns.map((device) => device.results.verdicts);
  const counts = new Uint32Array(suites.length * columns.length * kinds.length);
  const shown = suites.map(() => []);
  let tests = 0;
  for (let test = 0; test < paths.length; test++) {
    if (hits && !hits[test]) continue;
    const suite = suiteOf[test];
    let isShown = false;
    for (let column = 0; column < columns.length; column++) {
      const code = verdicts[column].charCodeAt(test);
      if (code === BLANK || !wanted[code]) continue;
      isShown = true;
      counts[(suite * columns.length + column) * kinds.length + kindNumber[code]]++;
    }
    if (isShown) {
      shown[suite].push(test);
      tests++;
    }
  }
  const troubles = unexpected(columns, hits, wanted);
  const troublesOn = (device) => troubles.filter((test) => device.isUnexpected(test)).length;
  view = { columns, shown, counts, tests, unexpected: troubles, troubles: columns.map(troublesOn) };
  layOut();
}

/** Returns the tests with unexpected results on one of the devices. */
function unexpected(columns, hits, wanted) {
  const found = new Set();
  for (const device of columns) {
    for (const { test } of device.results.details) {
      const isWanted = wanted[device.letter(test).charCodeAt(0)] && (!hits || hits[test]);
      if (isWanted && device.isUnexpected(test)) found.add(test);
    }
  }
  return [...found].sort((a, b) => a - b);
}

function isOpen(row) {
  const byDefault = rowKind(row) === GROUP || isFiltered() || view.tests <= FEW_TESTS;
  return byDefault !== toggled.has(row);
}

/** Lists the rows, and where they begin. */
function layOut() {
  const before = view.rows?.[active.row];
  const rows = [];
  const group = GROUP * ROW_KIND;
  if (view.unexpected.length) {
    rows.push(group);
    if (isOpen(group)) for (const test of view.unexpected) rows.push(TROUBLE * ROW_KIND + test);
  }
  suites.forEach((_, suite) => {
    const row = SUITE * ROW_KIND + suite;
    if (!view.shown[suite].length) return;
    rows.push(row);
    if (isOpen(row)) for (const test of view.shown[suite]) rows.push(test);
  });
  const tops = new Float64Array(rows.length + 1);
  rows.forEach((row, at) => { tops[at + 1] = tops[at] + HEIGHTS[rowKind(row)]; });
  Object.assign(view, { rows, tops });
  const at = before === undefined ? -1 : rows.indexOf(before);
  active.row = at >= 0 ? at : Math.min(active.row, Math.max(rows.length - 1, 0));
  active.column = Math.min(active.column, view.columns.length);
  rowsBox.style.height = `${tops[rows.length]}px`;
  grid.setAttribute("aria-rowcount", rows.length + 1);
  grid.setAttribute("aria-colcount", view.columns.length + 1);
  grid.style.setProperty("--count", view.columns.length);
  grid.style.setProperty("--widest", `${widestSuiteCell()}px`);
  renderHead();
  renderRows();
}
