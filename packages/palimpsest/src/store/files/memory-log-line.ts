import { z } from "zod";
import { entryId, memoryHash, type MemoryHash, memoryRevisionId, millis, sessionId } from "../../schema/brand.ts";
import { tryParseJson } from "../../schema/json.ts";
import { memoryDeltaCharsMin } from "../limits.ts";

/** What differs from an earlier text: it begins and ends with so many characters of that one. */
export interface TextDelta {
  readonly base: MemoryHash;
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A text as a line of the history holds it. Most revisions add a line to a long text, so they hold only that. */
export type StoredText = string | TextDelta;

/** The whole text if a difference would not be much shorter. */
export function storeText(text: string, base: { readonly hash: MemoryHash; readonly text: string }): StoredText {
  const shorter = Math.min(text.length, base.text.length);
  let start = 0;
  while (start < shorter && text.charCodeAt(start) === base.text.charCodeAt(start)) start += 1;
  let end = 0;
  while (end < shorter - start && text.at(-1 - end) === base.text.at(-1 - end)) end += 1;
  if (start + end < Math.max(memoryDeltaCharsMin, text.length / 2)) return text;
  return { base: base.hash, start, end, text: text.slice(start, text.length - end) };
}

export const restoreText = (base: string, { start, end, text }: TextDelta): string =>
  base.slice(0, start) + text + base.slice(base.length - end);

const hashShape = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .transform(memoryHash);
const revisionIdShape = z
  .string()
  .regex(/^r\d{1,15}$/)
  .transform(memoryRevisionId);
const timeShape = z.number().transform(millis);
const countShape = z.int().min(0);

const provenanceShape = z.object({
  session: z.string().transform(sessionId).optional(),
  messages: z.array(z.string().transform(entryId)).optional(),
  at: timeShape,
  trust: z.enum(["trusted", "untrusted"]),
  derivedFrom: z.array(z.object({ path: z.string(), revision: revisionIdShape })).optional(),
  importedFrom: z.string().optional(),
  client: z.string().optional(),
});

const storedTextShape = z.union([
  z.string(),
  z.object({ base: hashShape, start: countShape, end: countShape, text: z.string() }),
]);

const lineShape = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("revision"),
    id: revisionIdShape,
    at: timeShape,
    author: z.enum(["agent", "extraction", "dream", "user"]),
    provenance: provenanceShape,
    message: z.string(),
    changes: z.array(
      z.object({
        path: z.string(),
        before: hashShape.optional().transform((hash) => hash),
        after: hashShape.optional().transform((hash) => hash),
        provenance: provenanceShape.optional(),
      }),
    ),
    texts: z.record(hashShape, storedTextShape),
  }),
  z.object({ kind: z.literal("applied"), id: revisionIdShape }),
  z.object({ kind: z.literal("purged"), last: revisionIdShape }),
  z.object({ kind: z.literal("checked") }),
]);
const headShape = z.object({ log: z.string() });

type LogLine = z.infer<typeof lineShape> | { readonly kind: "head" } | { readonly kind: "unreadable" };

/** `unreadable`: it is damaged, or a newer version wrote it. It may have said that something is untrusted. */
export function parseLogLine(line: string): LogLine {
  const json = tryParseJson(line);
  const parsed = lineShape.safeParse(json);
  if (parsed.success) return parsed.data;
  return { kind: headShape.safeParse(json).success ? "head" : "unreadable" };
}
