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
  wellFormedJson,
} from "palimpsest/internal/schema/json";
import { isEmptyText, isThinking } from "palimpsest/internal/transcript/to-wire-block";
import { BodyElement } from "../body/body-element.ts";
import type { RequestBody } from "../body/request-body.ts";
import { type FieldChanges, writeElement } from "../body/write-body.ts";
import { cacheMarksMax } from "./limits.ts";

/**
 * Marks of the Messages API that the client left out: at the end of the list, so that the next request reads what this one
 * wrote; and at the end of the system prompt, because an edit of the list would else cost tools and system prompt too.
 */
export function missingMarks(body: RequestBody): FieldChanges {
  const marks = countMarks(body.bytes);
  return { ...(marks === 0 ? { cache_control: mark } : {}), ...systemMark(body, marks) };
}

const mark = { type: "ephemeral" };
const markName = '"cache_control"';

/** Texts that name it count too: then a mark is left out that could have been set. */
function countMarks(bytes: Uint8Array): number {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let count = 0;
  for (let at = text.indexOf(markName); at !== -1 && count < cacheMarksMax; at = text.indexOf(markName, at + 1))
    count += 1;
  return count;
}

function systemMark(body: RequestBody, marks: number): FieldChanges {
  const system = body.field("system");
  const blocks = typeof system === "string" ? [{ type: "text", text: system }] : readBlocks(system);
  const last = blocks.at(-1);
  // One that lives for an hour must not come after one for five minutes: who sets lifetimes sets all marks.
  const isOwnMatter = hasMark(blocks) || hasMark(readBlocks(body.field("tools"))) || body.bytes.includes('"ttl"');
  if (last === undefined || isOwnMatter || marks >= cacheMarksMax - 1 || (textField(last, "text") ?? "") === "")
    return {};
  return { system: [...blocks.slice(0, -1), { ...last, cache_control: mark }] };
}

const readBlocks = (value: Json | undefined): readonly JsonObject[] => (isArray(value) ? value : []).filter(isObject);

const hasMark = (blocks: readonly JsonObject[]): boolean =>
  blocks.some((block) => isObject(field(block, "cache_control")));

/** How a request is marked whose list was edited. */
export interface EditedMarks {
  readonly list: readonly (BodyElement | Uint8Array)[];
  readonly fields: FieldChanges;
  /** Marks of tools go first: the one at the end of the system prompt covers them. */
  readonly tools: "kept" | "dropped";
}

/**
 * Marks of the Messages API after an edit of the list. The provider finds what it holds only near a mark, and the client's
 * stand at the end: what is unchanged before the cut would be written again. So the list is marked where the context plans
 * it, for the client's lifetime, and the client's other marks make way if there are more than four. Undefined if the client
 * marks something else than its list: then it wants the list uncached.
 */
export function editedMarks(
  body: RequestBody,
  { written, elements }: { readonly written: readonly WrittenMessage[]; readonly elements: readonly BodyElement[] },
): EditedMarks | undefined {
  const lifetime = listLifetime(body, elements);
  if (lifetime === undefined) return undefined;
  const system = readSystemBlocks(body);
  const { tools, marked } = { tools: countMarked(readBlocks(body.field("tools"))), marked: countMarked(system) };
  const added = marked + tools === 0 ? systemMark(body, 0) : {};
  const headerMarks = marked + tools + (added["system"] === undefined ? 0 : 1);
  const listMarksMax = headerMarks === 0 ? cacheMarksMax : cacheMarksMax - 1;
  const planned = written.flatMap(({ marks }, at) => marks.map((one) => ({ at, block: one.block, lifetime })));
  const chosen = planned.slice(-listMarksMax);
  const spare = cacheMarksMax - chosen.length;
  const systemChange = marked > spare ? { system: keepLastMarks(system, spare) } : added;
  return {
    list: written.map(({ value, given }, at) => {
      const marks = chosen.filter((one) => one.at === at);
      const element = given === undefined ? undefined : elements[given];
      return element === undefined ? encode(replaceMarks(value, marks)) : markElement(element, marks);
    }),
    fields: { ...systemChange, ...(isObject(body.field("cache_control")) ? { cache_control: undefined } : {}) },
    tools: tools > 0 && marked + tools > spare ? "dropped" : "kept",
  };
}

const encode = (value: JsonObject): Uint8Array => Buffer.from(wellFormedJson(value));

/** The lifetime of the newest mark of the list; five minutes if the client marks nothing. */
function listLifetime(body: RequestBody, elements: readonly BodyElement[]): Lifetime | undefined {
  if (countMarks(body.bytes) === 0) return "5m";
  const automatic = body.field("cache_control");
  const newest = isObject(automatic)
    ? automatic
    : elements
        .toReversed()
        .flatMap(({ value }) => listField(value, "content"))
        .map((block) => (isObject(block) ? field(block, "cache_control") : undefined))
        .find(isObject);
  if (newest === undefined) return undefined;
  return textField(newest, "ttl") === "1h" ? "1h" : "5m";
}

const readSystemBlocks = (body: RequestBody): readonly JsonObject[] => readBlocks(body.field("system"));

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
function markElement(element: BodyElement, marks: readonly OutgoingMark[]): BodyElement | Uint8Array {
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
