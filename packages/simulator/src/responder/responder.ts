import type { Millis } from "palimpsest/internal/schema/brand";
import type { JsonObject } from "palimpsest/internal/schema/json";
import type { StopReason } from "palimpsest/internal/schema/wire/reply-message";
import type { MessagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import type { Fault } from "../fault/fault.ts";
import type { Random } from "../random.ts";
import type { Refusal } from "../refusal.ts";

/**
 * Produces the replies of a simulator. It gets a request that has passed validation and returns what the model would
 * say.
 */
export interface Responder {
  readonly name: string;
  /** Returns a reply with one move. If it throws, the client gets a 500 with the error. */
  respond(input: RespondInput): PlannedReply | Promise<PlannedReply>;
}

export interface RespondInput {
  /** As the model is shown it, without what the server cleared, compacted or hides. */
  readonly request: MessagesRequest;
  /** `compaction`: the server wants a summary of the conversation for its own use; the last message says how. */
  readonly purpose: "reply" | "compaction";
  /** Deterministic for the simulator's seed and the number of the request. */
  readonly random: Random;
  readonly now: Millis;
}

export interface PlannedReply {
  readonly move: Move;
  readonly fault?: Fault;
  /** Called if this reply's fault is the one that strikes. If the request brings a fault of its own, this one waits. */
  readonly faulted?: () => void;
  /** Called with the ids of the reply's calls before it is sent. */
  readonly called?: (ids: readonly string[]) => void;
  /**
   * Called once the reply has reached the client whole: only then is a scripted move spent, so that a retry gets it
   * again.
   */
  readonly delivered?: () => void;
  /** Called instead if it did not (a fault, a broken stream, a client that left), before the connection is closed. */
  readonly lost?: () => void;
}

export type Move =
  | {
      readonly kind: "say";
      readonly blocks: readonly MoveBlock[];
      /** If absent, it follows from the blocks: `tool_use` if they call a tool, else `end_turn`. */
      readonly stop?: StopReason;
      /** Wait before the reply begins. */
      readonly delayMs?: Millis;
      /** Pause between two events of a stream. */
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
      /** Made by the simulator if it is absent. */
      readonly id?: string;
      /** What a stream carries instead of the input's JSON, for input that no parser accepts. */
      readonly rawInput?: string;
    };

const plannedReplyExample = '{ move: { kind: "say", blocks: [{ type: "text", text: "Hello" }] } }';

/**
 * Responders are code of the user: throws if no reply can be made of what one returned, and says what is wrong with it.
 */
export function checkPlannedReply(reply: unknown): asserts reply is PlannedReply {
  const move = readField(reply, "move");
  if (move === undefined) throw new TypeError(`respond returned no reply; a reply is ${plannedReplyExample}`);
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

/**
 * Hands out slots in order: waiting → in progress → spent, or back to waiting if the reply was lost. A lost slot is
 * handed out again before any new one, so that a retry gets the same move; a request that comes while it is in progress
 * gets the next. A client may keep the calls of a broken stream: a lost slot whose calls come back is spent.
 */
export class RetryQueue<Slot> {
  readonly #lost: QueuedSlot<Slot>[] = [];
  #issued = 0;

  /** Spends lost slots whose calls are in the request, and returns them. */
  settle({ messages }: Pick<MessagesRequest, "messages">): readonly Slot[] {
    if (!this.#lost.some(({ callIds }) => callIds.length > 0)) return [];
    const sentBack = listCallIds(messages);
    const returned = this.#lost.filter(({ callIds }) => callIds.some((id) => sentBack.has(id)));
    for (const queued of returned) this.#lost.splice(this.#lost.indexOf(queued), 1);
    return returned.map(({ slot }) => slot);
  }

  /** `next` is called only if no lost slot waits. */
  issue(next: () => Slot): IssuedSlot<Slot> {
    const queued = this.#lost.shift() ?? { number: this.#issued++, slot: next(), callIds: [] };
    let open = true;
    return {
      slot: queued.slot,
      called: (ids) => {
        queued.callIds = ids;
      },
      delivered: () => {
        open = false;
      },
      lost: () => {
        if (open) this.#requeue(queued);
        open = false;
      },
    };
  }

  #requeue(queued: QueuedSlot<Slot>): void {
    const later = this.#lost.findIndex(({ number }) => number > queued.number);
    this.#lost.splice(later === -1 ? this.#lost.length : later, 0, queued);
  }
}

interface QueuedSlot<Slot> {
  readonly number: number;
  readonly slot: Slot;
  /** Of the last try. */
  callIds: readonly string[];
}

const listCallIds = (messages: MessagesRequest["messages"]): ReadonlySet<string> =>
  new Set(
    messages.flatMap(({ content }) =>
      typeof content === "string" ? [] : content.flatMap((block) => (block.type === "tool_use" ? [block.id] : [])),
    ),
  );

/** Only the first of `delivered` and `lost` counts. */
interface IssuedSlot<Slot> {
  readonly slot: Slot;
  readonly called: (ids: readonly string[]) => void;
  readonly delivered: () => void;
  readonly lost: () => void;
}
