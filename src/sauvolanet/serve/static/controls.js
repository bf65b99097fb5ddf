// Form controls made from the declarations that /v1/methods gives: nothing about an option is repeated here.

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** Models and methods as the choices of a select; `none` is the text of an empty choice. */
export function fillChoices(select, about, none) {
  const group = (label, items) => element("optgroup", { label }, ...items);
  const models = about.models.map((m) => element("option", { value: `model:${m.name}` }, m.name));
  const methods = about.methods.map((m) =>
    element("option", { value: `method:${m.name}`, disabled: !m.available }, m.available ? m.title : `${m.title} (needs the extra ${m.extra})`));
  select.replaceChildren(...(none ? [element("option", { value: "" }, none)] : []), group("Trained networks", models), group("Classic methods", methods));
}

/** Controls for options; `changed` is called when a value is complete. */
export function fillOptions(place, options, changed) {
  place.replaceChildren(
    ...options.map((option) => {
      const id = `option-${option.name}`;
      const name = option.name.replaceAll("_", " ");
      const label = element("label", { class: "row", for: id, title: option.help }, element("span", {}, name));
      const shown = option.default ?? "";
      let input;
      if (option.choices.length) {
        const choices = option.default === null ? ["", ...option.choices] : option.choices;
        input = element("select", { id }, ...choices.map((c) => element("option", { value: c, selected: c === shown }, c || "—")));
      } else if (option.type === "boolean") {
        input = element("select", { id }, ...["yes", "no"].map((c) => element("option", { selected: (c === "yes") === shown }, c)));
      } else {
        const step = option.type === "integer" ? (option.odd ? 2 : 1) : "any";
        input = element("input", { id, type: "number", min: option.low, max: option.high, step, value: shown, placeholder: "auto" });
      }
      input.dataset.option = option.name;
      input.dataset.default = option.type === "boolean" ? (shown ? "yes" : "no") : String(shown);
      input.addEventListener("change", () => input.reportValidity() && changed());
      label.append(input);
      return label;
    }),
  );
}

/** The values that differ from their defaults. */
export function optionValues(place) {
  const values = {};
  for (const input of place.querySelectorAll("[data-option]")) {
    if (input.value !== "" && input.value !== input.dataset.default) values[input.dataset.option] = input.value;
  }
  return values;
}
