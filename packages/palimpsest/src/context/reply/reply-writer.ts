import type { WriteFailure } from "../../ports/blobs.ts";
import type { ModelEvent } from "../../ports/model.ts";
import type { Block, ToolUseBlock } from "../../schema/block.ts";
import { type EntryId, type MessageId, messageId } from "../../schema/brand.ts";
import type { JsonObject } from "../../schema/json.ts";
import { replyDraft } from "../../transcript/draft.ts";
import type { Conversation } from "../conversation.ts";
import type { Line } from "../line.ts";
import type { UsedIds } from "./used-ids.ts";

/**
 * Puts one reply into the transcript block by block, each as an entry of its own. The newest block is held back until the
 * next one is there or the reply ends, so that the last entry carries the final usage.
 */
export class ReplyWriter {
  readonly #line: Line;
  readonly #ids: UsedIds;
  readonly #asked: string | undefined;
  readonly #calls: ReplyCall[] = [];
  #start: { readonly id: MessageId; readonly model: string; readonly usage: JsonObject } | undefined;
  #usage: JsonObject | undefined;
  #held: Held | undefined;
  #written = 0;
  readonly #branchesAt: EntryId | null | undefined;
  #follows: EntryId | null = null;

  /** `branchesAt`: `againAt` of the try before. Absent: it goes on at the leaf, also where something was noted since it was asked for. */
  constructor({ line, ids, baseline }: Writing, branchesAt?: EntryId | null) {
    this.#line = line;
    this.#ids = ids;
    this.#asked = baseline?.model;
    this.#branchesAt = branchesAt;
  }

  /** The entry behind which another try begins, beside what came of this one; null at the very beginning. Undefined where nothing came. */
  get againAt(): EntryId | null | undefined {
    return this.#written === 0 ? this.#branchesAt : this.#follows;
  }

  get id(): MessageId {
    return this.#start?.id ?? messageId("");
  }

  /** Of a reply that no entry tells of: what the provider counted last. Undefined where there is an entry, or no reply began. */
  get unwrittenUsage(): JsonObject | undefined {
    return this.#written === 0 ? this.#usage : undefined;
  }

  /** Of the blocks on disk. */
  get calls(): readonly ReplyCall[] {
    return this.#calls;
  }

  start({ id, model, usage }: Extract<ModelEvent, { kind: "reply-start" }>): void {
    this.#start = { id: this.#ids.reply(id), model, usage };
    this.#usage = usage;
  }

  async block({ block, flawed }: Extract<ModelEvent, { kind: "block-end" }>): Promise<WriteFailure | undefined> {
    const before = this.#held;
    this.#held = { block: block.type === "tool_use" ? { ...block, id: this.#ids.call(block.id) } : block, flawed };
    return before === undefined ? undefined : this.#write(before);
  }

  async end({ usage, stopReason }: Extract<ModelEvent, { kind: "reply-end" }>): Promise<WriteFailure | undefined> {
    const last = this.#held;
    this.#held = undefined;
    this.#usage = usage;
    return last === undefined ? undefined : this.#write(last, { usage, stop_reason: stopReason });
  }

  /** The reply ends here, whole or not: a block that came whole is kept. */
  async keep(): Promise<WriteFailure | undefined> {
    const last = this.#held;
    this.#held = undefined;
    return last === undefined ? undefined : this.#write(last);
  }

  async #write({ block, flawed }: Held, final: Final = {}): Promise<WriteFailure | undefined> {
    const start = this.#start;
    if (start === undefined) throw new Error("a block of a reply that has not begun");
    const draft = replyDraft({ ...start, asked: this.#asked, content: [block], ...final });
    const branchesAt = this.#written === 0 ? this.#branchesAt : undefined;
    if (this.#written === 0) this.#follows = branchesAt === undefined ? this.#line.leaf : branchesAt;
    const appended = await (branchesAt === undefined
      ? this.#line.append(draft)
      : this.#line.appendInstead(branchesAt, draft));
    if (appended.kind === "failed") return appended;
    this.#written += 1;
    if (block.type === "tool_use") this.#calls.push({ call: block, flawed });
    return undefined;
  }
}

type Writing = Pick<Conversation, "line" | "ids"> & { readonly baseline?: Pick<Conversation["baseline"], "model"> };

/** A call as it stands in the transcript. */
export interface ReplyCall {
  readonly call: ToolUseBlock;
  /** Why its input could not be read. */
  readonly flawed: string | undefined;
}

interface Held {
  readonly block: Block;
  readonly flawed: string | undefined;
}

interface Final {
  readonly usage?: JsonObject;
  readonly stop_reason?: string;
}
