import type { Lifetime } from "palimpsest/internal/cache/lifetime";
import { cacheControlFor } from "palimpsest/internal/cache/request-serializer";
import type { OutgoingMark } from "palimpsest/internal/context/sync/outgoing-list";
import { replaceMarks, type WrittenMessage } from "palimpsest/internal/context/sync/write-outgoing";
import { parseBlock } from "palimpsest/internal/schema/block";
import {
  field,
  isArray,
  isObject,
  type Json,
  type JsonObject,
  listField,
  textField,
} from "palimpsest/internal/schema/json";
import { isEmptyText, isThinking } from "palimpsest/internal/transcript/to-wire-block";
import { BodyElement } from "../../body/body-element.ts";
import type { RequestBody } from "../../body/request-body.ts";
import { type FieldChanges, writeElement } from "../../body/write-body.ts";
import { cacheMarksMax } from "../limits.ts";
import type { Addition } from "./refused-additions.ts";

/** How a request is marked whose list was edited. */
export interface EditedMarks {
  readonly list: readonly (BodyElement | Uint8Array)[];
  readonly fields: FieldChanges;
  /** Marks of tools go first: the one at the end of the system prompt covers them. */
  readonly tools: "kept" | "dropped";
}

interface EditedList {
  readonly written: readonly WrittenMessage[];
  readonly elements: readonly BodyElement[];
  readonly encode: (value: JsonObject) => Uint8Array;
}

interface MarkInput extends Pick<EditedList, "encode"> {
  readonly marks: readonly OutgoingMark[];
}

const noMarks: readonly OutgoingMark[] = [];

/** Marks of the Messages API, for the requests of one conversation: a message is looked at once. */
export class CacheMarks {
  readonly #marksByValue = new WeakMap<JsonObject, readonly JsonObject[]>();
  readonly #markedByValue = new WeakMap<JsonObject, { readonly names: string; readonly bytes: Uint8Array }>();
  /** The conversation's first body, since it became active. */
  #first: WeakRef<RequestBody> | undefined;

  /**
   * Those that the client left out: at the end of the list, so that the next request reads what this one wrote; and at the
   * end of the system prompt, because an edit of the list would else cost tools and system prompt too. None in a request
   * after which none is expected: a title, a judge. To write the cache costs a quarter more than to read nothing of it, and
   * a conversation that goes on all the same loses 0.9 of its first request (1 + 1.25 instead of 1.25 + 0.1).
   */
  missing(body: RequestBody, isLeftOut: (addition: Addition) => boolean = () => false): FieldChanges {
    this.#first ??= new WeakRef(body);
    const isAskedAgain = this.#first.deref() !== body;
    if (!isAskedAgain && !isLikelyToGoOn(body)) return {};
    const marks = this.#find(body);
    return {
      ...(marks.length === 0 && !isLeftOut("automatic-mark") ? { cache_control: mark } : {}),
      ...(isLeftOut("block-mark") ? {} : systemMark(body, marks)),
    };
  }

  /**
   * After an edit of the list. The provider looks up cached prefixes only near a mark, and the client's marks are at the end.
   * After an edit the unchanged part before it would therefore be written again. So the list is marked where the context plans it, for the client's
   * lifetime, and the client's other marks make way if there are more than four. Undefined if the client marks something
   * else than its list: then it wants the list uncached.
   */
  edited(body: RequestBody, { written, elements, encode }: EditedList): EditedMarks | undefined {
    const lifetime = this.#listLifetime(body, elements);
    if (lifetime === undefined) return undefined;
    const system = readBlocks(body.field("system"));
    const { tools, marked } = { tools: countMarked(readBlocks(body.field("tools"))), marked: countMarked(system) };
    const added = marked + tools === 0 ? systemMark(body, []) : {};
    const headerMarks = marked + tools + (added["system"] === undefined ? 0 : 1);
    const listMarksMax = headerMarks === 0 ? cacheMarksMax : cacheMarksMax - 1;
    const planned = written.flatMap(({ marks }, at) => marks.map((one) => ({ at, block: one.block, lifetime })));
    const chosen = planned.slice(-listMarksMax);
    const chosenByIndex = Map.groupBy(chosen, ({ at }) => at);
    const spare = cacheMarksMax - chosen.length;
    const systemChange = marked > spare ? { system: keepLastMarks(system, spare) } : added;
    return {
      list: written.map(({ value, given }, at) => {
        const marks = chosenByIndex.get(at) ?? noMarks;
        const element = given === undefined ? undefined : elements[given];
        const isSame = marks.length === 0 && this.#inMessage(value).length === 0;
        if (element === undefined) return encode(isSame ? value : replaceMarks(value, marks));
        return isSame ? element : this.#markElement(element, { marks, encode });
      }),
      fields: { ...systemChange, ...(isObject(body.field("cache_control")) ? { cache_control: undefined } : {}) },
      tools: tools > 0 && marked + tools > spare ? "dropped" : "kept",
    };
  }

  /** Of the marked messages most keep their marks from one request to the next. */
  #markElement(element: BodyElement, { marks, encode }: MarkInput): BodyElement | Uint8Array {
    const { value } = element;
    const names = marks.map(({ block, lifetime }) => `${block} ${lifetime}`).join();
    const known = this.#markedByValue.get(value);
    if (known?.names === names) return known.bytes;
    const marked = markElement(element, { marks, encode });
    // An element's own bytes keep its whole body in memory.
    if (marked instanceof Uint8Array && marked !== element.bytes)
      this.#markedByValue.set(value, { names, bytes: marked });
    return marked;
  }

  /** All of a request. */
  #find(body: RequestBody): readonly JsonObject[] {
    const automatic = body.field("cache_control");
    return [
      ...(isObject(automatic) ? [automatic] : []),
      ...[body.field("tools"), body.field("system")].flatMap((value) => readBlocks(value).flatMap(marksOfBlock)),
      ...body.elements.flatMap(({ value }) => this.#inMessage(value)),
    ];
  }

  #inMessage(message: JsonObject): readonly JsonObject[] {
    const known = this.#marksByValue.get(message);
    if (known !== undefined) return known;
    const marks = listField(message, "content").flatMap(marksOfBlock);
    this.#marksByValue.set(message, marks);
    return marks;
  }

  /** The lifetime of the newest mark of the list; five minutes if the client marks nothing. */
  #listLifetime(body: RequestBody, elements: readonly BodyElement[]): Lifetime | undefined {
    const automatic = body.field("cache_control");
    const newest = isObject(automatic)
      ? automatic
      : elements.findLast(({ value }) => this.#inMessage(value).length > 0)?.value;
    if (newest === undefined) return this.#find(body).length === 0 ? "5m" : undefined;
    const found = newest === automatic ? automatic : this.#inMessage(newest).at(-1);
    return found !== undefined && textField(found, "ttl") === "1h" ? "1h" : "5m";
  }
}

const mark = { type: "ephemeral" };

const isLikelyToGoOn = (body: RequestBody): boolean =>
  readBlocks(body.field("tools")).length > 0 ||
  body.elements.some(({ value }) => textField(value, "role") === "assistant");

/** Its own, and those inside a result. */
function marksOfBlock(block: Json): readonly JsonObject[] {
  if (!isObject(block)) return [];
  const own = field(block, "cache_control");
  return [...listField(block, "content").flatMap(marksOfBlock), ...(isObject(own) ? [own] : [])];
}

function systemMark(body: RequestBody, marks: readonly JsonObject[]): FieldChanges {
  const system = body.field("system");
  const blocks = typeof system === "string" ? [{ type: "text", text: system }] : readBlocks(system);
  const last = blocks.at(-1);
  // One that lives for an hour must not come after one for five minutes: a client that sets lifetimes sets all marks.
  const setsItsOwn =
    countMarked(blocks) + countMarked(readBlocks(body.field("tools"))) > 0 ||
    marks.some((one) => field(one, "ttl") !== undefined);
  if (last === undefined || setsItsOwn || marks.length >= cacheMarksMax - 1 || (textField(last, "text") ?? "") === "")
    return {};
  if (typeof system === "string") return { system: markText(body.fieldBytes("system")) };
  const at = isArray(system) ? system.lastIndexOf(last) : -1;
  return isArray(system) ? { system: system.with(at, { ...last, cache_control: mark }) } : {};
}

/** A text becomes a block: with its own bytes, because what is no character would be another one else. */
const markText = (text: Buffer | undefined): Buffer | undefined =>
  text === undefined
    ? undefined
    : Buffer.concat([
        Buffer.from('[{"type":"text","text":'),
        text,
        Buffer.from(`,"cache_control":${JSON.stringify(mark)}}]`),
      ]);

const readBlocks = (value: Json | undefined): readonly JsonObject[] => (isArray(value) ? value : []).filter(isObject);

const countMarked = (blocks: readonly JsonObject[]): number =>
  blocks.filter((block) => isObject(field(block, "cache_control"))).length;

function keepLastMarks(blocks: readonly JsonObject[], count: number): JsonObject[] {
  let dropped = countMarked(blocks) - count;
  return blocks.map((block) => {
    if (!isObject(field(block, "cache_control")) || (dropped -= 1) < 0) return block;
    const { cache_control: _mark, ...others } = block;
    return others;
  });
}

/** The client's element with these marks: its own bytes but for the marks. */
function markElement(element: BodyElement, { marks, encode }: MarkInput): BodyElement | Uint8Array {
  const { parts, value } = element;
  const blocks = listField(value, "content");
  if (parts === undefined || blocks.some(holdsInnerMark))
    return marks.length === 0 && parts === undefined ? element : encode(replaceMarks(value, marks));
  let nth = -1;
  let isChanged = false;
  const written = parts.map((part, at) => {
    const block = blocks[at];
    const parsed = isObject(block) ? parseBlock(block) : undefined;
    const isMarkable = parsed !== undefined && !isThinking(parsed) && !isEmptyText(parsed);
    if (isMarkable) nth += 1;
    const planned = isMarkable ? marks.find((one) => one.block === nth) : undefined;
    const own = isObject(block) ? field(block, "cache_control") : undefined;
    if ((planned === undefined) === (own === undefined)) return part;
    isChanged = true;
    const cache_control = planned === undefined ? undefined : { ...cacheControlFor(planned.lifetime) };
    return writeElement(new BodyElement(part, { start: 0, end: part.length, index: 0 }), { fields: { cache_control } });
  });
  return isChanged ? writeElement(element, { parts: written }) : element;
}

const holdsInnerMark = (block: Json): boolean =>
  isObject(block) && listField(block, "content").some((part) => isObject(part) && "cache_control" in part);
