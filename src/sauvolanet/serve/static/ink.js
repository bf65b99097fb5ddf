// Ink at a position of the strength slider, exactly as Python finds it. Ink is 1, paper 0.

/** Ink of an explained page: position counts the slider's steps, specks of at most `despeckle` pixels are dropped. */
export function inkAt(page, position, despeckle) {
  const { width, height, surface } = page.meta;
  const ink = new Uint8Array(width * height);
  if (surface) {
    const onset = page.array("onset.png");
    for (let i = 0; i < ink.length; i++) ink[i] = onset[i] <= position ? 1 : 0;
  } else {
    const paper = page.array("ink.png");
    for (let i = 0; i < ink.length; i++) ink[i] = 1 - paper[i];
  }
  if (despeckle > 0) dropSpecks(ink, width, height, despeckle);
  return ink;
}

/** Remove 8-connected ink of at most `largest` pixels. */
export function dropSpecks(ink, width, height, largest) {
  const seen = new Uint8Array(ink.length);
  let members = new Int32Array(1024);
  for (let start = 0; start < ink.length; start++) {
    if (!ink[start] || seen[start]) continue;
    let count = 1;
    members[0] = start;
    seen[start] = 1;
    for (let next = 0; next < count; next++) {
      const x = members[next] % width;
      const y = (members[next] - x) / width;
      if (count + 8 > members.length) {
        const larger = new Int32Array(members.length * 2);
        larger.set(members);
        members = larger;
      }
      for (let v = Math.max(y - 1, 0); v <= y + 1 && v < height; v++) {
        for (let u = Math.max(x - 1, 0); u <= x + 1 && u < width; u++) {
          const i = v * width + u;
          if (ink[i] && !seen[i]) {
            seen[i] = 1;
            members[count++] = i;
          }
        }
      }
    }
    if (count <= largest) for (let i = 0; i < count; i++) ink[members[i]] = 0;
  }
}
