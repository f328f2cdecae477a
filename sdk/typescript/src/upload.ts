// Sends a form with a file, and reports how much of it has been sent.

/** Progress of an upload. */
export interface UploadProgress {
  /** Bytes handed to the network so far. */
  readonly sentBytes: number;
  readonly totalBytes: number;
}

type Report = (progress: UploadProgress) => void;

/** A `fetch` that reports progress. Browsers cannot stream a request, but their XMLHttpRequest reports its progress. */
export function fetchWithProgress(report: Report, given: typeof fetch = fetch): typeof fetch {
  return (async (request: Request) => {
    const isBrowser = typeof XMLHttpRequest !== "undefined";
    return isBrowser ? sendByXhr(request, report) : sendStream(request, report, given);
  }) as typeof fetch;
}

async function sendStream(request: Request, report: Report, given: typeof fetch): Promise<Response> {
  const body = await request.blob();
  const totalBytes = body.size;
  let sentBytes = 0;
  report({ sentBytes, totalBytes });
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      controller.enqueue(bytes);
      sentBytes += bytes.byteLength;
      report({ sentBytes, totalBytes });
    },
  });
  const { url, method, headers, signal, redirect } = request;
  const streamed = { method, headers, signal, redirect, body: body.stream().pipeThrough(counter), duplex: "half" };
  return given(url, streamed as RequestInit);
}

async function sendByXhr(request: Request, report: Report): Promise<Response> {
  const body = await request.blob();
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest();
    const abort = () => xhr.abort();
    xhr.open(request.method, request.url);
    for (const [name, value] of request.headers) xhr.setRequestHeader(name, value);
    xhr.responseType = "arraybuffer";
    xhr.upload.onprogress = ({ loaded, total }) => report({ sentBytes: loaded, totalBytes: total });
    xhr.onload = () => {
      const headers = xhr.getAllResponseHeaders().trim().split("\r\n");
      const pairs = headers.map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]);
      resolve(new Response(xhr.response as ArrayBuffer, { status: xhr.status, headers: pairs }));
    };
    xhr.onerror = () => reject(new TypeError("the connection failed"));
    xhr.onabort = () => reject(request.signal.reason);
    xhr.onloadend = () => request.signal.removeEventListener("abort", abort);
    request.signal.addEventListener("abort", abort, { once: true });
    report({ sentBytes: 0, totalBytes: body.size });
    xhr.send(body);
  });
}
