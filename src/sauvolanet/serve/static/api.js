// Requests to the service: progress while they run, errors as one line, the token if there is one.

export class Refused extends Error {}
export class Cancelled extends Error {}

let token = sessionStorage.getItem("token") ?? "";
if (location.hash.startsWith("#token=")) {
  token = decodeURIComponent(location.hash.slice(7));
  sessionStorage.setItem("token", token);
  history.replaceState(null, "", location.pathname); // the address may be shown to others
}

async function askToken() {
  const dialog = document.getElementById("ask-token");
  dialog.showModal();
  await new Promise((done) => dialog.addEventListener("close", done, { once: true }));
  token = document.getElementById("token").value;
  sessionStorage.setItem("token", token);
}

const authorization = () => (token ? { Authorization: `Bearer ${token}` } : {});

export async function getJson(path) {
  const answer = await fetch(path, { headers: authorization() });
  if (answer.status === 401) {
    await askToken();
    return getJson(path);
  }
  const body = await answer.json();
  if (!answer.ok) throw new Refused(body.error.message);
  return body;
}

/**
 * POST a form; resolves to the answer's bytes. `tell(text, fraction)` hears how far it is (fraction null: not known).
 * Waits and tries again while the service is busy. `signal` aborts.
 */
export async function post(path, file, fields, tell, signal) {
  for (;;) {
    const request = await send(path, file, fields, tell, signal);
    if (request.status === 200) return request.response;
    if (request.status === 401) {
      await askToken();
    } else if (request.status === 503) {
      tell("The service is busy, waiting…", null);
      await pause(1000 * Number(request.getResponseHeader("Retry-After") ?? 2), signal);
    } else {
      throw new Refused(message(request));
    }
  }
}

function message(request) {
  try {
    return JSON.parse(new TextDecoder().decode(request.response)).error.message;
  } catch {
    return request.status ? `The service answered ${request.status}.` : "The service cannot be reached.";
  }
}

function pause(milliseconds, signal) {
  return new Promise((done, fail) => {
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), fail(new Cancelled())), { once: true });
  });
}

function send(path, file, fields, tell, signal) {
  const form = new FormData();
  form.append("file", file, file.name.replace(/[^\p{L}\p{N} ._()-]/gu, "_"));
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  const job = Array.from(crypto.getRandomValues(new Uint8Array(12)), (v) => v.toString(16).padStart(2, "0")).join("");
  return new Promise((done, fail) => {
    if (signal.aborted) return fail(new Cancelled());
    const request = new XMLHttpRequest();
    let timer = 0;
    request.open("POST", `${path}?job=${job}`);
    request.responseType = "arraybuffer";
    for (const [name, value] of Object.entries(authorization())) request.setRequestHeader(name, value);
    request.upload.onprogress = (e) => tell("Sending the page…", e.loaded / e.total);
    request.upload.onload = () => {
      tell("Working…", null);
      timer = setInterval(async () => {
        const answer = await fetch(`v1/progress/${job}`, { headers: authorization() }).catch(() => null);
        if (answer?.ok && timer) tell(...words(await answer.json()));
      }, 400);
    };
    const stop = () => (clearInterval(timer), (timer = 0));
    request.onload = () => (stop(), done(request));
    request.onerror = () => (stop(), fail(new Refused(message(request))));
    request.onabort = () => (stop(), fail(new Cancelled()));
    signal.addEventListener("abort", () => request.abort(), { once: true });
    request.send(form);
  });
}

function words({ state, page, pages, fraction }) {
  if (state === "waiting") return ["Waiting for its turn…", null];
  return [pages > 1 ? `Working on page ${page} of ${pages}…` : "Working…", fraction];
}
