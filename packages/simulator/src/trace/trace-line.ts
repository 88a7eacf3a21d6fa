import { z } from "zod";
import { anyJson } from "palimpsest/internal/schema/any-json";
import { extension } from "../extension.ts";
import type { Level } from "palimpsest/internal/cache/prompt";

/**
 * The lines of a trace, one JSON value per line:
 *
 *   trace                      once, first
 *   block                      content of a block, before the first request that has it
 *   request                    its blocks are the first `shared` of request `base`, then `added`
 *   reply                      at the end of request `n`, perhaps after later requests
 *
 * Positions count a request's blocks from 0.
 */
export const traceVersion = 1;

const count = z.int().nonnegative();
const lifetime = z.enum(["5m", "1h"]);
const level = z.enum(["tools", "system", "messages"]);
const object = z.record(z.string(), anyJson);

const headLine = z.object({
  type: z.literal("trace"),
  version: z.literal(traceVersion),
  seed: z.number(),
  startedAt: z.iso.datetime(),
});

const blockLine = z.object({
  type: z.literal("block"),
  hash: z.string(),
  /** The level at which it was first seen. */
  level,
  blockType: z.string(),
  tokens: count,
  /** Without its marker. If it was cut: the beginning of its JSON, as a string. */
  value: anyJson,
  cut: z.object({ ofChars: count }).optional(),
});

const requestLine = z.object({
  type: z.literal("request"),
  n: count,
  id: z.string(),
  at: z.iso.datetime(),
  workspace: z.string(),
  model: z.string(),
  endpoint: z.string(),
  betas: z.array(z.string()),
  /** The body without model, tools, system and messages. */
  params: object,
  /**
   * What determines the cache besides the blocks, by the level from which on it matters. Absent, like all of `blocks`,
   * if the request was refused early.
   */
  salts: z.record(level, z.string()).optional(),
  blocks: z.object({
    base: count.nullable(),
    shared: count,
    /** Hash, tokens, path, and the level if the path does not say it. */
    added: z.array(z.tuple([z.string(), count, z.string(), level.optional()])),
    /** Positions of all breakpoints, including those on shared blocks: markers move, blocks do not. */
    marks: z.array(z.tuple([count, lifetime])),
  }),
  cache: z
    .object({
      hit: count.nullable(),
      breakpoints: z.array(
        z.object({
          at: count,
          found: z.object({ at: count, lifetime }).nullable(),
          outcome: z.enum(["read", "written", "not_written", "below_minimum"]),
        }),
      ),
    })
    .optional(),
  /** In the format of `formatFault`. */
  faults: z.array(z.string()),
});

const usage = z.looseObject({
  input_tokens: count,
  cache_creation_input_tokens: count,
  cache_read_input_tokens: count,
  cache_creation: z.object({ ephemeral_5m_input_tokens: count, ephemeral_1h_input_tokens: count }),
  output_tokens: count,
});

const split = z.object({
  inputTokens: count,
  cacheReadTokens: count,
  cacheWrite5mTokens: count,
  cacheWrite1hTokens: count,
});

const usd = z.number().nonnegative();
const usdByKind = z.object({ input: usd, cacheWrite5m: usd, cacheWrite1h: usd, cacheRead: usd, output: usd });

const appliedEdit = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("clear_tool_uses_20250919"),
    cleared_tool_uses: count,
    cleared_input_tokens: count,
  }),
  z.object({
    type: z.literal("clear_thinking_20251015"),
    cleared_thinking_turns: count,
    cleared_input_tokens: count,
  }),
]);

const replyLine = z.object({
  type: z.literal("reply"),
  n: count,
  status: count,
  outcome: z.enum(["delivered", "broken", "refused"]),
  beganAt: z.iso.datetime().optional(),
  messageId: z.string().optional(),
  stopReason: z.string().nullish(),
  /**
   * As reported to the client, which a fault may have made wrong; `split` is what was billed. For the OpenAI API,
   * writes for 30 minutes are listed under five minutes and writes for 12 hours under one hour.
   */
  usage: usage.optional(),
  split: split.optional(),
  /** If the server compacted: everything that was billed; `split` is that of the first. */
  iterations: z.array(z.object({ type: z.enum(["message", "compaction"]), split, outputTokens: count })).optional(),
  costUsd: usd.optional(),
  costUsdByKind: usdByKind.optional(),
  pricesUsdPerMTok: usdByKind.optional(),
  content: z.array(anyJson).optional(),
  diagnostics: anyJson.optional(),
  ...extension.trace.shape,
  /** What the server removed from the conversation before the model saw it. */
  appliedEdits: z.array(appliedEdit).optional(),
  inputTokens: count.optional(),
  error: z.object({ type: z.string(), message: z.string() }).optional(),
});

export const traceLine = z.discriminatedUnion("type", [headLine, blockLine, requestLine, replyLine]);

export type TraceLine = Readonly<z.infer<typeof traceLine>>;
export type HeadLine = Readonly<z.infer<typeof headLine>>;
export type BlockLine = Readonly<z.infer<typeof blockLine>>;
export type RequestLine = Readonly<z.infer<typeof requestLine>>;
export type ReplyLine = Readonly<z.infer<typeof replyLine>>;

/** In the order of the prompt: a change at one level breaks all later ones. */
export const levels: readonly Level[] = ["tools", "system", "messages"];

/** The level by the path. For the cache a block may be at another one: web tools are at the system level. */
export function pathLevel(path: string): Level | undefined {
  const [first] = path.split(".");
  return levels.find((one) => one === first);
}
