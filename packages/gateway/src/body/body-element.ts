import { isObject, type JsonObject, parseJson } from "palimpsest/internal/schema/json";
import { scanObject, type ObjectLayout, type Span } from "./object-layout.ts";

/** What was found out about an element: shared by the elements of successive bodies that have the same bytes. */
interface ElementFacts {
  value?: JsonObject;
  /** Relative to the element's start. */
  layout?: ObjectLayout;
}

/**
 * One element of a request's list: a message, or an item of the Responses API. It holds its range in the bytes of its own
 * body, so that it keeps no earlier body alive; what is computed from the bytes is computed once and shared.
 */
export class BodyElement implements Span {
  /** The bytes in which `start` and `end` are offsets. */
  readonly source: Buffer;
  readonly start: number;
  readonly end: number;
  readonly index: number;
  readonly #facts: ElementFacts;
  #bytes: Buffer | undefined;

  constructor(
    source: Buffer,
    range: Span & { readonly index: number; /** Has the same bytes. */ readonly same?: BodyElement | undefined },
  ) {
    this.source = source;
    this.start = range.start;
    this.end = range.end;
    this.index = range.index;
    this.#facts = range.same === undefined ? {} : range.same.#facts;
  }

  get bytes(): Buffer {
    return (this.#bytes ??= this.source.subarray(this.start, this.end));
  }

  get value(): JsonObject {
    return (this.#facts.value ??= this.#parse());
  }

  /** Where its members and the parts of its `content` are, relative to its start. */
  get layout(): ObjectLayout {
    return (this.#facts.layout ??= this.#scanObject());
  }

  /** The bytes of the parts of its `content`, if that is a list of objects. */
  get parts(): readonly Buffer[] | undefined {
    const bytes = this.bytes;
    return this.layout.list?.elements.map(({ start, end }) => bytes.subarray(start, end));
  }

  #parse(): JsonObject {
    const value = parseJson(this.source.toString("utf8", this.start, this.end));
    if (!isObject(value)) throw new Error("the bytes of an element were changed after they were read");
    return value;
  }

  #scanObject(): ObjectLayout {
    const layout = scanObject(this.bytes, { list: contentName });
    if (layout === undefined) throw new Error("the bytes of an element were changed after they were read");
    return layout;
  }
}

/** The member of an element that holds its parts. */
export const contentName = "content";
