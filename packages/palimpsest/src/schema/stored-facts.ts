import { z } from "zod";
import type { EntryId, ToolUseId } from "./brand.ts";
import { anyJson } from "./any-json.ts";

/**
 * The facts of a path as a checkpoint stores them: all but people's messages, which stand in the log and are listed by
 * place, and what follows from the rest (the last request, the last error).
 */
const listOf = <Shape extends z.ZodType>(shape: Shape) => z.array(shape).readonly();
const entry = z.string().transform((text) => text as EntryId);
const toolUse = z.string().transform((text) => text as ToolUseId);

const file = z.object({ path: z.string(), entry });
const words = z.object({ text: z.string(), entry });
const todo = z.object({ text: z.string(), status: z.string(), entry, task: z.string().exactOptional() });

const outcome = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("done") }),
  z.object({ kind: z.literal("failed"), line: z.string(), exitCode: z.number().exactOptional() }),
  z.object({ kind: z.literal("refused") }),
  z.object({ kind: z.literal("not-run") }),
  z.object({ kind: z.literal("unanswered") }),
]);

const subject = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("file"), act: z.enum(["read", "write"]), paths: listOf(z.string()) }),
  z.object({ kind: z.literal("command"), command: z.string() }),
  z.object({ kind: z.literal("tool") }),
]);

const error = z.object({
  text: z.string(),
  of: z.string(),
  key: z.string(),
  entry,
  isOpen: z.boolean(),
  isPassing: z.literal(true).exactOptional(),
});

const looseEnds = z.object({
  waiting: listOf(z.object({ id: toolUse, name: z.string(), entry, subject, input: z.record(z.string(), anyJson) })),
  commandCalls: listOf(z.string()),
  tasks: listOf(todo),
  reply: z.string().exactOptional(),
  awaits: z.enum(["reply", "results", "nothing"]),
});

export const storedFactsShape = z.object({
  filesModified: listOf(file),
  filesRead: listOf(file),
  commands: listOf(z.object({ command: z.string(), entry, outcome })),
  errors: listOf(error),
  openTodos: listOf(todo),
  lastReply: words.optional(),
  decisions: listOf(z.object({ question: z.string(), answer: z.string(), entry })),
  plan: words.optional(),
  tools: listOf(z.object({ name: z.string(), calls: z.number() })),
  looseEnds: looseEnds.exactOptional(),
});

export type StoredFacts = z.infer<typeof storedFactsShape>;
