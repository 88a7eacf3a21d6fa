import { z } from "zod";
import type { Memories, MemoryAuthor, MemoryChange, MemoryProvenance } from "../../ports/memories.ts";
import { findJson } from "../../schema/find-json.ts";
import { field, isArray, isObject, type Json } from "../../schema/json.ts";
import { appliedWritesMax } from "./limits.ts";
import { checkMemoryPath } from "./memory-path.ts";
import { formatMemory, memoryTypes } from "./memory-text.ts";

interface ApplyWritesDeps {
  /** A draft: nothing is written to a directory from here. */
  readonly memories: Memories;
  readonly author: MemoryAuthor;
  /** Where a text comes from that is to be written; it also tells whether it is to be trusted. */
  readonly provenance: (text: string) => MemoryProvenance;
}

export interface AppliedWrite {
  readonly path: string;
  readonly change: "saved" | "deleted";
}

export interface RefusedWrite {
  /** As it was given. Empty if there was none. */
  readonly path: string;
  /** One line. */
  readonly why: string;
}

export type ApplyWritesOutcome =
  /** `answer`: the whole JSON value, for what it says besides the changes. */
  | {
      readonly kind: "applied";
      readonly applied: readonly AppliedWrite[];
      readonly refused: readonly RefusedWrite[];
      readonly answer: Json;
    }
  /** There is no list of changes in the answer. `message`: one line. */
  | { readonly kind: "unreadable"; readonly message: string };

/** Written to a file whole: with its front matter as `text`, or in fields from which the front matter is made. */
const writeShape = z.union([
  z.object({ path: z.string(), delete: z.literal(true) }),
  z.object({ path: z.string(), text: z.string().min(1) }),
  z.object({
    path: z.string(),
    name: z.string().min(1),
    description: z.string(),
    type: z.enum(memoryTypes),
    body: z.string().min(1),
  }),
]);
type Write = z.infer<typeof writeShape>;

/**
 * Applies what a fork without a memory tool answered: a JSON list of changes, alone or as `changes` of an object. Each is
 * applied or refused by itself; nothing is applied of an answer that can't be read. Must not reject.
 *
 *   { "path": "x.md", "text": "…" }                                   the whole file
 *   { "path": "x.md", "name", "description", "type", "body" }         the same, with front matter made of the fields
 *   { "path": "x.md", "delete": true }
 */
export async function applyWrites(deps: ApplyWritesDeps, answer: string): Promise<ApplyWritesOutcome> {
  const value = findJson(answer);
  const list = isArray(value) ? value : isObject(value) ? field(value, "changes") : undefined;
  if (value === undefined || !isArray(list))
    return { kind: "unreadable", message: "The answer has no JSON list of changes." };
  const applied: AppliedWrite[] = [];
  const refused: RefusedWrite[] = [];
  for (const [at, item] of list.entries()) {
    const outcome = at < appliedWritesMax ? await applyWrite(deps, item) : refuse(readPath(item), tooMany);
    if ("why" in outcome) refused.push(outcome);
    else applied.push(outcome);
  }
  return { kind: "applied", applied, refused, answer: value };
}

const tooMany = `One answer changes at most ${appliedWritesMax} memories.`;

async function applyWrite(deps: ApplyWritesDeps, item: Json): Promise<AppliedWrite | RefusedWrite> {
  const given = readPath(item);
  const read = writeShape.safeParse(item);
  if (!read.success) return refuse(given, "It needs a path and a text, or a path and delete.");
  const checked = checkMemoryPath(given.replace(/^\/memories\//, ""));
  if (checked.kind === "wrong") return refuse(given, checked.message);
  const { path } = checked;
  const before = await deps.memories.read(path);
  const text = writtenText(read.data);
  if (text === undefined && before === undefined) return refuse(given, `${path} does not exist.`);
  const change: MemoryChange = { path, expected: before?.hash ?? "absent", text };
  const { memories, author, provenance } = deps;
  const message = `${text === undefined ? "delete" : "write"} ${path}`;
  const outcome = await memories.commit({ author, provenance: provenance(text ?? ""), message, changes: [change] });
  switch (outcome.kind) {
    case "committed":
    case "unchanged":
      return { path, change: text === undefined ? "deleted" : "saved" };
    case "refused":
      return refuse(given, `It looks like a secret (${outcome.secrets.map(({ kind }) => kind).join(", ")}).`);
    case "conflict":
      return refuse(given, `${path} was changed by someone else.`);
    case "busy":
      return refuse(given, `The memories are being written by ${outcome.holder}.`);
    case "invalid":
    case "failed":
      return refuse(given, outcome.message);
  }
}

function writtenText(write: Write): string | undefined {
  if ("delete" in write) return undefined;
  return "text" in write ? `${write.text.trimEnd()}\n` : formatMemory(write);
}

function readPath(item: Json): string {
  const path = isObject(item) ? field(item, "path") : undefined;
  return typeof path === "string" ? path : "";
}

const refuse = (path: string, why: string): RefusedWrite => ({ path, why });
