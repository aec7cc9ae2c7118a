// The run above the table, and the begin.

/** The number of results of each kind on a device. */
function total(device) {
  const counts = new Uint32Array(kinds.length);
  const { verdicts } = device.results;
  for (let test = 0; test < paths.length; test++) {
    const code = verdicts.charCodeAt(test);
    if (code !== BLANK) counts[kindNumber[code]]++;
  }
  return counts;
}

const summary = (counts) =>
  kinds.flatMap((kind, at) => (counts[at] ? [`${number(counts[at])} ${kind.meaning}`] : [])).join(", ") || "no results";

function notices() {
  const { absent, failed_drivers: failed, lost, not_run: notRun } = run();
  const line = (title, text) => el("li", {}, el("b", {}, `${title}. `), text);
  return [
    ...lost.map(({ device, reason, when, suspects, tests }) =>
      line(`Lost: ${device}`, `${reason}; ${when}; ${counted(tests, "test")} not run; ${counted(suspects, "suspect result")}`)),
    ...notRun.map(({ device, reason, tests }) => line(`Not run: ${counted(tests, "test")} on ${device}`, reason)),
    ...absent.map((expected) => line("Absent", `the profile expects ${expected}, which is not there`)),
    ...failed.map(({ driver, reason }) => line(`Driver failed: ${driver}`, reason)),
    ...(head.tests.left_out ? [line(`Left out: ${counted(head.tests.left_out, "test")}`, "they passed everywhere, and this page has no room for them")] : []),
  ];
}

/** Shows the run of the state. */
function renderRun() {
  const { id, time: started, host, conclusion, sentence, command: line, devices } = run();
  const counts = new Uint32Array(kinds.length);
  for (const device of devices) total(device).forEach((count, at) => { counts[at] += count; });
  document.title = `${conclusion}: ${host}, ${started.slice(0, 10)} – clmatrix`;
  byId("conclusion").textContent = conclusion;
  byId("conclusion").className = conclusion === "PASSED" ? "good" : "bad";
  byId("sentence").textContent = sentence;
  const which = runs.length > 1
    ? el("select", { "aria-label": "Run", onchange: (event) => { state.run = Number(event.target.value); show(); document.querySelector("#about select").focus(); } },
      runs.map((one) => el("option", { value: one.number, selected: one.number === state.run }, `${one.time.replace("T", " ").replace("Z", " UTC")} · ${one.conclusion}`)))
    : started.replace("T", " ").replace("Z", " UTC");
  byId("about").replaceChildren(which, ` · ${host} · run ${id} · `, el("code", { title: line }, line));
  byId("notices").replaceChildren(...notices());
  byId("verdicts").replaceChildren(...kinds.flatMap(({ letter, meaning: words }, at) => (counts[at] || state.verdicts.has(letter)
    ? [el("button", { class: "chip", "aria-pressed": String(state.verdicts.has(letter)), onclick: (event) => press(event, state.verdicts, letter) },
      sign(letter), `${words} ${number(counts[at])}`)]
    : [])));
  byId("devices").replaceChildren(...(devices.length > 1 || devices.some(({ id }) => state.hidden.has(id)) ? devices.map((device) =>
    el("button", { class: "chip", "aria-pressed": String(!state.hidden.has(device.id)), onclick: (event) => press(event, state.hidden, device.id) }, device.id)) : []));
  byId("text").value = state.text;
  refilter();
}

/** Adds a value to a set, or removes it, by a button that is pressed or not. */
function press({ currentTarget: button }, set, value) {
  if (!set.delete(value)) set.add(value);
  button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
  refilter();
  writeFragment();
}

function refilter() {
  grid.scrollTop = 0;
  select();
  byId("count").textContent = isFiltered() ? `${number(view.tests)} of ${counted(paths.length, "test")}` : "";
}

byId("text").addEventListener("input", (event) => {
  state.text = event.target.value.trim();
  refilter();
  writeFragment();
});

function show() {
  renderRun();
  openPanel(state.test, state.device, false);
  if (state.test >= 0) reveal(state.test, state.device);
}

addEventListener("hashchange", () => {
  readFragment();
  show();
});

/** Returns the milliseconds until the page has its new layout. */
function layoutTime(change) {
  const begin = performance.now();
  change();
  document.body.getBoundingClientRect();
  return performance.now() - begin;
}

/** Measures this page: `#measure`. */
function measure() {
  const last = paths[paths.length - 1].split("::").pop();
  const filter = (change) => layoutTime(() => { change(); refilter(); });
  const figures = {
    open_ms: performance.now(),
    text_filter_ms: filter(() => { state.text = last; }),
    verdict_filter_ms: filter(() => { state.text = ""; state.verdicts.add("F"); }),
    no_filter_ms: filter(() => { state.verdicts.clear(); }),
    unfold_ms: layoutTime(() => { suites.forEach((_, suite) => toggled.add(SUITE * ROW_KIND + suite)); layOut(); }),
    scroll_ms: layoutTime(() => { grid.scrollTop = view.tops[view.rows.length] / 2; renderRows(); }),
    result_ms: layoutTime(() => openPanel(view.unexpected[0] ?? 0, view.columns[0].id, true)),
  };
  document.body.append(el("pre", { id: "measured" }, JSON.stringify(figures)));
}

const isMeasured = location.hash === "#measure";
readFragment();
show();
if (isMeasured) {
  document.body.getBoundingClientRect();
  measure();
}
