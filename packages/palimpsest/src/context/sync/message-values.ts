/**
 * What a message says as one flat list: its keys and primitive values in their order, and for each list and object in it
 * a mark and its size. Messages with equal lists are the same JSON.
 */
export type MessageValues = readonly unknown[];

export function collectValues(message: object): MessageValues {
  const values: unknown[] = [];
  collect(message, values);
  return values;
}

/**
 * Whether a message has these values. Strings are compared by reference first, so a message that the caller has kept
 * costs its number of values; one that was parsed anew costs a comparison of its bytes, but no hash and no copy.
 */
export const hasValues = (message: object, values: MessageValues): boolean =>
  new ValuesComparison(values).isWhole(message);

const listMark = Symbol("list");
const objectMark = Symbol("object");

function collect(source: unknown, values: unknown[]): void {
  const value = resolveToJson(source);
  if (typeof value !== "object" || value === null) {
    values.push(value);
  } else if (Array.isArray(value)) {
    values.push(listMark, value.length);
    for (const inner of value) collect(inner, values);
  } else {
    const entries = Object.entries(value);
    values.push(objectMark, entries.length);
    for (const [key, inner] of entries) {
      values.push(key);
      collect(inner, values);
    }
  }
}

class ValuesComparison {
  readonly #values: MessageValues;
  #at = 0;

  constructor(values: MessageValues) {
    this.#values = values;
  }

  isWhole(message: object): boolean {
    return this.#has(message) && this.#at === this.#values.length;
  }

  #has(source: unknown): boolean {
    const value = resolveToJson(source);
    if (typeof value !== "object" || value === null) return this.#isNext(value);
    if (Array.isArray(value)) {
      if (!this.#isNext(listMark) || !this.#isNext(value.length)) return false;
      for (const inner of value) if (!this.#has(inner)) return false;
      return true;
    }
    const entries = Object.entries(value);
    if (!this.#isNext(objectMark) || !this.#isNext(entries.length)) return false;
    for (const [key, inner] of entries) if (!this.#isNext(key) || !this.#has(inner)) return false;
    return true;
  }

  #isNext(value: unknown): boolean {
    const isSame = this.#values[this.#at] === value;
    this.#at += 1;
    return isSame;
  }
}

/** Dates and the like have no values of their own. */
const resolveToJson = (value: unknown): unknown => (hasToJson(value) ? value.toJSON() : value);

const hasToJson = (value: unknown): value is { toJSON(): unknown } =>
  typeof value === "object" && value !== null && "toJSON" in value && typeof value.toJSON === "function";
