// Uploads a file and reports the progress of the transfer. Uses XMLHttpRequest, because fetch cannot report it.

import { ApiError, currentKey, errorOf, targetOf } from "./api.ts";
import type { Memory } from "./calls.ts";

/** Sends a form with a file. @param onProgress receives the share that was sent, 0 to 1 @throws ApiError */
export function upload(form: FormData, onProgress: (share: number) => void): Promise<Memory> {
  const { method, url } = targetOf("uploadMemory", {});
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, url);
    request.setRequestHeader("authorization", `Bearer ${currentKey.value ?? ""}`);
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 0 : loaded / total);
    request.onerror = () => reject(new ApiError({ code: "unreachable", message: "The server cannot be reached." }));
    request.onload = () => {
      if (request.status >= 200 && request.status < 300) resolve(JSON.parse(request.responseText));
      else reject(errorOf(request.responseText, request.status, request.statusText));
    };
    request.send(form);
  });
}
