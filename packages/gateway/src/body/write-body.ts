import { type Json, wellFormedJson } from "palimpsest/internal/schema/json";
import { BodyElement, contentName } from "./body-element.ts";
import type { ObjectPlaces, Span } from "./object-places.ts";
import type { RequestBody } from "./request-body.ts";

/** An element of this or another body, or the bytes of a new one. */
type NewElement = BodyElement | Uint8Array;

/** New values of fields, or their JSON as bytes; undefined removes one. Names that the object lacks are appended. */
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
  const { bytes, places } = body;
  const { list } = change;
  const isSameList = list?.length === body.elements.length && body.elements.every((one, index) => one === list[index]);
  const elements = isSameList ? undefined : list;
  const pieces = writeObject({ bytes, places, listName: body.list, elements, fields: change.fields });
  return pieces ?? [bytes];
}

/** An element with other parts of its `content`, or other fields. Without a change the result is `element.bytes` itself. */
export function writeElement(
  element: BodyElement,
  change: { readonly parts?: readonly Uint8Array[] | undefined; readonly fields?: FieldChanges | undefined },
): Uint8Array {
  const { bytes, places } = element;
  const pieces = writeObject({ bytes, places, listName: contentName, elements: change.parts, fields: change.fields });
  return pieces === undefined ? bytes : Buffer.concat(pieces);
}

interface ObjectChange {
  readonly bytes: Buffer;
  readonly places: ObjectPlaces;
  readonly listName: string;
  readonly elements: readonly NewElement[] | undefined;
  readonly fields: FieldChanges | undefined;
}

/** Writes a value where the old one stood. */
type WriteValue = (pieces: Pieces) => void;

/** Undefined if nothing changes. */
function writeObject({ bytes, places, listName, elements, fields }: ObjectChange): readonly Uint8Array[] | undefined {
  const { members } = places;
  const lastByName = new Map(members.map((member) => [member.name, member]));
  const changeByName = new Map<string, WriteValue | "remove">();
  for (const [name, value] of Object.entries(fields ?? {})) {
    if (value instanceof Uint8Array) changeByName.set(name, (pieces) => pieces.add(value));
    else if (value !== undefined) changeByName.set(name, (pieces) => pieces.add(Buffer.from(wellFormedJson(value))));
    else if (lastByName.has(name)) changeByName.set(name, "remove");
  }
  if (elements !== undefined) changeByName.set(listName, (pieces) => writeList(pieces, { bytes, places, elements }));
  if (changeByName.size === 0) return undefined;

  const pieces = new Pieces();
  const [first, last] = [members[0], members.at(-1)];
  pieces.keep(bytes, { start: 0, end: first?.nameStart ?? places.start + 1 });
  let isEmpty = true;
  for (const [index, member] of members.entries()) {
    const change = changeByName.get(member.name);
    if (change === "remove" || (change !== undefined && lastByName.get(member.name) !== member)) continue;
    // What stands before a member is a comma and space, whether or not the member before it was kept.
    if (!isEmpty) pieces.keep(bytes, { start: members[index - 1]?.end ?? 0, end: member.nameStart });
    pieces.keep(bytes, { start: member.nameStart, end: member.start });
    if (change === undefined) pieces.keep(bytes, member);
    else change(pieces);
    isEmpty = false;
  }
  for (const [name, change] of changeByName) {
    if (change === "remove" || lastByName.has(name)) continue;
    pieces.add(Buffer.from(`${isEmpty ? "" : ","}${wellFormedJson(name)}:`));
    change(pieces);
    isEmpty = false;
  }
  pieces.keep(bytes, { start: last?.end ?? places.end - 1, end: bytes.length });
  return pieces.take();
}

/** Elements that follow each other in a body keep what the client wrote between them, so that their piece goes on. */
function writeList(
  pieces: Pieces,
  { bytes, places, elements }: Pick<ObjectChange, "bytes" | "places"> & { readonly elements: readonly NewElement[] },
): void {
  const { list } = places;
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

/** Bytes in the order in which they are sent. Kept bytes that follow each other are one view; added ones between them are joined. */
class Pieces {
  readonly #done: Uint8Array[] = [];
  #added: Uint8Array[] = [];
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
    if (this.#source !== undefined) this.#flush();
    this.#added.push(bytes);
  }

  take(): readonly Uint8Array[] {
    this.#flush();
    return this.#done;
  }

  #flush(): void {
    if (this.#source !== undefined) this.#done.push(this.#source.subarray(this.#start, this.#end));
    else if (this.#added.length > 0) this.#done.push(Buffer.concat(this.#added));
    this.#source = undefined;
    this.#added = [];
  }
}
