// The HTTP API.

export class ApiError extends Error {
  constructor(status, message, field = null, body = null) {
    super(message);
    this.body = body;
    this.status = status;
    this.field = field;
  }
}

async function call(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new ApiError(0, "Moot does not answer. Is it running?");
  }
  if (response.status === 401) location.reload(); // the form for the token
  let body = null;
  try {
    body = await response.json();
  } catch {
    throw new ApiError(response.status, "Moot gave an answer that is no JSON.");
  }
  if (!response.ok) {
    throw new ApiError(response.status, body?.error?.message ?? response.statusText, body?.error?.field, body);
  }
  return body;
}

export const get = (path) => call(path, { headers: { Accept: "application/json" } });

const send = (method) => (path, body) =>
  call(path, {
    method,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });

export const post = send("POST");
export const put = send("PUT");
export const remove = send("DELETE");

/** Upload one file; its reference for a message's attachments. */
export async function upload(file) {
  const form = new FormData();
  form.append("file", file, file.name || "file");
  const { files } = await call("/api/files", { method: "POST", body: form });
  return files[0];
}

/** A random id; getRandomValues also works where the page is not a secure context. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
