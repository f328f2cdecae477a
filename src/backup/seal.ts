// Compresses and encrypts what a backup keeps: AES-256-GCM with a key from a passphrase (scrypt) or from a key file.

import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, scryptSync } from "node:crypto";
import { promisify } from "node:util";
import { zstdCompress, zstdDecompress } from "node:zlib";
import { UsageError } from "../kit/flags.ts";

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SALT_BYTES = 16;
/** Cost of scrypt: 128 MiB of memory, about half a second. */
const SCRYPT = { N: 2 ** 17, r: 8, p: 1 } as const;
const SCRYPT_MEMORY_MAX = 256 * 1024 * 1024;
const KEY_FILE_BYTES_MIN = 32;
const KNOWN_TEXT = "mneme backup";

/** Where the key comes from. */
export type KeySource =
  | { readonly kind: "passphrase"; readonly passphrase: string }
  | { readonly kind: "file"; readonly bytes: Uint8Array };

/** How the objects of a backup target are encrypted. Stored beside them; contains no secret. */
export interface Encryption {
  readonly cipher: typeof CIPHER;
  readonly key: "scrypt" | "file";
  /** Base 64. */
  readonly salt: string;
  /** Parameters of scrypt; null for a key file. */
  readonly scrypt: { readonly N: number; readonly r: number; readonly p: number } | null;
  /** A known text, encrypted, in base 64: it opens only with the right key. */
  readonly check: string;
}

/** Turns bytes into what a target keeps, and back. */
export class Seal {
  private constructor(private readonly key: Buffer | null) {}

  /** Compresses only. */
  static plain(): Seal {
    return new Seal(null);
  }

  /** Chooses a salt, and makes the key. @throws UsageError if a key file is too short */
  static create(source: KeySource): { readonly seal: Seal; readonly encryption: Encryption } {
    const salt = randomBytes(SALT_BYTES);
    const scrypt = source.kind === "passphrase" ? SCRYPT : null;
    const key = keyOf(source, salt, SCRYPT);
    const check = encrypted(key, Buffer.from(KNOWN_TEXT)).toString("base64");
    const kind = source.kind === "passphrase" ? "scrypt" : "file";
    const encryption = { cipher: CIPHER, key: kind, salt: salt.toString("base64"), scrypt, check } as const;
    return { seal: new Seal(key), encryption };
  }

  /** @throws UsageError if the key is of the wrong kind, or wrong */
  static open(encryption: Encryption, source: KeySource | null): Seal {
    const wanted = encryption.key === "scrypt" ? "passphrase" : "file";
    if (source?.kind !== wanted) {
      const how = wanted === "file" ? "a key file: use --key-file" : "a passphrase: set MNEME_BACKUP_PASSPHRASE";
      throw new UsageError(`The backups are encrypted with ${how}.`);
    }
    const key = keyOf(source, Buffer.from(encryption.salt, "base64"), encryption.scrypt ?? SCRYPT);
    try {
      decrypted(key, Buffer.from(encryption.check, "base64"));
    } catch (cause) {
      const what = wanted === "file" ? "key file" : "passphrase";
      throw new UsageError(`The ${what} is not the one that the backups are encrypted with.`, { cause });
    }
    return new Seal(key);
  }

  async close(bytes: Uint8Array): Promise<Uint8Array> {
    const packed = await compress(bytes);
    return this.key === null ? packed : encrypted(this.key, packed);
  }

  /** @throws Error if the bytes are not what `close` made with the same key */
  async open(bytes: Uint8Array): Promise<Uint8Array> {
    return decompress(this.key === null ? bytes : decrypted(this.key, bytes));
  }
}

function keyOf(source: KeySource, salt: Uint8Array, { N, r, p }: { N: number; r: number; p: number }): Buffer {
  if (source.kind === "passphrase") {
    return scryptSync(source.passphrase.normalize("NFKC"), salt, KEY_BYTES, { N, r, p, maxmem: SCRYPT_MEMORY_MAX });
  }
  if (source.bytes.length < KEY_FILE_BYTES_MIN) {
    throw new UsageError(
      `A key file needs at least ${KEY_FILE_BYTES_MIN} random bytes: head -c 32 /dev/urandom > FILE`,
    );
  }
  return Buffer.from(hkdfSync("sha256", source.bytes, salt, KNOWN_TEXT, KEY_BYTES));
}

// A random nonce per object: with 96 bits, a repetition is unlikely below 2^32 objects of one key.
function encrypted(key: Buffer, bytes: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce);
  return Buffer.concat([nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

function decrypted(key: Buffer, bytes: Uint8Array): Buffer {
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES));
  decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES)), decipher.final()]);
}
