import { field, isArray, isObject, type Json, type JsonObject, textField } from "palimpsest/internal/schema/json";
import type { RequestBody } from "../body/request-body.ts";
import type { FieldChanges } from "../body/write-body.ts";
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
