"use strict";
// The data of the page, and its state, which is in the fragment of the address. The scripts of the page are
// one script, in the order data, rows, cells, keys, panel, page.

const byId = (id) => document.getElementById(id);
const [grid, headRow, rowsBox, panel] = ["grid", "columns", "rows", "panel"].map(byId);

/** Makes an element. Texts are never read as HTML. */
function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue;
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== undefined && child !== null));
  return element;
}

const json = (id) => JSON.parse(byId(id).textContent);
const head = json("data");
const { paths, words, files, places } = head.tests;
const kinds = head.verdicts;
const kindOf = new Map(kinds.map((kind, number) => [kind.letter, { ...kind, number }]));
/** The number of the kind of a verdict, by the code of its letter. */
const kindNumber = new Uint8Array(128);
kinds.forEach((kind, number) => { kindNumber[kind.letter.charCodeAt(0)] = number; });
const BLANK = 32;
const NOT_RUN = "N";
/** Verdicts without a time. */
const TIMELESS = "Nsi";

const suites = [];
const suiteOf = new Uint32Array(paths.length);
{
  const known = new Map();
  paths.forEach((path, test) => {
    const name = path.includes("::") ? path.split("::", 1)[0] : head.target;
    if (!known.has(name)) {
      known.set(name, suites.length);
      suites.push({ name, tests: [] });
    }
    suiteOf[test] = known.get(name);
    suites[suiteOf[test]].tests.push(test);
  });
}

/** A run, whose results are read when they are needed. */
class Run {
  constructor(number) {
    Object.assign(this, json(`run-${number}`));
    this.number = number;
    this.devices = this.devices.map((device, position) => new Device(this, device, position));
  }
}

/** The details of a result that has nothing but a reason. */
const withReason = ({ verdicts }, [test, message]) => ({ test, attempts: [{ verdict: verdicts[test], message, time: 0 }] });

class Device {
  constructor(run, data, position) {
    Object.assign(this, data);
    this.run = run;
    this.key = `${run.number}-${position}`;
  }

  get results() {
    const results = json(`results-${this.key}`);
    results.details = results.details.map((details) => (Array.isArray(details) ? withReason(results, details) : details));
    for (const details of results.details) {
      details.decisive ??= 0;
      for (const attempt of details.attempts) attempt.number ??= 1;
    }
    results.detailOf = new Map(results.details.map((details) => [details.test, details]));
    Object.defineProperty(this, "results", { value: results });
    return results;
  }

  get outputs() {
    const outputs = json(`outputs-${this.key}`);
    Object.defineProperty(this, "outputs", { value: outputs });
    return outputs;
  }

  letter(test) { return this.results.verdicts[test]; }
  details(test) { return this.results.detailOf.get(test); }
  text(number) { return number === undefined ? "" : this.results.texts[number]; }

  /** Whether a result makes the run fail. Tests that were not run are told of above the table. */
  isUnexpected(test) {
    const letter = this.letter(test);
    return letter !== NOT_RUN && !!kindOf.get(letter)?.unexpected && !this.details(test)?.tolerated;
  }

  message(test) {
    const details = this.details(test);
    return details ? this.text(details.attempts[details.decisive].message) : "";
  }

  /** The message, or what else decided the verdict. */
  headline(test) { return this.text(this.details(test)?.headline) || this.message(test); }
}

const runs = Array.from({ length: head.runs }, (_, number) => new Run(number));

const state = { run: 0, verdicts: new Set(), hidden: new Set(), text: "", test: -1, device: "" };
/** Suites that are folded or unfolded by hand, against the default. */
const toggled = new Set();
/** The table: its columns, its rows, and where these begin. */
let view = { columns: [], rows: [], tops: [0], counts: [], unexpected: [] };
/** The cell that keys move. */
let active = { row: 0, column: 0 };

const run = () => runs[state.run];
const isFiltered = () => state.verdicts.size > 0 || state.text !== "";
const deviceOf = (id, of = run()) => of.devices.find((device) => device.id === id);

function readFragment() {
  const values = new URLSearchParams(location.hash.slice(1));
  state.run = Math.max(0, runs.findIndex((one) => one.id === values.get("run")));
  state.verdicts = new Set([...(values.get("verdict") ?? "")].filter((letter) => kindOf.has(letter)));
  state.hidden = new Set(values.getAll("without"));
  state.text = values.get("text") ?? "";
  state.test = values.has("test") ? paths.indexOf(values.get("test")) : -1;
  state.device = values.get("device") ?? "";
}

function writeFragment() {
  const values = new URLSearchParams();
  if (state.run > 0) values.set("run", run().id);
  if (state.verdicts.size > 0) values.set("verdict", [...state.verdicts].join(""));
  for (const id of state.hidden) values.append("without", id);
  if (state.text) values.set("text", state.text);
  if (state.test >= 0) values.set("test", paths[state.test]);
  if (state.device) values.set("device", state.device);
  history.replaceState(null, "", `#${values}`);
}
