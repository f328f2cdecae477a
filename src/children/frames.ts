// Wire format between the server and its child processes: length-prefixed frames with a JSON header and a binary
// payload. Only encodes and decodes; supervisor.ts and serve.ts implement the protocol.

import type { JsonObject } from "../domain/json.ts";

/** Kinds of frame. The child sends `hello` once; every `request` is answered by one `reply` or `failure`. */
export const FRAME_KINDS = ["hello", "request", "reply", "failure"] as const;
/** One kind of frame. */
export type FrameKind = (typeof FRAME_KINDS)[number];

/** One message. `payload` has a buffer of its own at offset 0, so that a Float32Array can view it without copying. */
export interface Frame {
  /** Number of the request, unsigned 32 bits; a reply has the number of its request. */
  readonly id: number;
  readonly kind: FrameKind;
  readonly header: JsonObject;
  readonly payload: Uint8Array<ArrayBuffer>;
}

/**
 * Maximum size of a frame in bytes, without the prefix. The largest frames are replies of preparation with the passages
 * of a JSON conversation, of at most 16 Mi UTF-16 code units (preparation/conversation.ts).
 */
export const FRAME_BYTES_MAX = 96 * 1024 * 1024;

/**
 * Layout of a frame, all numbers little-endian: body length (u32), then the body: id (u32), header length (u32), kind
 * (u8), header, payload.
 */
const PREFIX_BYTES = 4;
const FIXED_BYTES = 9;

/** Thrown for a malformed or oversized frame. The connection cannot be used any longer. */
export class FrameError extends Error {
  override readonly name = "FrameError";
}

const utf8 = new TextEncoder();
const fromUtf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Encodes one frame.
 * @throws FrameError if it exceeds `frameBytesMax`
 */
export function encodeFrame(
  frame: Omit<Frame, "payload"> & { readonly payload?: Uint8Array },
  frameBytesMax = FRAME_BYTES_MAX,
): Uint8Array<ArrayBuffer> {
  const header = utf8.encode(JSON.stringify(frame.header));
  const payloadBytes = frame.payload?.byteLength ?? 0;
  const bodyBytes = FIXED_BYTES + header.byteLength + payloadBytes;
  if (bodyBytes > frameBytesMax) {
    throw new FrameError(`a frame of ${bodyBytes} bytes exceeds the maximum of ${frameBytesMax}`);
  }
  const bytes = new Uint8Array(PREFIX_BYTES + bodyBytes);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, bodyBytes, true);
  view.setUint32(4, frame.id, true);
  view.setUint32(8, header.byteLength, true);
  view.setUint8(12, FRAME_KINDS.indexOf(frame.kind));
  bytes.set(header, PREFIX_BYTES + FIXED_BYTES);
  if (frame.payload) bytes.set(frame.payload, PREFIX_BYTES + FIXED_BYTES + header.byteLength);
  return bytes;
}

/** Incremental decoder of frames. */
export interface FrameDecoder {
  /**
   * Takes the next bytes of the connection.
   * @returns the frames that `bytes` complete, in order
   * @throws FrameError on a malformed or oversized frame; the decoder must not be used afterwards
   */
  push(bytes: Uint8Array): readonly Frame[];
}

/** Creates a decoder for one connection. It buffers the frame in progress, at most `frameBytesMax`. */
export function createFrameDecoder(frameBytesMax = FRAME_BYTES_MAX): FrameDecoder {
  const prefix = new Uint8Array(PREFIX_BYTES);
  let prefixFilled = 0;
  let body: Uint8Array<ArrayBuffer> | null = null;
  let bodyFilled = 0;

  return {
    push(bytes) {
      const frames: Frame[] = [];
      let at = 0;
      while (at < bytes.length) {
        if (body === null) {
          const taken = Math.min(PREFIX_BYTES - prefixFilled, bytes.length - at);
          prefix.set(bytes.subarray(at, at + taken), prefixFilled);
          prefixFilled += taken;
          at += taken;
          if (prefixFilled < PREFIX_BYTES) break;
          body = new Uint8Array(bodyLength(prefix, frameBytesMax));
          bodyFilled = 0;
        }
        const taken = Math.min(body.length - bodyFilled, bytes.length - at);
        body.set(bytes.subarray(at, at + taken), bodyFilled);
        bodyFilled += taken;
        at += taken;
        if (bodyFilled === body.length) {
          frames.push(decodeBody(body));
          body = null;
          prefixFilled = 0;
        }
      }
      return frames;
    },
  };
}

function bodyLength(prefix: Uint8Array<ArrayBuffer>, frameBytesMax: number): number {
  const length = new DataView(prefix.buffer).getUint32(0, true);
  if (length < FIXED_BYTES || length > frameBytesMax) {
    throw new FrameError(`a frame announces ${length} bytes; the valid range is ${FIXED_BYTES} to ${frameBytesMax}`);
  }
  return length;
}

function decodeBody(body: Uint8Array<ArrayBuffer>): Frame {
  const view = new DataView(body.buffer);
  const headerBytes = view.getUint32(4, true);
  const kind = FRAME_KINDS[view.getUint8(8)];
  if (kind === undefined || headerBytes > body.length - FIXED_BYTES) {
    throw new FrameError("a frame has an invalid kind or header length");
  }
  const header = decodeHeader(body.subarray(FIXED_BYTES, FIXED_BYTES + headerBytes));
  return { id: view.getUint32(0, true), kind, header, payload: body.slice(FIXED_BYTES + headerBytes) };
}

function decodeHeader(bytes: Uint8Array): JsonObject {
  let header: unknown;
  try {
    header = JSON.parse(fromUtf8.decode(bytes));
  } catch (cause) {
    throw new FrameError("a frame's header is not JSON", { cause });
  }
  if (typeof header !== "object" || header === null || Array.isArray(header)) {
    throw new FrameError("a frame's header is not a JSON object");
  }
  return header as JsonObject;
}
