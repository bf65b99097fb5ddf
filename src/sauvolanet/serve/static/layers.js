// What the viewer draws: a layer colours pixels, tile by tile, when they are first seen.

const TILE = 1024;
const gray = (v) => 0xff000000 | (v << 16) | (v << 8) | v; // the bytes of RGBA, read as a little-endian number
const rgb = ([r, g, b]) => (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;

export class Layer {
  /** colour(i) gives the RGBA of pixel i as a number. */
  constructor(width, height, colour) {
    Object.assign(this, { width, height, colour, tiles: new Map() });
  }

  /** Draw with page pixel (0, 0) at (x, y) and `scale` canvas pixels to a page pixel, where it meets the box. */
  draw(context, x, y, scale, box) {
    for (let ty = 0; ty < this.height; ty += TILE) {
      for (let tx = 0; tx < this.width; tx += TILE) {
        const [w, h] = [Math.min(TILE, this.width - tx), Math.min(TILE, this.height - ty)];
        const left = x + Math.round(tx * scale), right = x + Math.round((tx + w) * scale);
        const top = y + Math.round(ty * scale), bottom = y + Math.round((ty + h) * scale);
        if (right < box.left || left > box.right || bottom < box.top || top > box.bottom) continue;
        context.drawImage(this.tile(tx, ty, w, h), left, top, right - left, bottom - top);
      }
    }
  }

  tile(tx, ty, w, h) {
    const key = ty * this.width + tx;
    if (!this.tiles.has(key)) {
      const canvas = new OffscreenCanvas(w, h);
      const context = canvas.getContext("2d");
      const data = context.createImageData(w, h);
      const out = new Uint32Array(data.data.buffer);
      for (let v = 0, to = 0; v < h; v++) {
        for (let u = 0, i = (ty + v) * this.width + tx; u < w; u++) out[to++] = this.colour(i++);
      }
      context.putImageData(data, 0, 0);
      this.tiles.set(key, canvas);
    }
    return this.tiles.get(key);
  }
}

/** The browser's own picture of the scan, in colour. */
export class Picture {
  constructor(bitmap) {
    Object.assign(this, { bitmap, width: bitmap.width, height: bitmap.height });
  }

  draw(context, x, y, scale) {
    context.drawImage(this.bitmap, x, y, Math.round(this.width * scale), Math.round(this.height * scale));
  }
}

export function scanLayer(page) {
  const values = page.array("gray.png");
  const flip = page.meta.inverted ? 255 : 0;
  return new Layer(page.meta.width, page.meta.height, (i) => gray(values[i] ^ flip));
}

/** Black ink on white; where `other` differs: ours alone red, theirs alone blue. */
export function inkLayer(page, ink, other) {
  const [black, white, ours, theirs] = [gray(0), gray(255), rgb([205, 40, 25]), rgb([120, 170, 255])];
  const colour = other ? (i) => (ink[i] ? (other[i] ? black : ours) : other[i] ? theirs : white) : (i) => (ink[i] ? black : white);
  return new Layer(page.meta.width, page.meta.height, colour);
}

/** The threshold, stretched between its lowest and highest value; both are told to `ends`. */
export function thresholdLayer(page, ends) {
  const values = page.array("threshold.png");
  let [low, high] = [65535, 0];
  for (const v of values) {
    if (v < low) low = v;
    if (v > high) high = v;
  }
  ends(low / page.meta.threshold_scale, high / page.meta.threshold_scale);
  const colours = new Uint32Array(high - low + 1);
  for (let v = low; v <= high; v++) colours[v - low] = gray(Math.round((255 * (v - low)) / Math.max(high - low, 1)));
  return new Layer(page.meta.width, page.meta.height, (i) => colours[values[i] - low]);
}

export function attentionLayer(page) {
  const colours = page.meta.choices.map((c) => rgb(c.colour));
  return new Layer(page.meta.width, page.meta.height, (i) => colours[page.preferred[i]]);
}

/** Where the network, seeing the page as a whole, expects writing: dark. */
export function viewLayer(page) {
  const values = page.array("view.png");
  return new Layer(page.meta.width, page.meta.height, (i) => gray(255 - values[i]));
}

/** What one window alone says. */
export function windowLayer(page, choice) {
  const paper = page.array(choice.ink);
  return new Layer(page.meta.width, page.meta.height, (i) => gray(paper[i] * 255));
}
