// Reads the fields of a manifest (`model.json`), checks their types, and refuses unknown fields. model-files.ts says
// which fields there are.

import { readFileSync } from "node:fs";

/** Error for a model folder that cannot be used. The message names file and reason in one line. */
export class ModelFilesError extends Error {
  override readonly name = "ModelFilesError";
}

/** The fields of a JSON object in a manifest. Each method returns the value of a field or throws `ModelFilesError`. */
export class ManifestFields {
  readonly #read = new Set<string>();

  private constructor(
    private readonly path: string,
    /** Names of the enclosing fields with dots between them and after them; empty for the manifest itself. */
    private readonly place: string,
    private readonly values: Readonly<Record<string, unknown>>,
  ) {}

  /**
   * Reads a manifest.
   * @param take reads all fields that a manifest can have
   * @throws ModelFilesError if the file is not a JSON object, or has a field that `take` did not read
   */
  static readFile<Result>(path: string, take: (fields: ManifestFields) => Result): Result {
    return ManifestFields.take(path, "", ManifestFields.readJson(path), take);
  }

  /** The JSON of a file. @throws ModelFilesError if it cannot be read */
  static readJson(path: string): unknown {
    try {
      return JSON.parse(readFileSync(path, "utf8"));
    } catch (cause) {
      throw new ModelFilesError(`${path} cannot be read: ${String(cause)}`, { cause });
    }
  }

  text(name: string): string {
    const value = this.value(name);
    if (typeof value !== "string" || value === "") throw this.wrong(name, "a text");
    return value;
  }

  /** A text that may be empty. */
  anyText(name: string): string {
    const value = this.value(name);
    if (typeof value !== "string") throw this.wrong(name, "a text, which may be empty");
    return value;
  }

  textOrNull(name: string): string | null {
    return this.value(name) === null ? null : this.text(name);
  }

  /** The name of a file in the folder of the manifest. */
  file(name: string): string {
    const value = this.value(name);
    if (typeof value !== "string" || !/^[\w-][\w.-]*$/.test(value)) throw this.wrong(name, "a file name");
    return value;
  }

  sha256(name: string): string {
    const value = this.value(name);
    if (typeof value !== "string" || !/^[0-9a-f]{64}$/.test(value)) throw this.wrong(name, "a SHA-256 of 64 digits");
    return value;
  }

  oneOf<const Option extends string>(name: string, options: readonly Option[]): Option {
    const value = this.value(name);
    const found = options.find((option) => option === value);
    if (found === undefined) throw this.wrong(name, options.map((option) => JSON.stringify(option)).join(" or "));
    return found;
  }

  /** An integer from 1 to `most`. */
  count(name: string, most = Number.MAX_SAFE_INTEGER): number {
    const value = this.value(name);
    if (!Number.isInteger(value) || Number(value) < 1 || Number(value) > most) {
      throw this.wrong(name, most === Number.MAX_SAFE_INTEGER ? "an integer above 0" : `an integer from 1 to ${most}`);
    }
    return Number(value);
  }

  number(name: string, least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY): number {
    const value = this.value(name);
    const isInRange = typeof value === "number" && Number.isFinite(value) && value >= least && value <= most;
    if (!isInRange) {
      const range = [least > -Infinity && `from ${least}`, most < Infinity && `to ${most}`].filter(Boolean);
      throw this.wrong(name, ["a number", ...range].join(" "));
    }
    return value;
  }

  /** BCP 47 tags. */
  languages(name: string): readonly string[] {
    const tags = this.value(name);
    const isTag = (tag: unknown) => typeof tag === "string" && /^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/.test(tag);
    if (!Array.isArray(tags) || !tags.every(isTag)) throw this.wrong(name, "a list of BCP 47 tags");
    return tags;
  }

  object<Result>(name: string, take: (fields: ManifestFields) => Result): Result {
    return ManifestFields.take(this.path, `${this.place}${name}.`, this.value(name), take);
  }

  /** Whether the field is there. */
  has(name: string): boolean {
    return Object.hasOwn(this.values, name);
  }

  /** A list of objects, each read by `take`; empty if the field is missing. */
  list<Result>(name: string, take: (fields: ManifestFields) => Result): readonly Result[] {
    if (!this.has(name)) return [];
    const values = this.value(name);
    if (!Array.isArray(values)) throw this.wrong(name, "a list of objects");
    return values.map((each, at) => ManifestFields.take(this.path, `${this.place}${name}[${at}].`, each, take));
  }

  /** An object; `otherwise` if the field is missing. */
  objectOr<Result>(name: string, otherwise: Result, take: (fields: ManifestFields) => Result): Result {
    return this.has(name) ? this.object(name, take) : otherwise;
  }

  /** An object with one object for each of these names. */
  objects<const Name extends string, Result>(
    name: string,
    names: readonly Name[],
    take: (fields: ManifestFields) => Result,
  ): Readonly<Record<Name, Result>> {
    return this.object(name, (fields) => {
      const entries = names.map((each) => [each, fields.object(each, take)] as const);
      return Object.fromEntries(entries) as Record<Name, Result>;
    });
  }

  /** An object with one number for each of these names. */
  numbers<const Name extends string>(
    name: string,
    names: readonly Name[],
    least: number,
    most: number,
  ): Readonly<Record<Name, number>> {
    return this.object(name, (fields) => {
      const entries = names.map((each) => [each, fields.number(each, least, most)] as const);
      return Object.fromEntries(entries) as Record<Name, number>;
    });
  }

  private static take<Result>(
    path: string,
    place: string,
    values: unknown,
    take: (fields: ManifestFields) => Result,
  ): Result {
    if (typeof values !== "object" || values === null || Array.isArray(values)) {
      throw new ModelFilesError(`${path}: ${place === "" ? "the file" : place.slice(0, -1)} must be a JSON object`);
    }
    const fields = new ManifestFields(path, place, values as Record<string, unknown>);
    const result = take(fields);
    const unknown = Object.keys(values).find((name) => !fields.#read.has(name));
    if (unknown !== undefined) throw new ModelFilesError(`${path}: there is no field ${place}${unknown}; remove it`);
    return result;
  }

  private value(name: string): unknown {
    this.#read.add(name);
    if (!this.has(name)) throw new ModelFilesError(`${this.path} has no field ${this.place}${name}`);
    return this.values[name];
  }

  /** The error for a field whose value is not what was expected. */
  wrong(name: string, expected: string): ModelFilesError {
    const value = JSON.stringify(this.values[name]);
    const shown = value.length > 60 ? `${value.slice(0, 60)}…` : value;
    return new ModelFilesError(`${this.path}: ${this.place}${name} must be ${expected}, not ${shown}`);
  }
}
