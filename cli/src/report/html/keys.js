// Keys and clicks.

function scrollToActive() {
  const [top, bottom] = [view.tops[active.row], view.tops[active.row + 1]];
  const room = grid.clientHeight - headRow.offsetHeight;
  if (top < grid.scrollTop) grid.scrollTop = top;
  else if (bottom > grid.scrollTop + room) grid.scrollTop = bottom - room;
  renderRows();
  byId(`c${active.row}-${active.column}`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function moveTo(row, column) {
  active = {
    row: Math.max(0, Math.min(view.rows.length - 1, row)),
    column: Math.max(0, Math.min(view.columns.length, column)),
  };
  scrollToActive();
  // An open panel follows.
  const at = rowItem(view.rows[active.row] ?? 0);
  const device = view.columns[active.column - 1];
  if (!panel.hidden && rowKind(view.rows[active.row]) <= TROUBLE && device && device.letter(at) !== " ") openPanel(at, device.id, false);
}

function toggle(row) {
  if (!toggled.delete(row)) toggled.add(row);
  layOut();
}

/** Opens or folds what is at the active cell. */
function enter() {
  const row = view.rows[active.row];
  if (row === undefined) return;
  if (rowKind(row) >= SUITE) return void toggle(row);
  const test = rowItem(row);
  const has = (device) => device && device.letter(test) !== " ";
  const device = view.columns[active.column - 1] ?? view.columns.find((one) => one.isUnexpected(test)) ?? view.columns.find(has);
  if (has(device)) openPanel(test, device.id, true);
}

grid.addEventListener("keydown", (event) => {
  if (event.target !== grid || event.ctrlKey || event.metaKey || event.altKey) return;
  const row = view.rows[active.row];
  const folds = row !== undefined && rowKind(row) >= SUITE && active.column === 0;
  const screen = () => rowAt(view.tops[active.row] + grid.clientHeight - 80) - active.row || 1;
  const { row: at, column } = active;
  const actions = {
    ArrowDown: () => moveTo(at + 1, column),
    ArrowUp: () => moveTo(at - 1, column),
    ArrowRight: () => (folds && !isOpen(row) ? toggle(row) : moveTo(at, column + 1)),
    ArrowLeft: () => {
      if (folds && isOpen(row)) toggle(row);
      else if (column === 0) moveTo(view.rows.findLastIndex((other, place) => place < at && rowKind(other) >= SUITE), 0);
      else moveTo(at, column - 1);
    },
    Home: () => moveTo(0, column),
    End: () => moveTo(view.rows.length - 1, column),
    PageDown: () => moveTo(at + screen(), column),
    PageUp: () => moveTo(at - screen(), column),
    Enter: enter,
    " ": enter,
  };
  if (!actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
});

rowsBox.addEventListener("click", (event) => {
  const cell = event.target.closest("[id^=c]");
  if (!cell) return;
  const [row, column] = cell.id.slice(1).split("-").map(Number);
  active = { row, column };
  grid.focus({ preventScroll: true });
  enter();
  renderRows();
});

/** Goes to the row of a test, whose suite is unfolded for it. */
function reveal(test, deviceId) {
  const rowOf = () => view.rows.findIndex((row) => rowKind(row) <= TROUBLE && rowItem(row) === test);
  if (rowOf() < 0 && view.shown[suiteOf[test]].includes(test)) toggle(SUITE * ROW_KIND + suiteOf[test]);
  const row = rowOf();
  if (row < 0) return;
  active = { row, column: view.columns.findIndex(({ id }) => id === deviceId) + 1 };
  scrollToActive();
}

/** Goes to the next unexpected result, or back. */
function step(by) {
  const all = view.unexpected.flatMap((test) =>
    view.columns.filter((device) => device.isUnexpected(test)).map((device) => ({ test, device })));
  const at = all.findIndex(({ test, device }) => test === state.test && device.id === state.device);
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by];
  if (!next) return;
  reveal(next.test, next.device.id);
  openPanel(next.test, next.device.id, true);
}

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input, select");
  if (event.key === "Escape" && !panel.hidden) {
    event.preventDefault();
    closePanel();
  } else if (event.key === "Escape" && isTyping) {
    // The browser would empty the field without an event.
    event.preventDefault();
    grid.focus();
  } else if (!isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    const actions = { "/": () => byId("text").select(), n: () => step(1), p: () => step(-1) };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }
});

let isRenderPlanned = false;
function planRender() {
  if (isRenderPlanned) return;
  isRenderPlanned = true;
  requestAnimationFrame(() => {
    isRenderPlanned = false;
    renderRows();
  });
}
grid.addEventListener("scroll", planRender, { passive: true });
new ResizeObserver(planRender).observe(grid);
