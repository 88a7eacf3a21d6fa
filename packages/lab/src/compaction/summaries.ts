import { defaultCompactSize } from "palimpsest/internal/cache/compact-price";
import { sectionTokensMax } from "palimpsest/internal/layers/3-notes/limits";
import { type Notes, defaultTemplate, readTemplate, renderNotes } from "palimpsest/internal/layers/3-notes/notes";
import { computeBudgets, waitingTokensMax } from "palimpsest/internal/layers/4-compact/compaction-budgets";
import { extractSummary } from "palimpsest/internal/layers/4-compact/extract-summary";
import { filterFacts } from "palimpsest/internal/layers/4-compact/facts/session-facts";
import { summaryMessage } from "palimpsest/internal/layers/4-compact/summary-message";
import type { Policy } from "palimpsest/internal/layers/policy";
import { findWaitingItems } from "palimpsest/internal/context/compact/scope";
import type { SessionFactBook } from "palimpsest/internal/context/compact/session-fact-book";
import type { Session } from "palimpsest/internal/session/session";
import { usualStability, type WorkingStatePart } from "palimpsest/internal/ports/working-state";
import type { Message, ToolResultBlock, ToolUseBlock } from "palimpsest/internal/schema/block";
import { type EntryId, tokens, type Tokens, type ToolUseId } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { workingStateAttachmentType, type RestoredPiece } from "palimpsest/internal/schema/restored-part";
import type { Thresholds } from "palimpsest/internal/tokens/thresholds";
import type { Item } from "palimpsest/internal/transcript/item";
import { notesTokensStandIn, transcriptPathStandIn, modelDefault } from "../limits.ts";
import type { ReplayWorld } from "../replay-world.ts";
import { filesReadMax } from "palimpsest/internal/layers/4-compact/limits";
import { type CallSubject, parseSubject } from "palimpsest/internal/layers/4-compact/facts/call-outcome";
import { resultText } from "palimpsest/internal/layers/2-clear/result-text";
import { textField } from "palimpsest/internal/schema/json";
import { wireMessage, type WireMessage } from "palimpsest/internal/schema/wire/messages-request";
import { compactionMove } from "@palimpsest/simulator/internal/responder/summary-move";

/** Summaries and notes in place of a model's, for a replay without a model. */
export interface Summaries {
  /** A summary of everything that the next request would show. */
  write(): Promise<WrittenSummary>;
  /** The notes about everything up to this entry, and their headings. */
  notes(covers: EntryId): Promise<{ readonly text: string; readonly template: Notes }>;
  /** What is restored after a boundary. */
  readonly workingState: readonly WorkingStatePart[];
  /** Called for every recorded entry, in order. */
  onEntry(entry: Entry): void;
  /** Called after a boundary was written. */
  onCompacted(): void;
}

interface WrittenSummary {
  readonly text: string;
  readonly outputTokens: number;
}

interface SummariesInput {
  readonly world: ReplayWorld;
  readonly policy: Policy;
  readonly thresholds: Thresholds;
}

/** Summaries of a fixed size, whatever the conversation contains; the size includes the restored files. */
export function standInSummaries({ world, policy, thresholds }: SummariesInput): Summaries {
  const { window: windowTokens } = thresholds;
  const { leavesTokens: alone } = defaultCompactSize({ restores: "nothing", windowTokens });
  const restores = policy.compact?.restores ?? "nothing";
  const { leavesTokens, outputTokens } = defaultCompactSize({ restores, windowTokens });
  return {
    write: async () => {
      const text = world.standIn({ alone, within: alone, behindBoundary: leavesTokens });
      return { text, outputTokens };
    },
    notes: async () => {
      const within = notesTokensStandIn.file;
      const body = world.standIn({
        alone: Math.min(within, sectionTokensMax),
        within,
        behindBoundary: within + leavesTokens - alone,
      });
      const [first, ...others] = defaultTemplate.sections;
      const sections = first === undefined ? [] : [{ ...first, body }, ...others];
      return { text: renderNotes({ ...defaultTemplate, sections }), template: defaultTemplate };
    },
    workingState: [],
    onEntry: () => undefined,
    onCompacted: () => undefined,
  };
}

/** Replaces a model: the same messages always give the same summary. */
export type Summarise = (input: SummariseInput) => string;

interface SummariseInput {
  /** The view of the policy before the compaction. */
  readonly messages: readonly Message[];
  readonly last: LastCompaction | undefined;
  /** The newest recorded entry. */
  readonly newest: EntryId | undefined;
}

/** What the previous compaction left in the view. */
interface LastCompaction {
  /** The summary alone, including what the engine added to it. */
  readonly summary: string;
  /** The text of the message that contains the summary. */
  readonly summaryText: string;
  /** That text, and all texts that were restored with it. */
  readonly texts: ReadonlySet<string>;
}

interface ExtractedInput extends SummariesInput {
  readonly session: Session;
  readonly facts: Pick<SessionFactBook, "facts">;
  /** By default the summary is extracted from the facts. */
  readonly summarise?: Summarise | undefined;
}

/** Real summaries without a model, from the recording's facts or by rules from the messages. Restored files have the content that the recording shows. */
export class ExtractedSummaries implements Summaries {
  readonly #input: ExtractedInput;
  readonly #files = new KnownFiles();
  #last: LastCompaction | undefined;
  #newest: EntryId | undefined;

  constructor(input: ExtractedInput) {
    this.#input = input;
  }

  async write(): Promise<WrittenSummary> {
    const { fold } = this.#input.session;
    const next = fold.next();
    const text = await this.#summarise(next.kind === "sendable" ? next.messages : fold.messages, this.#waitingItems());
    return { text, outputTokens: this.#count(text) };
  }

  async notes(covers: EntryId): Promise<{ readonly text: string; readonly template: Notes }> {
    const { items } = this.#input.session.fold.projection;
    const later = items.slice(items.findLastIndex(({ entry }) => entry === covers) + 1);
    const text = await this.#summarise(this.#messagesWithout(later), later);
    const { sections } = readTemplate(text);
    return { text, template: { preamble: "", sections: sections.map((section) => ({ ...section, body: "" })) } };
  }

  get workingState(): readonly WorkingStatePart[] {
    return [
      {
        name: "todos",
        stability: usualStability.todos,
        snapshot: async ({ budgets }) => {
          const { openTodos } = await this.#input.facts.facts();
          const text = openTodos.map((todo) => `- ${todo.text} (${todo.status})`).join("\n");
          const piece = { title: "todo list", intro: "What is still to be done:", text, handle: "keep it up to date" };
          return openTodos.length === 0 ? undefined : { kind: "state", pieces: [piece], budget: budgets.other };
        },
      },
      {
        name: "files",
        stability: usualStability.files,
        snapshot: async ({ budgets }) => {
          const { pieces } = this.#files;
          return pieces.length === 0 ? undefined : { kind: "state", pieces, budget: budgets.files };
        },
      },
    ];
  }

  onEntry(entry: Entry): void {
    this.#files.heard(entry);
    this.#newest = entry.id;
  }

  onCompacted(): void {
    const { items } = this.#input.session.fold.projection;
    const summaryText = itemText(items.find(({ summary }) => summary === true));
    const restored = items.filter(({ attachment }) => attachment === workingStateAttachmentType).map(itemText);
    this.#last = {
      summary: unwrapSummary(summaryText, this.#input.policy),
      summaryText,
      texts: new Set([summaryText, ...restored]),
    };
  }

  /** `kept`: the items that stay in the view after the compaction. */
  async #summarise(messages: readonly Message[], kept: readonly Item[]): Promise<string> {
    const { summarise, policy, thresholds, facts } = this.#input;
    if (summarise !== undefined) return summarise({ messages, last: this.#last, newest: this.#newest });
    const allFacts = await facts.facts();
    const keptEntries = new Set(kept.map(({ entry }) => entry));
    const { tokensOf, recording } = this.#input.world;
    const staysTokens = kept.reduce<number>(
      (total, { blocks }) => blocks.reduce((sum, block) => sum + tokensOf(block), total),
      recording.headerTokens,
    );
    return extractSummary({
      facts: filterFacts(allFacts, { holds: (entry) => !keptEntries.has(entry), lastReply: allFacts.lastReply }),
      budgetTokens: computeBudgets({ thresholds, policy, staysTokens }).extract,
      count: this.#count,
      previousSummary: this.#last?.summaryText,
      messages: policy.summary?.userMessages === undefined ? "inside" : "beside",
    });
  }

  #waitingItems(): readonly Item[] {
    const { session, thresholds, world } = this.#input;
    const tokensMax = waitingTokensMax(thresholds, world.recording.headerTokens);
    return findWaitingItems(session.fold, { waitingTokensMax: tokensMax, count: session.count });
  }

  #messagesWithout(items: readonly Item[]): readonly Message[] {
    const { fold } = this.#input.session;
    const shown = fold.shown();
    const removed = new Set(items.flatMap(({ entry }) => shown.get(entry) ?? []));
    return fold.messages.flatMap(({ role, content }) => {
      const remaining = content.filter((block) => !removed.has(block));
      return remaining.length === 0 ? [] : [{ role, content: remaining }];
    });
  }

  readonly #count = (text: string): Tokens => tokens(this.#input.world.tokensOf({ type: "text", text }));
}

const itemText = (item: Item | undefined): string =>
  item?.blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n") ?? "";

/** Extracts the summary, including what the engine added to it, from the message after a boundary. */
function unwrapSummary(text: string, { summary }: Policy): string {
  const pathOption = summary?.transcriptPath === "included" ? { transcriptPath: transcriptPathStandIn } : {};
  const [before = "", after = ""] = summaryMessage({ summary: "\0", trigger: "auto", ...pathOption }).split("\0");
  const end = text.indexOf(after, before.length);
  return text.startsWith(before) && end !== -1 ? text.slice(before.length, end) : text;
}

interface OpenCall {
  readonly call: ToolUseBlock;
  readonly subject: Extract<CallSubject, { kind: "file" }>;
}

/**
 * The files that were read or changed in a recording, with the newest content that the recording shows: the result of a
 * read or the input of a write. After any other change a file keeps the content that was shown last.
 */
export class KnownFiles {
  readonly #open = new Map<ToolUseId, OpenCall>();
  /** In order of use, the newest last. */
  readonly #textByPath = new Map<string, string | undefined>();

  heard(entry: Entry): void {
    if (!("blocks" in entry)) return;
    for (const block of entry.blocks) {
      if (block.type === "tool_use") this.#addCall(block);
      if (block.type === "tool_result") this.#addResult(block);
    }
  }

  /** Newest first, the order in which they are restored. */
  get pieces(): readonly RestoredPiece[] {
    return [...this.#textByPath].toReversed().map(([title, text]) => ({
      title,
      handle: "read it again when you need it",
      ...(text === undefined ? {} : { intro: `Content of ${title}, read again just now:`, text }),
    }));
  }

  #addCall(call: ToolUseBlock): void {
    const subject = parseSubject(call);
    if (subject.kind === "file") this.#open.set(call.id, { call, subject });
  }

  #addResult(result: ToolResultBlock): void {
    const open = this.#open.get(result.tool_use_id);
    this.#open.delete(result.tool_use_id);
    if (open === undefined || result.is_error === true) return;
    const { call, subject } = open;
    const text = subject.act === "read" ? resultText(result) : textField(call.input, "content");
    for (const path of subject.paths) this.#keep(path, text ?? this.#textByPath.get(path));
  }

  #keep(path: string, text: string | undefined): void {
    this.#textByPath.delete(path);
    this.#textByPath.set(path, text);
    if (this.#textByPath.size <= filesReadMax) return;
    const [oldest] = this.#textByPath.keys();
    if (oldest !== undefined) this.#textByPath.delete(oldest);
  }
}

/**
 * Writes a summary in nine sections by the rules of the simulator, without a model or randomness, and of at most a tenth of
 * the conversation. It sees the messages that the policy shows, but of what the last compaction left only the summary,
 * because restored files and todos are restored again.
 */
export const createRuleSummariser =
  (): Summarise =>
  ({ messages, last }) => {
    const wireMessages = messages.flatMap((message) => toWireMessages(withoutRestored(message, last)));
    const move = compactionMove({
      model: modelDefault,
      max_tokens: 1,
      messages: [...wireMessages, { role: "user", content: "Summarise the conversation." }],
    });
    const blocks = move.kind === "say" ? move.blocks : [];
    const text = blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
    return /<summary>\n([^]*)\n<\/summary>/.exec(text)?.[1] ?? text;
  };

function withoutRestored({ role, content }: Message, last: Parameters<Summarise>[0]["last"]): Message {
  if (last === undefined) return { role, content };
  return {
    role,
    content: content.flatMap((block) => {
      if (block.type !== "text" || !last.texts.has(block.text)) return [block];
      return block.text === last.summaryText ? [{ type: "text", text: last.summary }] : [];
    }),
  };
}

/** Leaves out a message that the API would not accept. */
function toWireMessages(message: Message): readonly WireMessage[] {
  const parsed = wireMessage.safeParse(message);
  return parsed.success ? [parsed.data] : [];
}
