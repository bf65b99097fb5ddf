// The page: what is open, what is shown, and how the controls change it.

import { Cancelled, getJson, post } from "./api.js";
import { Explained } from "./bundle.js";
import { element, fillChoices, fillOptions, optionValues } from "./controls.js";
import { inkAt } from "./ink.js";
import { inspect } from "./inspector.js";
import { Picture, attentionLayer, inkLayer, scanLayer, thresholdLayer, viewLayer, windowLayer } from "./layers.js";
import { Viewer } from "./viewer.js";

const $ = (id) => document.getElementById(id);
const viewer = new Viewer($("view"), $("divider"));
const HERE = ["strength", "despeckle", "format", "keep_gray", "page", "dpi"]; // applied in the page or at the download
const KEPT = 4; // explained pages that are remembered
const HELP = {
  result: "Black where the scan is darker than its threshold. Drag the divider to compare.",
  threshold: "How dark a pixel must be to count as ink. Light: a pale mark is enough. Dark: only dark marks count.",
  attention: "Which window size the network trusts most at each pixel.",
  window: "What one window size alone would have decided.",
  whole: "Dark where the network, seeing the page as a whole, expects writing.",
};

let about; // of /v1/methods
let file = null;
let pageNumber = 1;
let first = null; // explained by the chosen method
let second = null; // by the one it is compared with
let picture = null; // the browser's own view of the scan
let inks = []; // of both, at the current strength
let remembered = new Map();
let running = null; // AbortController of what is under way
let chosenWindow = 0;

// ---- opening ----

async function open(chosen) {
  if (!chosen) return;
  running?.abort(); // it is about the file before
  running = null;
  $("welcome").hidden = true;
  $("work").hidden = false;
  $("open").hidden = $("document").hidden = false;
  file = chosen;
  pageNumber = 1;
  first = second = picture = null;
  remembered = new Map();
  viewer.forget();
  viewer.show({ before: null, after: null });
  $("file-name").textContent = file.name;
  $("file-facts").textContent = "";
  $("pages").hidden = true;
  // TIFF and PDF: the service decodes them
  const bitmap = await createImageBitmap(file, { imageOrientation: "from-image" }).catch(() => null);
  if (file !== chosen) return; // another one was opened meanwhile
  if (bitmap) {
    picture = new Picture(bitmap);
    viewer.resize();
    viewer.show({ before: picture, after: null });
  }
  await explainBoth();
}

async function openExample(name) {
  $("stage").setAttribute("aria-busy", "true");
  const answer = await fetch(`examples/${name}.png`);
  await open(new File([await answer.blob()], `${name}.png`, { type: "image/png" }));
}

// ---- asking the service ----

function fieldsOf(select, withOptions) {
  const [kind, name] = select.value.split(/:(.*)/s);
  const fields = { [kind]: name, ...(withOptions ? optionValues($("options")) : {}) };
  const common = ["invert", "channel", "lines", "quality"].filter((n) => !withOptions && n in optionValues($("options")));
  for (const n of common) fields[n] = optionValues($("options"))[n];
  for (const n of HERE) delete fields[n];
  return { ...fields, page: pageNumber };
}

/** Run `work(signal)` with progress in sight; a newer call replaces it. */
async function withProgress(work) {
  running?.abort();
  const mine = (running = new AbortController());
  tell("Working…", null);
  try {
    return await work(mine.signal);
  } catch (problem) {
    if (!(problem instanceof Cancelled)) notice(problem.message);
    return null;
  } finally {
    if (running === mine) {
      running = null;
      pageNumber = first?.meta.page ?? pageNumber; // what is shown, also if another was asked for in vain
      $("working").hidden = true;
      $("stage").removeAttribute("aria-busy");
    }
  }
}

function tell(text, fraction) {
  $("working").hidden = false;
  $("stage").setAttribute("aria-busy", "true");
  $("working-text").textContent = text;
  if (fraction === null) $("working-bar").removeAttribute("value");
  else $("working-bar").value = fraction;
}

async function explained(fields, signal) {
  const key = JSON.stringify(fields);
  if (!remembered.has(key)) {
    const answer = await post("v1/explain", file, fields, tell, signal);
    const page = await new Explained(answer).loadResult();
    if (signal.aborted) throw new Cancelled(); // too late for the request, not for us
    remembered.set(key, page);
    if (remembered.size > KEPT) remembered.delete(remembered.keys().next().value);
  }
  return remembered.get(key);
}

async function explainBoth() {
  await withProgress(async (signal) => {
    const one = await explained(fieldsOf($("what"), true), signal);
    const other = $("other").value ? await explained(fieldsOf($("other"), false), signal) : null;
    [first, second] = [one, other];
    await showBoth();
  });
}

async function showBoth() {
  if (picture && (picture.width !== first.meta.width || picture.height !== first.meta.height)) picture = null;
  const { meta } = first;
  const dpi = meta.dpi && meta.dpi.map((d) => Math.round(d));
  $("file-facts").textContent = `${meta.width} × ${meta.height}`;
  $("dpi-text").textContent = dpi ? `${dpi[0] === dpi[1] ? dpi[0] : dpi.join(" × ")} dpi, kept in the file.` : "The scan does not say its resolution; a PDF gets 300 dpi.";
  $("pages").hidden = meta.pages < 2;
  $("page-text").textContent = `${meta.page} / ${meta.pages}`;
  $("page-back").disabled = meta.page <= 1;
  $("page-on").disabled = meta.page >= meta.pages;
  $("look").hidden = !meta.found.look.length;
  $("look").textContent = `Look at this page yourself: ${meta.found.look.join(", ")}.`;
  $("strength").disabled = !meta.surface;
  $("strength-help").hidden = meta.surface;
  $("strength-help").textContent = "This method gives ink without a threshold, so there is no strength to change.";
  await update();
}

// ---- showing ----

const strength = () => (first.meta.strengths ?? second?.meta.strengths ?? [])[Number($("strength").value)] ?? 0;
const view = () => document.querySelector("input[name=view]:checked").value;

/** The views that a page has. */
function has(page, name) {
  if (name === "threshold") return page.meta.surface;
  if (name === "whole") return page.meta.view;
  return name === "result" || page.meta.choices.length > 0;
}

function layerOf(page, k) {
  const name = has(page, view()) ? view() : "result";
  if (name === "threshold") return thresholdLayer(page, (low, high) => k || thresholdLegend(low, high));
  if (name === "attention") return attentionLayer(page);
  if (name === "whole") return viewLayer(page);
  if (name === "window") return windowLayer(page, windows(page)[Math.min(chosenWindow, windows(page).length - 1)]);
  return inkLayer(page, inks[k], second && $("differences").checked ? inks[1 - k] : null);
}

const windows = (page) => page.meta.choices.filter((c) => c.ink);
const titles = { result: "Result", threshold: "Threshold", attention: "Attention", window: "One window", whole: "Whole page" };

async function update() {
  if (!first) return;
  for (const input of document.querySelectorAll("input[name=view]")) {
    input.disabled = ![first, second].some((page) => page && has(page, input.value));
    if (input.disabled && input.checked) document.querySelector("input[value=result]").checked = true;
  }
  if (view() === "attention" || view() === "window" || viewer.marked) {
    const before = first;
    await Promise.all([first, second].map((page) => page?.loadAttention()));
    if (first !== before) return; // another page has come meanwhile, or will
  }
  const specks = Number(optionValues($("options")).despeckle ?? 0);
  inks = [first, second].map((page) => page && inkAt(page, Number($("strength").value), specks));
  $("strength-text").textContent = strength() > 0 ? `+${strength().toFixed(2)}` : strength().toFixed(2).replace("-", "−");
  $("strength").setAttribute("aria-valuetext", strength().toFixed(2));
  $("view-help").textContent = first.meta.blank && view() === "result" ? "Nothing on this page: it is taken as blank." : first.meta.left_out && !first.meta.choices.length && view() === "result" ? `${HELP.result} This page is too large to show the attention.` : second && view() === "result" ? "Both results side by side, moved together." : HELP[view()];
  legend();
  const scan = picture ?? scanLayer(first);
  viewer.show({ before: scan, after: layerOf(first, 0), second: second && layerOf(second, 1) });
  const shown = (page) => (has(page, view()) ? titles[view()] : "Result");
  $("tag-left").textContent = second ? `${first.meta.name} · ${shown(first)}` : "Scan";
  $("tag-right").textContent = second ? `${second.meta.name} · ${shown(second)}` : shown(first);
  $("stage").classList.toggle("two", Boolean(second));
  differences();
  if (viewer.marked) lookAt(viewer.marked);
}

function differences() {
  $("differences-row").hidden = $("difference-text").hidden = !second;
  if (!second) return;
  let [ours, theirs] = [0, 0];
  for (let i = 0; i < inks[0].length; i++) {
    if (inks[0][i] > inks[1][i]) ours++;
    else if (inks[0][i] < inks[1][i]) theirs++;
  }
  const percent = (n) => `${((100 * n) / inks[0].length).toFixed(2)} %`;
  $("difference-text").textContent = `Ink in ${first.meta.name} only: ${percent(ours)}, in ${second.meta.name} only: ${percent(theirs)} of the page.${$("differences").checked ? " Red: ink here only. Blue: ink in the other only." : ""}`;
}

function thresholdLegend(low, high) {
  $("legend").replaceChildren(element("div", { class: "ramp" }), element("div", { class: "ends quiet" }, element("span", {}, low.toFixed(0)), element("span", {}, "gray level"), element("span", {}, high.toFixed(0))));
}

function legend() {
  const place = $("legend");
  const focused = place.contains(document.activeElement);
  place.replaceChildren();
  const page = [first, second].find((p) => p?.meta.choices.length);
  if (!page || !["attention", "window"].includes(view())) return;
  if (view() === "attention") {
    place.append(element("ul", {}, ...page.meta.choices.map((c, k) => element("li", {}, chip(c), element("span", {}, c.window ? `${c.window} × ${c.window}` : c.name), element("span", { class: "share" }, `${(100 * page.shares[k]).toFixed(0)} %`)))));
    return;
  }
  const choices = windows(page).map((c, k) => {
    const input = element("input", { type: "radio", name: "window", value: k, checked: k === chosenWindow });
    input.addEventListener("change", () => ((chosenWindow = k), update()));
    return element("label", {}, input, chip(c), element("span", {}, `${c.window} × ${c.window}`));
  });
  place.append(element("div", { class: "choices", role: "radiogroup", "aria-label": "Window size" }, ...choices));
  if (focused) place.querySelector("input:checked").focus();
}

function chip(choice) {
  const made = element("span", { class: "chip" });
  made.style.background = `rgb(${choice.colour})`;
  return made;
}

async function lookAt(pixel) {
  $("pixel-help").hidden = Boolean(pixel);
  if (!pixel) $("inspector").replaceChildren();
  if (!pixel || !first) return;
  const before = first;
  await Promise.all([first, second].map((page) => page?.loadAttention()));
  if (first !== before) return;
  const sides = [first, second].map((page, k) => page && { page, ink: inks[k] }).filter(Boolean);
  inspect($("inspector"), pixel.x, pixel.y, sides);
  if (matchMedia("(min-width: 761px)").matches) $("inspector").lastElementChild.scrollIntoView({ block: "nearest" });
}

// ---- downloads ----

async function download(format) {
  pageNumber = first?.meta.page ?? pageNumber; // what is shown, whatever is on its way
  const fields = { ...fieldsOf($("what"), true), format, strength: first?.meta.surface ? strength() : 0 };
  const specks = optionValues($("options")).despeckle;
  if (specks) fields.despeckle = specks;
  if (format !== "png") delete fields.page; // TIFF and PDF hold the whole document
  const data = await withProgress((signal) => post("v1/binarize", file, fields, tell, signal));
  if (!data) return;
  const [kind, suffix] = { png: ["image/png", "png"], tiff: ["image/tiff", "tif"], pdf: ["application/pdf", "pdf"] }[format];
  const stem = file.name.replace(/\.[^.]*$/, "") + (format === "png" && first?.meta.pages > 1 ? `-${String(pageNumber).padStart(4, "0")}` : "");
  const link = element("a", { href: URL.createObjectURL(new Blob([data], { type: kind })), download: `${stem}-ink.${suffix}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

// ---- wiring ----

function notice(text) {
  $("notice").hidden = !text;
  $("notice-text").textContent = text ?? "";
}

function showOptions() {
  const [kind, name] = $("what").value.split(/:(.*)/s);
  const own = kind === "method" ? about.methods.find((m) => m.name === name).options : [];
  const shared = about.options.filter((o) => !HERE.includes(o.name) || o.name === "despeckle").filter((o) => kind === "model" || o.name !== "quality");
  fillOptions($("options"), [...own, ...shared], () => explainBoth());
}

function turn(step) {
  const wanted = Math.min(Math.max(pageNumber + step, 1), first.meta.pages);
  if (wanted === pageNumber) return;
  pageNumber = wanted;
  picture = null; // it shows the first page
  viewer.forget();
  explainBoth();
}

const THEMES = { system: ["◐", "Colours: as the system"], light: ["☀", "Colours: light"], dark: ["☾", "Colours: dark"] };
function theme(name) {
  document.documentElement.dataset.theme = name;
  localStorage.setItem("theme", name);
  $("theme").textContent = THEMES[name][0];
  $("theme").setAttribute("aria-label", THEMES[name][1]);
  $("theme").title = THEMES[name][1];
}

theme(localStorage.getItem("theme") in THEMES ? localStorage.getItem("theme") : "system");
$("theme").onclick = () => {
  const names = Object.keys(THEMES);
  theme(names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length]);
};
$("choose").onclick = $("open").onclick = () => $("file").click();
$("file").onchange = (e) => (open(e.target.files[0]), (e.target.value = ""));
$("notice-close").onclick = () => notice(null);
$("cancel").onclick = () => running?.abort();
$("page-back").onclick = () => turn(-1);
$("page-on").onclick = () => turn(1);
$("zoom-in").onclick = () => viewer.zoom(1.25);
$("zoom-out").onclick = () => viewer.zoom(0.8);
$("zoom-fit").onclick = () => viewer.fit();
$("zoom-one").onclick = () => viewer.zoom(viewer.ratio / viewer.scale);
$("what").onchange = () => (showOptions(), explainBoth());
$("other").onchange = $("differences").onchange = () => explainBoth();
$("views").onchange = () => update();
$("downloads").onclick = (e) => e.target.dataset.format && download(e.target.dataset.format);
viewer.addEventListener("zoom", (e) => ($("zoom-text").textContent = `${Math.round(e.detail * 100)} %`));
viewer.addEventListener("pixel", (e) => lookAt(e.detail));

let pending = false;
$("strength").oninput = () => {
  if (pending) return;
  pending = true;
  requestAnimationFrame(() => ((pending = false), update()));
};

for (const kind of ["dragenter", "dragover"]) {
  document.addEventListener(kind, (e) => (e.preventDefault(), document.body.classList.add("dragging")));
}
for (const kind of ["dragleave", "drop"]) {
  document.addEventListener(kind, (e) => (kind === "drop" || !e.relatedTarget) && document.body.classList.remove("dragging"));
}
document.addEventListener("drop", (e) => (e.preventDefault(), open(e.dataTransfer.files[0])));
document.addEventListener("paste", (e) => open(e.clipboardData.files[0]));

try {
  about = await getJson("v1/methods");
  fillChoices($("what"), about);
  fillChoices($("other"), about, "nothing");
  showOptions();
  for (const [name, text] of Object.entries(about.examples)) {
    const button = element("button", { type: "button" }, element("img", { src: `examples/${name}.png`, alt: "", loading: "lazy" }), element("span", {}, text));
    button.onclick = () => openExample(name);
    $("examples").append(button);
  }
  document.body.dataset.ready = "yes";
} catch (problem) {
  notice(problem.message);
}
