import { isArray, isObject, type Json, type JsonObject, wellFormedJson } from "palimpsest/internal/schema/json";
import { BodyElement, contentName } from "./body-element.ts";
import { scanList, scanObject, type ObjectLayout, type Span } from "./object-layout.ts";
import type { RequestBody } from "./request-body.ts";

/** An element of this or another body, or the bytes of a new one. */
type NewElement = BodyElement | Uint8Array;

/**
 * New values of fields, or their JSON as bytes; undefined removes one. Names that the object lacks are appended. What a new
 * value has in common with the old one keeps its bytes: see `writeValue`.
 */
export type FieldChanges = Readonly<Record<string, Json | Uint8Array | undefined>>;

/**
 * The body with another list or other fields: the client's own bytes with only what changed between them. Elements of a body
 * that follow each other there stay one piece, with what the client wrote between them. Without a change the result is
 * `body.bytes` itself. If a changed name stands in the body twice, only its last member remains.
 *
 * The pieces are views of the body's bytes, not copies.
 */
export function writeBody(
  body: RequestBody,
  change: {
    /** The whole list. */
    readonly list?: readonly NewElement[] | undefined;
    readonly fields?: FieldChanges | undefined;
  },
): readonly Uint8Array[] {
  const { bytes, layout } = body;
  const { list } = change;
  const isSameList = list?.length === body.elements.length && body.elements.every((one, index) => one === list[index]);
  const elements = isSameList ? undefined : list;
  const valueByName = (name: string): Json | undefined => body.field(name);
  const pieces = writeObject({ bytes, layout, listName: body.list, elements, fields: change.fields, valueByName });
  return pieces ?? [bytes];
}

/** An element with other parts of its `content`, or other fields. Without a change the result is `element.bytes` itself. */
export function writeElement(
  element: BodyElement,
  change: { readonly parts?: readonly Uint8Array[] | undefined; readonly fields?: FieldChanges | undefined },
): Uint8Array {
  const { bytes, layout } = element;
  const { parts: elements, fields } = change;
  const valueByName = (name: string): Json | undefined => element.value[name];
  const pieces = writeObject({ bytes, layout, listName: contentName, elements, fields, valueByName });
  return pieces === undefined ? bytes : Buffer.concat(pieces);
}

/** The JSON of an object without one of its members, every other byte as it is; undefined if the bytes are no object. */
export function removeMember(bytes: Buffer, name: string): Uint8Array | undefined {
  const layout = scanObject(bytes, { list: "" });
  if (layout === undefined) return undefined;
  const change = { bytes, layout, listName: "", elements: undefined, valueByName: () => undefined };
  return Buffer.concat(writeObject({ ...change, fields: { [name]: undefined } }) ?? [bytes]);
}

/**
 * `next` instead of `value`, whose JSON `bytes` are. Members and elements that did not change keep their bytes, with the
 * space around them: also numbers that no double holds, the order of names, and half surrogate pairs. Members that are new
 * come last.
 */
export function writeValue({ bytes, value }: { readonly bytes: Buffer; readonly value: Json }, next: Json): Uint8Array {
  if (next === value) return bytes;
  if (isObject(next) && isObject(value)) {
    const layout = scanObject(bytes, { list: "" });
    if (layout === undefined) throw new Error("the bytes of a value were changed after they were read");
    const valueByName = (name: string): Json | undefined => value[name];
    const fields = listChanges(value, next);
    const pieces = writeObject({ bytes, layout, listName: "", elements: undefined, fields, valueByName });
    return pieces === undefined ? bytes : Buffer.concat(pieces);
  }
  return isArray(next) && isArray(value) && next.length >= value.length
    ? writeLongerList({ bytes, value }, next)
    : Buffer.from(wellFormedJson(next));
}

const listChanges = (value: JsonObject, next: JsonObject): FieldChanges =>
  Object.fromEntries([
    ...Object.keys(value).flatMap((name) => (Object.hasOwn(next, name) ? [] : [[name, undefined] as const])),
    ...Object.entries(next).filter(([name, one]) => !Object.hasOwn(value, name) || one !== value[name]),
  ]);

function writeLongerList(
  { bytes, value }: { readonly bytes: Buffer; readonly value: readonly Json[] },
  next: readonly Json[],
): Uint8Array {
  const ranges = scanList(bytes);
  const pieces: Uint8Array[] = [];
  let written = ranges[0]?.start ?? 1;
  pieces.push(bytes.subarray(0, written));
  for (const [index, one] of next.entries()) {
    const [range, before] = [ranges[index], value[index]];
    if (range === undefined || before === undefined) {
      pieces.push(index === 0 ? Buffer.alloc(0) : separator, Buffer.from(wellFormedJson(one)));
      continue;
    }
    const element = { bytes: bytes.subarray(range.start, range.end), value: before };
    pieces.push(bytes.subarray(written, range.start), writeValue(element, one));
    written = range.end;
  }
  return Buffer.concat([...pieces, bytes.subarray(written)]);
}

interface ObjectChange {
  readonly bytes: Buffer;
  readonly layout: ObjectLayout;
  readonly listName: string;
  readonly elements: readonly NewElement[] | undefined;
  readonly fields: FieldChanges | undefined;
  /** As the bytes have it. */
  readonly valueByName: (name: string) => Json | undefined;
}

/** Writes a value where the old one stood. */
type WriteValue = (pieces: Pieces) => void;

/** Undefined if nothing changes. */
function writeObject(change: ObjectChange): readonly Uint8Array[] | undefined {
  const { bytes, layout } = change;
  const { members } = layout;
  const changeByName = findChanges(change);
  if (changeByName.size === 0) return undefined;
  const lastByName = new Map(members.map((member) => [member.name, member]));
  const pieces = new Pieces();
  const [first, last] = [members[0], members.at(-1)];
  pieces.keep(bytes, { start: 0, end: first?.nameStart ?? layout.end - 1 });
  let isEmpty = true;
  for (const [index, member] of members.entries()) {
    const write = changeByName.get(member.name);
    if (write === "remove" || (write !== undefined && lastByName.get(member.name) !== member)) continue;
    // What stands before a member is a comma and space, whether or not the member before it was kept.
    if (!isEmpty) pieces.keep(bytes, { start: members[index - 1]?.end ?? 0, end: member.nameStart });
    pieces.keep(bytes, { start: member.nameStart, end: member.start });
    if (write === undefined) pieces.keep(bytes, member);
    else write(pieces);
    isEmpty = false;
  }
  for (const [name, write] of changeByName) {
    if (write === "remove" || lastByName.has(name)) continue;
    pieces.add(Buffer.from(`${isEmpty ? "" : ","}${wellFormedJson(name)}:`));
    write(pieces);
    isEmpty = false;
  }
  pieces.keep(bytes, { start: last?.end ?? layout.end - 1, end: bytes.length });
  return pieces.take();
}

function findChanges({
  bytes,
  layout,
  listName,
  elements,
  fields,
  valueByName,
}: ObjectChange): ReadonlyMap<string, WriteValue | "remove"> {
  const changeByName = new Map<string, WriteValue | "remove">();
  for (const [name, next] of Object.entries(fields ?? {})) {
    const member = layout.members.findLast((one) => one.name === name);
    const value = member === undefined ? undefined : valueByName(name);
    if (next instanceof Uint8Array) changeByName.set(name, (pieces) => pieces.add(next));
    else if (next === undefined) {
      if (member !== undefined) changeByName.set(name, "remove");
    } else if (member === undefined || value === undefined)
      changeByName.set(name, (pieces) => pieces.add(Buffer.from(wellFormedJson(next))));
    else {
      const known = { bytes: bytes.subarray(member.start, member.end), value };
      changeByName.set(name, (pieces) => pieces.add(writeValue(known, next)));
    }
  }
  if (elements !== undefined) changeByName.set(listName, (pieces) => writeList(pieces, { bytes, layout, elements }));
  return changeByName;
}

/** Elements that follow each other in a body keep what the client wrote between them, so that their piece goes on. */
function writeList(
  pieces: Pieces,
  { bytes, layout, elements }: Pick<ObjectChange, "bytes" | "layout"> & { readonly elements: readonly NewElement[] },
): void {
  const { list } = layout;
  const isOwn = (element: NewElement | undefined, index: number): element is BodyElement =>
    element instanceof BodyElement && element.source === bytes && element.index === index;
  const [first, last] = [elements[0], elements.at(-1)];
  if (list !== undefined && isOwn(first, 0)) pieces.keep(bytes, { start: list.member.start, end: first.start });
  else pieces.add(openList);
  for (const [index, element] of elements.entries()) {
    const before = elements[index - 1];
    if (before !== undefined && !keepGap(pieces, before, element)) pieces.add(separator);
    if (element instanceof BodyElement) pieces.keep(element.source, element);
    else pieces.add(element);
  }
  if (list !== undefined && isOwn(last, list.elements.length - 1))
    pieces.keep(bytes, { start: last.end, end: list.member.end });
  else pieces.add(closeList);
}

function keepGap(pieces: Pieces, before: NewElement, element: NewElement): boolean {
  if (!(before instanceof BodyElement && element instanceof BodyElement)) return false;
  if (before.source !== element.source || before.index + 1 !== element.index) return false;
  pieces.keep(element.source, { start: before.end, end: element.start });
  return true;
}

const openList = Buffer.from("[");
const separator = Buffer.from(",");
const closeList = Buffer.from("]");

/** Bytes in the order in which they are sent. Kept bytes that follow each other are one view. */
class Pieces {
  readonly #done: Uint8Array[] = [];
  #source: Buffer | undefined;
  #start = 0;
  #end = 0;

  keep(source: Buffer, { start, end }: Span): void {
    if (start === end) return;
    if (source !== this.#source || start !== this.#end) {
      this.#flush();
      this.#source = source;
      this.#start = start;
    }
    this.#end = end;
  }

  add(bytes: Uint8Array): void {
    this.#flush();
    this.#done.push(bytes);
  }

  take(): readonly Uint8Array[] {
    this.#flush();
    return this.#done;
  }

  #flush(): void {
    if (this.#source !== undefined) this.#done.push(this.#source.subarray(this.#start, this.#end));
    this.#source = undefined;
  }
}
