// Why a pixel is ink or paper: gray, threshold, verdict, and the weight of each window.

import { element } from "./controls.js";

/** Cards for each side at pixel (x, y); a side is {page, ink}, `page` explained with its attention loaded. */
export function inspect(place, x, y, sides) {
  place.replaceChildren(
    element("p", { class: "facts" }, `Column ${x + 1}, row ${y + 1}`),
    ...sides.map((side) => card(side, y * side.page.meta.width + x, sides.length > 1)),
  );
}

function card({ page, ink }, i, named) {
  const { meta } = page;
  const verdict = ink[i] ? "ink" : "paper";
  const gray = page.array("gray.png")[i];
  const facts = element("dl", { class: "numbers" });
  const fact = (name, value, key) => facts.append(element("div", {}, element("dt", {}, name), element("dd", { "data-fact": key }, value)));
  fact(meta.inverted ? "Gray, inverted" : "Gray", String(gray), "gray");
  if (meta.surface) fact("Threshold", page.threshold(i).toFixed(2), "threshold");
  fact("So it is", verdict, "verdict");
  const parts = [facts];
  if (meta.choices.length) {
    const weights = meta.choices.map((c) => page.array(c.attention)[i] / 255);
    parts.push(element("h3", {}, "Weight of each window"), element("ul", { class: "weights" }, ...meta.choices.map((choice, k) => weight(page, choice, weights[k], i))));
  }
  return element("article", { class: `pixel ${verdict}`, "aria-label": meta.name }, ...(named ? [element("h3", {}, meta.name)] : []), ...parts);
}

function weight(page, choice, share, i) {
  const bar = element("span", { class: "bar-fill" });
  bar.style.width = `${share * 100}%`;
  bar.style.background = `rgb(${choice.colour})`;
  const alone = choice.ink ? (page.array(choice.ink)[i] ? "paper" : "ink") : "";
  return element("li", {}, element("span", { class: "name" }, choice.window ? `${choice.window} px` : choice.name),
    element("span", { class: "track" }, bar), element("span", { class: "share", "data-weight": choice.name }, `${(share * 100).toFixed(1)} %`),
    element("span", { class: `alone ${alone}`, title: alone && `this window alone says ${alone}` }, alone));
}
