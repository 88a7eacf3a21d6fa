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
  /** `plainly`: since the request before, the context did nothing but grow by what is logged. */
  readonly grew: "plainly" | "cut";
}

/** What led to a reply where the log does not say: the API takes no request that ends with the assistant. */
export const unloggedText = "[What led to the next reply is not in the log.]";

/**
 * The rounds of a conversation, in one line of fresh parents. Every request can be sent: calls that nothing answered are
 * answered by a repair, and where the assistant spoke twice a line stands for what was not logged between.
 */
export function splitRounds(uncut: readonly UncutEntry[]): BareRound[] {
  const line = new EntryChain(new Set(uncut.flatMap(({ entry }) => entry.id ?? [])));
  const rounds: BareRound[] = [];
  const counted = new Set<MessageId>();
  let at = millis(0);
  for (const [index, drafted] of draftRounds(uncut).entries()) {
    const said = drafted.before.map((entry) => line.add(entry));
    const before = [...said, ...line.settle()];
    const lastSaid = [...(rounds.at(-1)?.reply ?? []), ...before];
    at = requestTime(lastSaid, index === 0 ? undefined : at);
    const reply = drafted.reply.map((entry) => line.add(entry));
    const largest = reply.reduce((one, other) =>
      (other.usage?.output ?? -1) > (one.usage?.output ?? -1) ? other : one,
    );
    rounds.push({
      at,
      before,
      reply,
      opens: before.some((entry) => userTypedText(entry) !== undefined) ? "turn" : "nothing",
      // More of a reply behind another one was sent with the request that its beginning was counted for.
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

/** What is said behind the last reply led to none: the recording ends with that reply. */
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

const isSameReply = (one: AssistantEntry, other: AssistantEntry): boolean =>
  one.messageId !== undefined && one.messageId === other.messageId;

/** Times never go backwards. `before`: when the request before was sent; undefined for the first. */
function requestTime(said: readonly Entry[], before: Millis | undefined): Millis {
  const times = said.flatMap(({ timestamp }) => {
    const time = timestamp === undefined ? Number.NaN : Date.parse(timestamp);
    return Number.isNaN(time) ? [] : [time];
  });
  if (times.length > 0) return millis(Math.max(before ?? 0, ...times));
  return before === undefined ? millis(0) : millis(before + untimedGapMillis);
}

/** The line that is being made, folded as it grows: only the fold knows what a request still lacks. */
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

  /** Entries that make the next request one that can be sent. */
  *settle(): Generator<SaidEntry> {
    const open = [...this.#fold.openCalls];
    if (open.length > 0) yield this.add(this.#repair(open));
    const next = this.#fold.next();
    if (next.kind === "sendable") return;
    yield this.add(this.#said(this.#length === 0 ? firstUserLine : unloggedText));
  }

  #repair(open: readonly ToolUseId[]): SaidEntry {
    const results = open.map((toolUse) => ({ toolUse, shown: interruptedText }));
    return { kind: "edit", ...this.#envelope("repair"), edit: { type: "repair", results } };
  }

  #said(text: string): SaidEntry {
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
