// The canvas: zoom and pan with wheel, pinch, drag and keys; a divider between before and after, or two panes.

const CLICK = 4; // a press that moves less is a click
const SMOOTH_BELOW = 1.5; // page pixels are shown as squares from this magnification on
const LARGEST = 64;

export class Viewer extends EventTarget {
  constructor(canvas, divider) {
    super();
    Object.assign(this, { canvas, divider, context: canvas.getContext("2d") });
    this.before = this.after = this.second = null; // layers; with `second` there are two panes: after and second
    this.split = 0.5;
    this.scale = 1; // canvas pixels to a page pixel
    this.x = this.y = 0; // where the page's corner is in a pane
    this.marked = null; // the pixel that is looked at
    this.pointers = new Map();
    new ResizeObserver(() => this.resize()).observe(canvas);
    canvas.addEventListener("wheel", (e) => this.onWheel(e), { passive: false });
    canvas.addEventListener("pointerdown", (e) => this.onDown(e));
    canvas.addEventListener("pointermove", (e) => this.onMove(e));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (e) => this.onUp(e));
    canvas.addEventListener("keydown", (e) => this.onKey(e));
    divider.addEventListener("pointerdown", (e) => divider.setPointerCapture(e.pointerId));
    divider.addEventListener("pointermove", (e) => {
      if (!divider.hasPointerCapture(e.pointerId)) return;
      const box = canvas.getBoundingClientRect();
      this.setSplit((e.clientX - box.left) / box.width);
    });
    divider.addEventListener("keydown", (e) => {
      const step = { ArrowLeft: -0.02, ArrowDown: -0.02, ArrowRight: 0.02, ArrowUp: 0.02, PageDown: -0.1, PageUp: 0.1, Home: -1, End: 1 }[e.key];
      if (!step) return;
      e.preventDefault();
      this.setSplit(this.split + step);
    });
  }

  get page() {
    return this.after ?? this.before;
  }

  get ratio() {
    return window.devicePixelRatio || 1;
  }

  /** Boxes of the panes, in canvas pixels: side by side, or one above the other where the canvas is narrow. */
  get panes() {
    const { width, height } = this.canvas;
    if (!this.second) return [{ left: 0, top: 0, right: width, bottom: height }];
    const gap = Math.round(this.ratio);
    if (width > height) {
      const middle = Math.round(width / 2);
      return [{ left: 0, top: 0, right: middle - gap, bottom: height }, { left: middle + gap, top: 0, right: width, bottom: height }];
    }
    const middle = Math.round(height / 2);
    return [{ left: 0, top: 0, right: width, bottom: middle - gap }, { left: 0, top: middle + gap, right: width, bottom: height }];
  }

  /** Show layers, or nothing without any; the place that is looked at stays unless the page's size changes. */
  show({ before, after, second = null }) {
    const [old, panes] = [this.page, this.panes.length];
    Object.assign(this, { before, after, second });
    this.divider.hidden = Boolean(second) || !before || !after;
    if (!old || old.width !== this.page?.width || old.height !== this.page?.height || panes !== this.panes.length) this.fit();
    this.redraw();
  }

  resize() {
    const box = this.canvas.getBoundingClientRect();
    const [width, height] = [Math.round(box.width * this.ratio), Math.round(box.height * this.ratio)];
    if (!width || !height || (width === this.canvas.width && height === this.canvas.height)) return;
    const fresh = this.fitted || !this.canvas.dataset.sized;
    Object.assign(this.canvas, { width, height });
    this.canvas.dataset.sized = "yes";
    if (fresh) this.fit();
    this.draw();
  }

  setSplit(split) {
    this.split = Math.min(Math.max(split, 0), 1);
    this.divider.style.left = `${this.split * 100}%`;
    this.divider.setAttribute("aria-valuenow", Math.round(this.split * 100));
    this.redraw();
  }

  fit() {
    if (!this.page) return;
    const pane = this.panes[0];
    const [width, height] = [pane.right - pane.left, pane.bottom - pane.top];
    const margin = 12 * this.ratio;
    this.scale = Math.min((width - 2 * margin) / this.page.width, (height - 2 * margin) / this.page.height, LARGEST);
    this.x = Math.round((width - this.page.width * this.scale) / 2);
    this.y = Math.round((height - this.page.height * this.scale) / 2);
    this.fitted = true;
    this.redraw();
  }

  /** Zoom by a factor; the page's point at (x, y) of the pane stays where it is. */
  zoom(factor, x, y) {
    const pane = this.panes[0];
    x ??= (pane.right - pane.left) / 2;
    y ??= (pane.bottom - pane.top) / 2;
    const scale = Math.min(Math.max(this.scale * factor, 0.02), LARGEST * this.ratio);
    this.x = Math.round(x - ((x - this.x) * scale) / this.scale);
    this.y = Math.round(y - ((y - this.y) * scale) / this.scale);
    this.scale = scale;
    this.fitted = false;
    this.redraw();
  }

  pan(dx, dy) {
    const pane = this.panes[0];
    const keep = 40 * this.ratio; // some of the page stays in sight
    this.x = Math.min(Math.max(this.x + Math.round(dx), keep - this.page.width * this.scale), pane.right - pane.left - keep);
    this.y = Math.min(Math.max(this.y + Math.round(dy), keep - this.page.height * this.scale), pane.bottom - pane.top - keep);
    this.fitted = false;
    this.redraw();
  }

  redraw() {
    this.waiting ??= requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.waiting = undefined;
    const { context, canvas } = this;
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (!this.page) return;
    const panes = this.panes;
    const cut = Math.round(this.split * canvas.width);
    if (panes.length === 2) {
      this.drawIn(panes[0], panes[0], this.after);
      this.drawIn(panes[1], panes[1], this.second);
      context.fillStyle = "#888";
      const [one, two] = panes;
      if (one.right < two.left) context.fillRect(one.right, 0, two.left - one.right, canvas.height);
      else context.fillRect(0, one.bottom, canvas.width, two.top - one.bottom);
    } else if (this.before && this.after) {
      this.drawIn({ ...panes[0], right: cut }, panes[0], this.before);
      this.drawIn({ ...panes[0], left: cut }, panes[0], this.after);
    } else {
      this.drawIn(panes[0], panes[0], this.page);
    }
    this.dispatchEvent(new CustomEvent("zoom", { detail: this.scale / this.ratio }));
  }

  drawIn(clip, pane, layer) {
    if (clip.right <= clip.left) return;
    const { context, scale } = this;
    context.save();
    context.beginPath();
    context.rect(clip.left, clip.top, clip.right - clip.left, clip.bottom - clip.top);
    context.clip();
    context.imageSmoothingEnabled = scale < SMOOTH_BELOW;
    context.imageSmoothingQuality = "high";
    const [x, y] = [pane.left + this.x, pane.top + this.y];
    layer.draw(context, x, y, scale, clip);
    if (this.marked) {
      const [left, top] = [x + this.marked.x * scale, y + this.marked.y * scale];
      const reach = Math.max(scale, 9 * this.ratio);
      const middle = [left + scale / 2, top + scale / 2];
      for (const [colour, thick] of [["#fff", 4], ["#c8321e", 2]]) {
        context.strokeStyle = colour;
        context.lineWidth = thick * this.ratio * 0.75;
        context.strokeRect(middle[0] - reach / 2 - 1, middle[1] - reach / 2 - 1, reach + 2, reach + 2);
      }
    }
    context.restore();
  }

  /** Pane coordinates of a pointer event. */
  place(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left) * this.ratio, (event.clientY - box.top) * this.ratio];
    const pane = this.panes.find((p) => x >= p.left && x <= p.right && y >= p.top && y <= p.bottom) ?? this.panes[0];
    return { x: x - pane.left, y: y - pane.top };
  }

  pick(x, y) {
    this.look(Math.floor((x - this.x) / this.scale), Math.floor((y - this.y) / this.scale));
  }

  /** Mark a pixel of the page and tell who listens. */
  look(x, y) {
    if (!this.page || x < 0 || y < 0 || x >= this.page.width || y >= this.page.height) return;
    this.marked = { x, y };
    this.redraw();
    this.dispatchEvent(new CustomEvent("pixel", { detail: this.marked }));
  }

  forget() {
    this.marked = null;
    this.redraw();
    this.dispatchEvent(new CustomEvent("pixel", { detail: null }));
  }

  onWheel(event) {
    event.preventDefault();
    if (!this.page) return;
    const { x, y } = this.place(event);
    const lines = event.deltaMode === 1 ? 16 : 1;
    if (event.shiftKey) this.pan(-event.deltaY * lines, 0);
    else this.zoom(Math.exp(-event.deltaY * lines * (event.ctrlKey ? 0.01 : 0.0015)), x, y);
  }

  onDown(event) {
    if (!this.page || event.button > 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.place(event));
    this.travel = this.pointers.size > 1 ? Infinity : 0;
  }

  onMove(event) {
    const last = this.pointers.get(event.pointerId);
    if (!last || !this.page) return;
    const now = this.place(event);
    if (this.pointers.size === 2) {
      const other = [...this.pointers].find(([id]) => id !== event.pointerId)[1];
      const distance = (p) => Math.hypot(p.x - other.x, p.y - other.y) || 1;
      this.zoom(distance(now) / distance(last), (now.x + other.x) / 2, (now.y + other.y) / 2);
      this.pan((now.x - last.x) / 2, (now.y - last.y) / 2);
    } else {
      this.travel += Math.hypot(now.x - last.x, now.y - last.y);
      if (this.travel <= CLICK * this.ratio) return; // the hand trembles
      this.pan(now.x - last.x, now.y - last.y);
    }
    this.pointers.set(event.pointerId, now);
  }

  onUp(event) {
    const last = this.pointers.get(event.pointerId);
    this.pointers.delete(event.pointerId);
    if (last && event.type === "pointerup" && this.travel <= CLICK * this.ratio) this.pick(last.x, last.y);
  }

  onKey(event) {
    if (!this.page || event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const pane = this.panes[0];
    if (arrow && event.shiftKey && this.marked) this.look(this.marked.x + arrow[0], this.marked.y + arrow[1]);
    else if (arrow) this.pan(-arrow[0] * 60 * this.ratio, -arrow[1] * 60 * this.ratio);
    else if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(0.8);
    else if (event.key === "0") this.fit();
    else if (event.key === "1") this.zoom(this.ratio / this.scale);
    else if (event.key === "Escape") this.forget();
    else if (event.key === "Enter" || event.key === " ") this.pick((pane.right - pane.left) / 2, (pane.bottom - pane.top) / 2);
    else return;
    event.preventDefault();
  }
}
