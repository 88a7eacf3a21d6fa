import { type Json, parseJson } from "palimpsest/internal/schema/json";
import { BodyElement } from "./body-element.ts";
import { quote } from "./json-scanner.ts";
import { scanObject, type MemberRange, type ObjectLayout } from "./object-layout.ts";

/** The field that holds the conversation: of Anthropic Messages and OpenAI chat, or of OpenAI Responses. */
export type ListName = "messages" | "input";

interface Field {
  readonly range: MemberRange;
  /** Shared with the field of the next body, if its bytes are the same. */
  readonly facts: { value?: Json };
}

/**
 * A request's body as the client wrote it: its bytes, and where its parts are. A part is parsed when it is asked for, once.
 *
 * With the conversation's previous body, what did not change costs one comparison of bytes, and values that were parsed
 * for that body are the same objects in this one. The bytes must not be changed afterwards. A body keeps its own bytes and
 * the values that were asked for, but no earlier body.
 */
export class RequestBody {
  readonly bytes: Buffer;
  readonly list: ListName;
  /** In the order of the body. If `input` is a text, one user message with it. */
  readonly elements: readonly BodyElement[];
  /** How many elements at the beginning have the same bytes as those of the previous body: their values are the same objects. */
  readonly unchanged: number;
  readonly layout: ObjectLayout;
  readonly #fieldByName: ReadonlyMap<string, Field>;

  /** Undefined if the bytes are not a JSON object that has the list, with an object as each element. */
  static read(
    bytes: Uint8Array,
    { list, previous }: { readonly list: ListName; readonly previous?: RequestBody | undefined },
  ): RequestBody | undefined {
    const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const comparable = previous?.list === list ? previous : undefined;
    const layout = scanObject(buffer, {
      list,
      previous: comparable === undefined ? undefined : { bytes: comparable.bytes, layout: comparable.layout },
    });
    if (layout === undefined) return undefined;
    const elements = listElements(buffer, { list, layout, previous: comparable });
    return elements === undefined
      ? undefined
      : new RequestBody({ bytes: buffer, list, layout, elements, previous: comparable });
  }

  private constructor(parts: {
    readonly bytes: Buffer;
    readonly list: ListName;
    readonly layout: ObjectLayout;
    readonly elements: readonly BodyElement[];
    readonly previous: RequestBody | undefined;
  }) {
    this.bytes = parts.bytes;
    this.list = parts.list;
    this.layout = parts.layout;
    this.elements = parts.elements;
    this.unchanged = countUnchanged(parts.layout, parts.list);
    const { previous } = parts;
    this.#fieldByName = new Map(
      parts.layout.members.map((range) => {
        const same = range.isSame && previous !== undefined ? previous.#fieldByName.get(range.name) : undefined;
        return [range.name, { range, facts: same?.facts ?? {} }];
      }),
    );
  }

  /** The names of the other fields, in the order of the body. */
  get fieldNames(): readonly string[] {
    return [...this.#fieldByName.keys()].filter((name) => name !== this.list);
  }

  /** The value of a field. The same object as in the previous body, if its bytes are the same. */
  field(name: string): Json | undefined {
    const field = this.#fieldByName.get(name);
    if (field === undefined) return undefined;
    const { range, facts } = field;
    if (range === this.layout.list?.member) return (facts.value ??= this.elements.map(({ value }) => value));
    // Null is a value: `??=` would parse it each time, which costs nothing worth a flag.
    return (facts.value ??= parseJson(this.bytes.toString("utf8", range.start, range.end)));
  }

  /** The bytes of a field's value. */
  fieldBytes(name: string): Buffer | undefined {
    const range = this.#fieldByName.get(name)?.range;
    return range === undefined ? undefined : this.bytes.subarray(range.start, range.end);
  }
}

function listElements(
  buffer: Buffer,
  parts: { readonly list: ListName; readonly layout: ObjectLayout; readonly previous: RequestBody | undefined },
): BodyElement[] | undefined {
  const { list, layout, previous } = parts;
  if (layout.list !== undefined)
    return layout.list.elements.map(({ start, end, isSame }, index) => {
      const same = isSame ? previous?.elements[index] : undefined;
      return new BodyElement(buffer, { start, end, index, same });
    });
  const range = layout.members.findLast(({ name }) => name === list);
  if (list !== "input" || range === undefined || buffer[range.start] !== quote) return undefined;
  const same = range.isSame ? previous?.elements[0] : undefined;
  const source = Buffer.concat([userMessageStart, buffer.subarray(range.start, range.end), userMessageEnd]);
  return [new BodyElement(source, { start: 0, end: source.length, index: 0, same })];
}

const [userMessageStart, userMessageEnd] = [Buffer.from('{"role":"user","content":'), Buffer.from("}")];

function countUnchanged(layout: ObjectLayout, list: ListName): number {
  if (layout.list === undefined) return layout.members.findLast(({ name }) => name === list)?.isSame === true ? 1 : 0;
  const { elements } = layout.list;
  const changed = elements.findIndex(({ isSame }) => !isSame);
  return changed === -1 ? elements.length : changed;
}
