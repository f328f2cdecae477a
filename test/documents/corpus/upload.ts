// Uploads a file to a test service.

import { fileForm, formRequest } from "../../support/forms.ts";
import { type Answered, TEST_KEY, type TestService } from "../../support/service.ts";

/** The file name under which the document `kind/name` is uploaded. */
export function uploadName(path: string): string {
  return path.slice(path.indexOf("/") + 1);
}

/** Uploads a file as multipart form data. Returns the response of uploadMemory. */
export function upload(service: TestService, filename: string, bytes: Uint8Array): Promise<Answered> {
  return service.send(
    formRequest("http://mneme.test/v1/memories/upload", fileForm(filename, bytes), {
      headers: { authorization: `Bearer ${TEST_KEY}` },
    }),
  );
}
