// The zip of /v1/explain: stored entries, PNGs of 1, 8 and 16 bits. The browser's own decoder would round 16 bits to 8.

const text = new TextDecoder();

/** Entries of a zip whose entries are stored, not compressed: name -> bytes. */
export function unzip(buffer) {
  const view = new DataView(buffer);
  const entries = new Map();
  let at = 0;
  while (view.getUint32(at, true) === 0x04034b50) {
    const size = view.getUint32(at + 18, true);
    const nameLength = view.getUint16(at + 26, true);
    const start = at + 30 + nameLength + view.getUint16(at + 28, true);
    entries.set(text.decode(new Uint8Array(buffer, at + 30, nameLength)), new Uint8Array(buffer, start, size));
    at = start + size;
  }
  return entries;
}

/** A gray PNG of 1, 8 or 16 bits as an array with a number per pixel. */
export async function readPng(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const [width, height, depth] = [view.getUint32(16), view.getUint32(20), bytes[24]];
  const parts = [];
  for (let at = 8; at < bytes.length; at += view.getUint32(at) + 12) {
    if (text.decode(bytes.subarray(at + 4, at + 8)) === "IDAT") parts.push(bytes.subarray(at + 8, at + 8 + view.getUint32(at)));
  }
  const stream = new Blob(parts).stream().pipeThrough(new DecompressionStream("deflate"));
  const raw = new Uint8Array(await new Response(stream).arrayBuffer());
  const stride = Math.ceil((width * depth) / 8);
  unfilter(raw, stride, height, depth === 16 ? 2 : 1);
  const pixels = depth === 16 ? new Uint16Array(width * height) : new Uint8Array(width * height);
  for (let y = 0, to = 0; y < height; y++) {
    const row = y * (stride + 1) + 1;
    if (depth === 8) pixels.set(raw.subarray(row, row + width), y * width);
    else if (depth === 16) for (let x = 0; x < width; x++) pixels[to++] = (raw[row + 2 * x] << 8) | raw[row + 2 * x + 1];
    else for (let x = 0; x < width; x++) pixels[to++] = (raw[row + (x >> 3)] >> (7 - (x & 7))) & 1;
  }
  return pixels;
}

function unfilter(raw, stride, height, step) {
  for (let y = 0; y < height; y++) {
    const row = y * (stride + 1) + 1;
    const kind = raw[row - 1];
    const up = row - stride - 1;
    for (let i = 0; i < stride; i++) {
      const a = i >= step ? raw[row + i - step] : 0;
      const b = y ? raw[up + i] : 0;
      if (kind === 1) raw[row + i] += a;
      else if (kind === 2) raw[row + i] += b;
      else if (kind === 3) raw[row + i] += (a + b) >> 1;
      else if (kind === 4) {
        const c = y && i >= step ? raw[up + i - step] : 0;
        const [pa, pb, pc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
        raw[row + i] += pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
      }
    }
  }
}

/** One page explained by one method: arrays are decoded when they are first asked for, and kept. */
export class Explained {
  constructor(buffer) {
    this.entries = unzip(buffer);
    this.meta = JSON.parse(text.decode(this.entries.get("meta.json")));
    this.arrays = new Map();
  }

  async load(...names) {
    const wanted = names.filter((name) => this.entries.has(name) && !this.arrays.has(name));
    await Promise.all(wanted.map(async (name) => this.arrays.set(name, await readPng(this.entries.get(name)))));
    return this;
  }

  /** Everything the result needs. */
  loadResult() {
    return this.load("gray.png", "threshold.png", "onset.png", "ink.png", "view.png");
  }

  /** Everything about attention, and the choice with the largest weight at each pixel. */
  async loadAttention() {
    await this.load(...this.meta.choices.map((c) => c.attention), ...this.meta.choices.filter((c) => c.ink).map((c) => c.ink));
    if (!this.preferred && this.meta.choices.length) {
      const weights = this.meta.choices.map((c) => this.arrays.get(c.attention));
      const best = weights[0].slice();
      this.preferred = new Uint8Array(best.length);
      weights.forEach((weight, k) => {
        if (k) for (let i = 0; i < best.length; i++) if (weight[i] > best[i]) [best[i], this.preferred[i]] = [weight[i], k];
      });
      this.shares = this.meta.choices.map(() => 0);
      for (const k of this.preferred) this.shares[k] += 1 / this.preferred.length;
    }
    return this;
  }

  array(name) {
    return this.arrays.get(name);
  }

  /** The threshold at pixel i, as a gray level. */
  threshold(i) {
    return this.array("threshold.png")[i] / this.meta.threshold_scale;
  }
}
