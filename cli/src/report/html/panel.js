// The panel beside the table, with one result or one device.

/** In a narrow window, the panel covers the rest. */
const narrow = matchMedia("(max-width: 800px)");

/** The element that had the focus before the panel. */
let opener;

/** Takes what the panel covers out of the order of the focus. */
function cover() {
  const isCovered = narrow.matches && !panel.hidden;
  for (const element of [byId("top"), grid]) element.inert = isCovered;
  if (isCovered && !panel.contains(document.activeElement)) panel.focus({ preventScroll: true });
}
narrow.addEventListener("change", cover);

/** Shows a result, or with no test a device. */
function openPanel(test, device, takesFocus) {
  Object.assign(state, { test, device });
  const known = deviceOf(device);
  const isThere = known && (test < 0 || known.letter(test) !== " ");
  if (!panel.contains(document.activeElement)) opener = document.activeElement;
  panel.replaceChildren(...(isThere ? (test < 0 ? devicePage(known) : resultPage(known, test)) : []));
  panel.hidden = !isThere;
  panel.scrollTop = 0;
  renderRows();
  writeFragment();
  if (isThere && takesFocus) panel.focus({ preventScroll: true });
  cover();
}

function closePanel() {
  Object.assign(state, { test: -1, device: "" });
  panel.hidden = true;
  panel.replaceChildren();
  writeFragment();
  renderRows();
  cover();
  const isButton = opener?.isConnected && opener.matches("button");
  (isButton ? opener : grid).focus({ preventScroll: true });
}

function titled(title) {
  const parts = title.split(/(?<=::)/).flatMap((part) => [part, el("wbr")]);
  return el("header", {}, el("h2", { id: "panel-title" }, parts), el("button", { class: "close", onclick: closePanel, "aria-label": "Close" }, "✕"));
}

function section(title, ...content) {
  return [el("h3", {}, title), ...content];
}

/** A table of pairs, whose names may be there twice, or of an object. */
function table(facts, isWide) {
  const pairs = Array.isArray(facts) ? facts : Object.entries(facts);
  return el("table", {}, el("tbody", {}, pairs.map(([name, value]) =>
    el("tr", {}, el("th", { scope: "row", class: isWide ? "wide" : undefined }, name), el("td", {}, value)))));
}

function folded(title, isOpenAtFirst, ...content) {
  return el("details", { open: isOpenAtFirst }, el("summary", {}, title), ...content);
}

/** A text that may be higher than its element: it takes the focus, so that keys scroll it. */
function longText(name, text, properties) {
  return el("pre", { tabindex: 0, role: "group", "aria-label": name, ...properties }, text);
}

/** A place in a source, `FILE:LINE`, with a link if the run knows the addresses of its sources. */
function placeIn(run, text) {
  const [, file, line] = text.match(/^(.*):(\d+)$/) ?? [];
  const isLinked = run.source_url !== undefined && file !== undefined && !file.startsWith("/");
  const path = () => file.split("/").map(encodeURIComponent).join("/");
  const address = () => run.source_url.replaceAll("{file}", path).replaceAll("{line}", () => line);
  return el("p", { class: "place" }, isLinked ? el("a", { href: address(), rel: "noreferrer" }, text) : text);
}

function command(text) {
  const button = el("button", { class: "link", onclick: () => {
    navigator.clipboard?.writeText(text).then(() => { button.textContent = "copied"; });
  } }, "copy");
  return [el("h3", {}, "Rerun", button), el("pre", { id: "rerun" }, text)];
}

function resultPage(device, test) {
  const letter = device.letter(test);
  const details = device.details(test);
  const only = details?.attempts.length === 1 ? details.attempts[0] : undefined;
  const where = [timeOf(device, test), only?.worker && `worker ${only.worker}`, only?.slot && `slot ${only.slot}`,
    details?.host !== undefined && `host ${device.text(details.host)}`, details?.tolerated && "tolerated"];
  const source = files[places[2 * test]];
  return [
    titled(paths[test]),
    el("p", { class: "verdict" }, sign(letter, details?.tolerated), el("b", {}, meaning(letter)), ` on ${device.id}`,
      el("span", { class: "quiet" }, where.filter(Boolean).join(" · "))),
    el("p", { class: "links", role: "group", "aria-label": "The test on each device" }, view.columns.filter((other) => other.letter(test) !== " ").map((other) =>
      el("button", { class: "link", "aria-current": String(other === device),
        onclick: () => openPanel(test, other.id, true) }, sign(other.letter(test), other.details(test)?.tolerated), other.id, el("span", { class: "spoken" }, `: ${meaning(other.letter(test))}`)))),
    ...(details ? explanation(device, letter, details) : []),
    ...(words[test] === null ? [] : command([device.run.rerun, `${words[test] ?? paths[test]}@${device.id}`].filter(Boolean).join(" "))),
    ...(source ? section("Source", placeIn(device.run, `${source}:${places[2 * test + 1]}`)) : []),
    ...(runs.length > 1 ? pastResults(device, test) : []),
    folded("Environment", false, table(device.run.environment, true)),
  ];
}

/** The message, the expectation, and the attempts with their outputs. */
function explanation(device, letter, details) {
  const decisive = details.attempts[details.decisive];
  const tone = kindOf.get(letter).unexpected ? "" : letter === "x" ? " expected" : " plain";
  const parts = [el("h3", {}, "Message"), longText("Message", device.text(decisive.message), { class: `message${tone}`, id: "message" })];
  if (decisive.at !== undefined) parts.push(placeIn(device.run, device.text(decisive.at)));
  if (details.notes) parts.push(...section("Notes", el("ul", {}, details.notes.map((note) => el("li", {}, device.text(note))))));
  if (details.expected !== undefined) {
    parts.push(...section("Expectation", el("p", {}, device.text(details.expected))));
    if (details.expected_at !== undefined) parts.push(el("p", { class: "place" }, device.text(details.expected_at)));
  }
  const several = details.attempts.length > 1;
  const shown = details.attempts.map((attempt, at) => (several ? attemptPage(device, attempt, at === details.decisive) : outputs(device, attempt))).flat();
  if (several) parts.push(...section("Attempts"));
  parts.push(...shown);
  if (details.properties) parts.push(...section("Properties", table(details.properties.map((pair) => pair.map((number) => device.text(number))))));
  return parts;
}

function attemptPage(device, attempt, isDecisive) {
  const message = oneLine(device.text(attempt.message));
  const where = [meaning(attempt.verdict), time(attempt.time), attempt.worker && `worker ${attempt.worker}`,
    attempt.doubt !== undefined && device.text(attempt.doubt), message !== meaning(attempt.verdict) && message];
  const title = el("span", {}, sign(attempt.verdict), ` Attempt ${attempt.number}: ${where.filter(Boolean).join(" · ")}`);
  const shown = outputs(device, attempt);
  return folded(title, isDecisive, ...(shown.length ? shown : [el("p", { class: "quiet" }, "no output")]));
}

function outputs(device, attempt) {
  if (attempt.output === undefined) return [];
  const texts = device.outputs[attempt.output];
  if (!texts) return [el("p", { class: "quiet" }, "This page has no room for the output. It is in events.jsonl.")];
  const names = ["Standard output", "Standard error", "Stacks"];
  return names.flatMap((name, at) => (texts[at] ? [folded(name, true, longText(name, texts[at].replace(/^\n+|\s+$/g, "")))] : []));
}

/** The results of a test in all runs, the newest first. */
function pastResults(device, test) {
  const rows = runs.flatMap((one) => {
    const of = deviceOf(device.id, one);
    const letter = of?.letter(test) ?? " ";
    if (letter === " ") return [];
    const show = () => {
      state.run = one.number;
      renderRun();
      openPanel(test, device.id, true);
    };
    return [el("tr", {},
      el("td", { class: "first" }, el("button", { class: "link", "aria-current": String(of === device), onclick: show }, sign(letter, of.details(test)?.tolerated), one.time.replace("T", " ").replace("Z", ""))),
      el("td", { class: "first" }, timeOf(of, test)),
      el("td", {}, `${meaning(letter)}${letter === "." ? "" : `: ${oneLine(of.headline(test))}`}`))];
  });
  return section("History", el("table", { id: "history" }, el("tbody", {}, rows)));
}

function devicePage(device) {
  const curve = ([name, svg]) => {
    const drawing = document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true);
    drawing.removeAttribute("width");
    drawing.removeAttribute("height");
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", `Curve of ${name}`);
    return el("div", { class: "curve" }, drawing);
  };
  const part = (title, facts) => (Object.keys(facts).length ? section(title, table(facts, true)) : []);
  return [
    titled(device.id),
    el("p", { class: "quiet" }, summary(total(device))),
    ...part("Measurements", device.measured),
    ...(device.curves.length ? section("Curves", ...device.curves.map(curve)) : []),
    ...part("Properties", device.properties),
    ...part("Facts", device.facts),
  ];
}
