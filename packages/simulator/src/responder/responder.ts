import type { Millis } from "palimpsest/internal/schema/brand";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { StopReason } from "palimpsest/internal/schema/wire/reply-message";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import type { Fault } from "../fault/fault.ts";
import type { Random } from "../random.ts";
import type { Refusal } from "../refusal.ts";

/** Who answers behind the simulator. It sees a request that has passed validation and says what the model would say. */
export interface Responder {
  readonly name: string;
  /** A take with one move; what it throws is told to the client as a 500. */
  respond(scene: RespondInput): PlannedReply | Promise<PlannedReply>;
}

export interface RespondInput {
  /** As the model is shown it: what the server cleared, compacted or hides is not in it. */
  readonly request: MessagesRequest;
  /** `compaction`: the server wants a summary of the conversation for itself, in the last message's words. */
  readonly purpose: "reply" | "compaction";
  /** Deterministic for the simulator's seed and the number of the request. */
  readonly random: Random;
  readonly now: Millis;
}

export interface PlannedReply {
  readonly move: Move;
  readonly fault?: Fault;
  /** Called where this take's fault is the one that happens: a request may bring one of its own, and then this waits. */
  readonly faulted?: () => void;
  /** Called once the reply has reached the client whole: only then is a scripted move spent, so that a retry gets it again. */
  readonly delivered?: () => void;
  /** Called instead where it did not (a fault, a broken stream, a client that left), before the connection is closed. */
  readonly lost?: () => void;
}

export type Move =
  | {
      readonly kind: "say";
      readonly blocks: readonly MoveBlock[];
      /** Told by the blocks where it is absent: `tool_use` if they call a tool, else `end_turn`. */
      readonly stop?: StopReason;
      /** Before the reply begins. */
      readonly delayMs?: Millis;
      /** Between two events of a stream. */
      readonly pauseMs?: Millis;
    }
  | { readonly kind: "refuse"; readonly refusal: Refusal };

export type MoveBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly thinking: string }
  | { readonly type: "redacted_thinking"; readonly thinking: string }
  | {
      readonly type: "tool_use";
      readonly name: string;
      readonly input: JsonObject;
      /** Made by the simulator where it is absent. */
      readonly id?: string;
      /** What a stream carries instead of the input's JSON: for input that no parser takes. */
      readonly rawInput?: string;
    };

const plannedReplyExample = '{ move: { kind: "say", blocks: [{ type: "text", text: "Hello" }] } }';

/** Actors are other people's code: throws on a take that no reply can be made of, and says what is wrong with it. */
export function checkPlannedReply(take: unknown): asserts take is PlannedReply {
  const move = readField(take, "move");
  if (move === undefined) throw new TypeError(`play gave no take, which is ${plannedReplyExample}`);
  const kind = readField(move, "kind");
  if (kind === "refuse" && readField(move, "refusal") !== undefined) return;
  if (kind === "refuse") throw new TypeError("a move that refuses needs a `refusal`");
  if (kind !== "say") throw new TypeError(`a move's kind is say or refuse, not ${String(kind)}`);
  const blocks = readField(move, "blocks");
  if (!Array.isArray(blocks))
    throw new TypeError(`a move that says something needs a list of blocks: ${plannedReplyExample}`);
  for (const [at, block] of blocks.entries()) checkBlock(block, at);
}

const textByType: Readonly<Record<MoveBlock["type"], string>> = {
  text: "text",
  thinking: "thinking",
  redacted_thinking: "thinking",
  tool_use: "name",
};

function checkBlock(block: unknown, at: number): void {
  const type = readField(block, "type");
  if (typeof type !== "string" || !isBlockType(type))
    throw new TypeError(`blocks[${at}].type is one of ${Object.keys(textByType).join(", ")}, not ${String(type)}`);
  const name = textByType[type];
  if (typeof readField(block, name) !== "string") throw new TypeError(`blocks[${at}].${name} must be a text`);
  const input = type === "tool_use" ? readField(block, "input") : {};
  if (typeof input !== "object" || input === null) throw new TypeError(`blocks[${at}].input must be an object`);
}

const isBlockType = (type: string): type is MoveBlock["type"] => Object.hasOwn(textByType, type);

const readField = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;

/** What follows once all moves are spent: an echo, everything from the start, or a text that says so. */
export const afterModes = ["echo", "repeat", "end"] as const;
export type AfterMode = (typeof afterModes)[number];

/** `what`: "The scenario …", "The recording". */
export const endOfScriptMove = (what: string): Move => ({
  kind: "say",
  blocks: [{ type: "text", text: `${what} is over: it has no further reply.` }],
});
