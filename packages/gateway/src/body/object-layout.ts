import { parseJson } from "palimpsest/internal/schema/json";
import {
  closeBrace,
  closeBracket,
  comma,
  invalid,
  JsonScanner,
  openBrace,
  openBracket,
  quote,
  skipColon,
  skipSpace,
  skipString,
} from "./json-scanner.ts";
import { comparedBytes, comparedBytesMin } from "./limits.ts";

/** A range of bytes: from `start` to before `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The range of a value. */
export interface ValueRange extends Span {
  /** Its bytes equal those of the value with the same name or index in the previous object. */
  readonly isSame: boolean;
}

export interface MemberRange extends ValueRange {
  readonly name: string;
  readonly nameStart: number;
}

/** Where the parts of a JSON object are: its members, and the elements of the one that holds a list of objects. */
export interface ObjectLayout extends Span {
  /** In the order of the bytes. A name may stand here twice; its last member counts, as in `JSON.parse`. */
  readonly members: readonly MemberRange[];
  /** The member that holds the list, if there is one and every element of it is an object. */
  readonly list: { readonly member: MemberRange; readonly elements: readonly ValueRange[] } | undefined;
}

export interface PreviousObject {
  readonly bytes: Buffer;
  readonly layout: ObjectLayout;
}

/**
 * Finds where the parts of a JSON object are in the bytes. Undefined if the bytes are not one valid object.
 *
 * With a `previous` object, values are compared with those of the same name or index first, and only those that differ are
 * scanned. This is safe because only objects, arrays and strings are compared, from their first byte: unlike a number, they
 * can't continue past their closing byte. A comparison stops at the first difference, and the bytes before it have to be read
 * anyway, so the cost is linear in the length of the body, whatever the two bodies are.
 */
export function scanObject(
  bytes: Buffer,
  options: { readonly list: string; readonly previous?: PreviousObject | undefined },
): ObjectLayout | undefined {
  return new LayoutScanner(bytes, options).scan();
}

/** The elements of the list that the bytes are: any values. The bytes must be valid. */
export function scanList(bytes: Buffer): readonly Span[] {
  const scanner = new JsonScanner(bytes);
  const ranges: Span[] = [];
  let start = skipSpace(bytes, 1);
  while (start < bytes.length && bytes[start] !== closeBracket) {
    const end = scanner.skipValue(start);
    if (end === invalid) throw new Error("the bytes of a list were changed after they were read");
    ranges.push({ start, end });
    start = skipSpace(bytes, end);
    if (bytes[start] === comma) start = skipSpace(bytes, start + 1);
  }
  return ranges;
}

class LayoutScanner {
  readonly #bytes: Buffer;
  readonly #scanner: JsonScanner;
  readonly #listName: string;
  readonly #previous: PreviousObject | undefined;
  readonly #previousByName: ReadonlyMap<string, MemberRange>;
  readonly #members: MemberRange[] = [];
  #list: ObjectLayout["list"];

  constructor(
    bytes: Buffer,
    { list, previous }: { readonly list: string; readonly previous?: PreviousObject | undefined },
  ) {
    this.#bytes = bytes;
    this.#scanner = new JsonScanner(bytes);
    this.#listName = list;
    this.#previous = previous;
    this.#previousByName = new Map(previous?.layout.members.map((member) => [member.name, member]));
  }

  scan(): ObjectLayout | undefined {
    const bytes = this.#bytes;
    const start = skipSpace(bytes, 0);
    if (bytes[start] !== openBrace) return undefined;
    let at = skipSpace(bytes, start + 1);
    if (bytes[at] !== closeBrace) at = this.#scanMembers(at);
    if (at === invalid || bytes[at] !== closeBrace || skipSpace(bytes, at + 1) !== bytes.length) return undefined;
    return { start, end: at + 1, members: this.#members, list: this.#list };
  }

  /** Returns the offset at which no other member follows. */
  #scanMembers(at: number): number {
    const bytes = this.#bytes;
    for (;;) {
      const nameStart = at;
      const nameEnd = skipString(bytes, at);
      const start = nameEnd === invalid ? invalid : skipColon(bytes, nameEnd);
      if (start === invalid) return invalid;
      const member = this.#scanMember({ name: textAt(bytes, nameStart, nameEnd), nameStart, start });
      if (member.end === invalid) return invalid;
      this.#members.push(member);
      at = skipSpace(bytes, member.end);
      if (bytes[at] !== comma) return at;
      at = skipSpace(bytes, at + 1);
    }
  }

  #scanMember(header: Omit<MemberRange, "end" | "isSame">): MemberRange {
    const previous = this.#previousByName.get(header.name);
    if (header.name === this.#listName) {
      this.#list = undefined;
      const elements = this.#scanElements(header.start);
      if (elements !== undefined) {
        const member = { ...header, end: elements.end, isSame: false };
        this.#list = { member, elements: elements.ranges };
        return member;
      }
    }
    return { ...header, ...this.#scanValue(header.start, previous) };
  }

  #scanValue(start: number, previous: Span | undefined): ValueRange {
    const isSame = previous !== undefined && this.#equals(start, previous);
    return { start, end: isSame ? start + previous.end - previous.start : this.#scanner.skipValue(start), isSame };
  }

  /** Whether the bytes at `start` are those of an earlier value. Never for one whose end depends on what follows. */
  #equals(start: number, { start: previousStart, end: previousEnd }: Span): boolean {
    if (this.#previous === undefined) return false;
    const { bytes } = this.#previous;
    const last = bytes[previousEnd - 1];
    if (last !== closeBrace && last !== closeBracket && last !== quote) return false;
    const length = previousEnd - previousStart;
    // Most that differ differ in their first bytes or in what would be their last one: saves the call.
    if (this.#bytes[start + length - 1] !== last) return false;
    return commonLength({ bytes, start: previousStart }, { bytes: this.#bytes, start }, length) === length;
  }

  /** The elements of a list, if it is one of objects. */
  #scanElements(start: number): { readonly ranges: readonly ValueRange[]; readonly end: number } | undefined {
    const bytes = this.#bytes;
    if (bytes[start] !== openBracket) return undefined;
    const ranges = this.#sameElements(start);
    const previous = this.#previous?.layout.list?.elements;
    let at = skipSpace(bytes, ranges.at(-1)?.end ?? start + 1);
    for (;;) {
      if (bytes[at] === closeBracket) return { ranges, end: at + 1 };
      if (ranges.length > 0) {
        if (bytes[at] !== comma) return undefined;
        at = skipSpace(bytes, at + 1);
      }
      if (bytes[at] !== openBrace) return undefined;
      const element = this.#scanValue(at, previous?.[ranges.length]);
      if (element.end === invalid) return undefined;
      ranges.push(element);
      at = skipSpace(bytes, element.end);
    }
  }

  /** The elements that lie in the bytes which both lists begin with: found without a look at each. */
  #sameElements(start: number): ValueRange[] {
    const previous = this.#previous;
    const list = previous?.layout.list;
    if (previous === undefined || list === undefined) return [];
    const { member, elements } = list;
    const before = { bytes: previous.bytes, start: member.start };
    const sameEnd = member.start + commonLength(before, { bytes: this.#bytes, start }, member.end - member.start);
    const shift = start - member.start;
    const ranges: ValueRange[] = [];
    for (const element of elements) {
      if (element.end > sameEnd) break;
      ranges.push({ start: element.start + shift, end: element.end + shift, isSame: true });
    }
    return ranges;
  }
}

/** A name is almost always plain; `JSON.parse` reads the escapes of the others. */
function textAt(bytes: Buffer, start: number, end: number): string {
  const json = bytes.toString("utf8", start, end);
  const name = json.includes("\\") ? parseJson(json) : json.slice(1, -1);
  return typeof name === "string" ? name : "";
}

interface BytesFrom {
  readonly bytes: Buffer;
  readonly start: number;
}

/**
 * How many bytes are equal from the two starts on, at most `max`. Compares blocks (the processor's fastest way, some 40 GB
 * a second), then halves the block with the first difference.
 */
export function commonLength(one: BytesFrom, other: BytesFrom, max: number): number {
  const end = Math.min(max, one.bytes.length - one.start, other.bytes.length - other.start);
  let equal = 0;
  let size = comparedBytes;
  while (equal < end) {
    const block = Math.min(size, end - equal);
    if (block <= comparedBytesMin) {
      const blockEnd = equal + block;
      while (equal < blockEnd && one.bytes[one.start + equal] === other.bytes[other.start + equal]) equal += 1;
      if (equal < blockEnd) break;
      continue;
    }
    const [from, otherFrom] = [one.start + equal, other.start + equal];
    if (one.bytes.compare(other.bytes, otherFrom, otherFrom + block, from, from + block) === 0) equal += block;
    else size = Math.max(comparedBytesMin, block >> 1);
  }
  return equal;
}
