import {
  type EntryId,
  entryId,
  type MessageId,
  type Millis,
  millis,
  type ToolUseId,
} from "palimpsest/internal/schema/brand";
import type { AssistantEntry, Entry } from "palimpsest/internal/schema/entry";
import { Fold } from "palimpsest/internal/transcript/fold";
import { userTypedText } from "palimpsest/internal/transcript/user-text";
import { firstUserLine, interruptedText } from "palimpsest/internal/transcript/repair";
import type { RecordedRound } from "./recording.ts";
import { untimedGapMillis } from "../limits.ts";
import type { SaidEntry, UncutEntry } from "./uncut-path.ts";

/** A round before its tokens are known. */
export interface BareRound extends Omit<RecordedRound, "outputTokens"> {
  readonly model: string | undefined;
  /** `plainly`: since the previous request, the context only grew by what is logged. */
  readonly grew: "plainly" | "cut";
}

/** A user message for a reply without a logged cause, because the API refuses a request that ends with the assistant. */
export const unloggedText = "[What led to the next reply is not in the log.]";

/**
 * Splits a conversation into rounds whose entries form one new chain of parents. Every request can be sent: calls without a
 * result are answered by a repair, and between two replies without a message a placeholder is inserted.
 */
export function splitRounds(uncut: readonly UncutEntry[]): BareRound[] {
  const chain = new EntryChain(new Set(uncut.flatMap(({ entry }) => entry.id ?? [])));
  const rounds: BareRound[] = [];
  const counted = new Set<MessageId>();
  let at = millis(0);
  for (const [index, drafted] of draftRounds(uncut).entries()) {
    const added = drafted.before.map((entry) => chain.add(entry));
    const before = [...added, ...chain.settle()];
    const sincePreviousRequest = [...(rounds.at(-1)?.reply ?? []), ...before];
    at = requestTime(sincePreviousRequest, index === 0 ? undefined : at);
    const reply = drafted.reply.map((entry) => chain.add(entry));
    const largest = reply.reduce((a, b) => ((b.usage?.output ?? -1) > (a.usage?.output ?? -1) ? b : a));
    rounds.push({
      at,
      before,
      reply,
      opens: before.some((entry) => userTypedText(entry) !== undefined) ? "turn" : "nothing",
      // If a reply continues after another one, its usage was already counted with its beginning.
      usage: largest.messageId !== undefined && counted.has(largest.messageId) ? undefined : largest.usage,
      model: largest.model,
      grew: drafted.grew,
    });
    if (largest.messageId !== undefined) counted.add(largest.messageId);
  }
  return rounds;
}

interface DraftRound {
  readonly before: SaidEntry[];
  readonly reply: [AssistantEntry, ...AssistantEntry[]];
  grew: BareRound["grew"];
}

/** The recording ends with the last reply; later entries led to none and are dropped. */
function draftRounds(uncut: readonly UncutEntry[]): DraftRound[] {
  const drafts: DraftRound[] = [];
  let before: SaidEntry[] = [];
  let grew: BareRound["grew"] = "plainly";
  for (const { entry, follows } of uncut) {
    if (follows === "cut") grew = "cut";
    const last = drafts.at(-1);
    if (entry.kind !== "assistant") before.push(entry);
    else if (last !== undefined && isSameReply(last.reply[0], entry)) last.reply.push(entry);
    else {
      drafts.push({ before, reply: [entry], grew });
      before = [];
      grew = "plainly";
    }
  }
  return drafts;
}

const isSameReply = (a: AssistantEntry, b: AssistantEntry): boolean =>
  a.messageId !== undefined && a.messageId === b.messageId;

/** Times never decrease. `before`: when the previous request was sent; undefined for the first. */
function requestTime(entries: readonly Entry[], before: Millis | undefined): Millis {
  const times = entries.flatMap(({ timestamp }) => {
    const time = timestamp === undefined ? Number.NaN : Date.parse(timestamp);
    return Number.isNaN(time) ? [] : [time];
  });
  if (times.length > 0) return millis(Math.max(before ?? 0, ...times));
  return before === undefined ? millis(0) : millis(before + untimedGapMillis);
}

/** Builds the chain of entries and folds it on the way, because only the fold knows what a request still lacks. */
class EntryChain {
  readonly #fold = new Fold();
  readonly #taken: Set<EntryId>;
  #last: EntryId | undefined;
  #length = 0;

  constructor(taken: ReadonlySet<EntryId>) {
    this.#taken = new Set(taken);
  }

  add<Added extends SaidEntry>(entry: Added): Added {
    const id = entry.id ?? this.#freshId("entry");
    const placed = { ...entry, id, parent: this.#last ?? null, logicalParent: undefined, sidechain: false };
    this.#last = id;
    this.#fold.append({ entry: placed, start: this.#length, end: this.#length });
    this.#length += 1;
    return placed;
  }

  /** Adds and returns the entries that the next request still needs before it can be sent. */
  *settle(): Generator<SaidEntry> {
    const open = [...this.#fold.openCalls];
    if (open.length > 0) yield this.add(this.#repair(open));
    const next = this.#fold.next();
    if (next.kind === "sendable") return;
    yield this.add(this.#userEntry(this.#length === 0 ? firstUserLine : unloggedText));
  }

  #repair(open: readonly ToolUseId[]): SaidEntry {
    const results = open.map((toolUse) => ({ toolUse, shown: interruptedText }));
    return { kind: "edit", ...this.#envelope("repair"), edit: { type: "repair", results } };
  }

  #userEntry(text: string): SaidEntry {
    const blocks = [{ type: "text", text } as const];
    return {
      kind: "user",
      ...this.#envelope("said"),
      blocks,
      meta: true,
      summary: false,
      server: undefined,
      readFile: undefined,
      resultSummary: undefined,
    };
  }

  #envelope(name: string) {
    return { id: this.#freshId(name), parent: null, logicalParent: undefined, sidechain: false, timestamp: undefined };
  }

  #freshId(name: string): EntryId {
    for (let n = this.#length; ; n += 1) {
      const id = entryId(`${name}-${n}`);
      if (this.#taken.has(id)) continue;
      this.#taken.add(id);
      return id;
    }
  }
}
