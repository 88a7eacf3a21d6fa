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

/** What a model is taken to have written, in a replay that has none. */
export interface Summaries {
  /** A summary of everything that the next request would show. */
  write(): Promise<WrittenSummary>;
  /** The notes of everything up to this entry, and the headings under which they stand. */
  notes(covers: EntryId): Promise<{ readonly text: string; readonly template: Notes }>;
  /** What is put back behind a boundary. */
  readonly workingState: readonly WorkingStatePart[];
  /** Everything that is said passes here, in order. */
  onEntry(entry: Entry): void;
  /** A boundary was written. */
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

/** Of a fixed size, whatever was said; what is put back is part of it. */
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

/** In place of a model: the same messages have the same summary. */
export type Summarise = (input: SummariseInput) => string;

interface SummariseInput {
  /** As the policy shows them before the compaction. */
  readonly messages: readonly Message[];
  readonly last: LastCompaction | undefined;
  /** The entry that was said last. */
  readonly newest: EntryId | undefined;
}

/** What the compaction before has left in the view. */
interface LastCompaction {
  /** Its summary alone, with what was carried into it. */
  readonly summary: string;
  /** The text in which the summary stands. */
  readonly summaryText: string;
  /** That one, and all that was put back beside it. */
  readonly texts: ReadonlySet<string>;
}

interface ExtractedInput extends SummariesInput {
  readonly session: Session;
  readonly facts: Pick<SessionFactBook, "facts">;
  /** Absent: the summary is extracted from the facts. */
  readonly summarise?: Summarise | undefined;
}

/** Real texts without a model: the recording's facts, or a rule's reading of the messages. What is put back is what the recording shows of it. */
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
    const text = await this.#summary(next.kind === "sendable" ? next.messages : fold.messages, this.#waiting());
    return { text, outputTokens: this.#count(text) };
  }

  async notes(covers: EntryId): Promise<{ readonly text: string; readonly template: Notes }> {
    const { items } = this.#input.session.fold.projection;
    const behind = items.slice(items.findLastIndex(({ entry }) => entry === covers) + 1);
    const text = await this.#summary(this.#messagesWithout(behind), behind);
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

  async #summary(messages: readonly Message[], shown: readonly Item[]): Promise<string> {
    const { summarise, policy, thresholds, facts } = this.#input;
    if (summarise !== undefined) return summarise({ messages, last: this.#last, newest: this.#newest });
    const whole = await facts.facts();
    const staying = new Set(shown.map(({ entry }) => entry));
    const { tokensOf, recording } = this.#input.world;
    const staysTokens = shown.reduce<number>(
      (sum, { blocks }) => blocks.reduce((so, block) => so + tokensOf(block), sum),
      recording.headerTokens,
    );
    return extractSummary({
      facts: filterFacts(whole, { holds: (entry) => !staying.has(entry), lastReply: whole.lastReply }),
      budgetTokens: computeBudgets({ thresholds, policy, staysTokens }).extract,
      count: this.#count,
      previousSummary: this.#last?.summaryText,
      messages: policy.summary?.userMessages === undefined ? "inside" : "beside",
    });
  }

  #waiting(): readonly Item[] {
    const { session, thresholds } = this.#input;
    return findWaitingItems(session.fold, { waitingTokensMax: waitingTokensMax(thresholds), count: session.count });
  }

  #messagesWithout(items: readonly Item[]): readonly Message[] {
    const { fold } = this.#input.session;
    const shown = fold.shown();
    const out = new Set(items.flatMap(({ entry }) => shown.get(entry) ?? []));
    return fold.messages.flatMap(({ role, content }) => {
      const left = content.filter((block) => !out.has(block));
      return left.length === 0 ? [] : [{ role, content: left }];
    });
  }

  readonly #count = (text: string): Tokens => tokens(this.#input.world.tokensOf({ type: "text", text }));
}

const itemText = (item: Item | undefined): string =>
  item?.blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n") ?? "";

/** The summary in the message that stands behind a boundary, with what the engine carried into it. */
function unwrapSummary(text: string, { summary }: Policy): string {
  const place = summary?.transcriptPath === "told" ? { transcriptPath: transcriptPathStandIn } : {};
  const [before = "", after = ""] = summaryMessage({ summary: "\0", trigger: "auto", ...place }).split("\0");
  const end = text.indexOf(after, before.length);
  return text.startsWith(before) && end !== -1 ? text.slice(before.length, end) : text;
}

interface OpenCall {
  readonly call: ToolUseBlock;
  readonly subject: Extract<CallSubject, { kind: "file" }>;
}

/**
 * The files that a recording has read or changed, with the newest content that it shows of them: what a read returned or
 * a write was given. After any other change a file still has the text that it was last shown with.
 */
export class KnownFiles {
  readonly #open = new Map<ToolUseId, OpenCall>();
  /** The newest last. */
  readonly #textByPath = new Map<string, string | undefined>();

  heard(entry: Entry): void {
    if (!("blocks" in entry)) return;
    for (const block of entry.blocks) {
      if (block.type === "tool_use") this.#called(block);
      if (block.type === "tool_result") this.#answered(block);
    }
  }

  /** Newest first, as they are put back. */
  get pieces(): readonly RestoredPiece[] {
    return [...this.#textByPath].toReversed().map(([title, shown]) => ({
      title,
      handle: "read it again when you need it",
      ...(shown === undefined ? {} : { intro: `Content of ${title}, read again just now:`, text: shown }),
    }));
  }

  #called(call: ToolUseBlock): void {
    const subject = parseSubject(call);
    if (subject.kind === "file") this.#open.set(call.id, { call, subject });
  }

  #answered(result: ToolResultBlock): void {
    const open = this.#open.get(result.tool_use_id);
    this.#open.delete(result.tool_use_id);
    if (open === undefined || result.is_error === true) return;
    const { call, subject } = open;
    const shown = subject.act === "read" ? resultText(result) : textField(call.input, "content");
    for (const path of subject.paths) this.#keep(path, shown ?? this.#textByPath.get(path));
  }

  #keep(path: string, shown: string | undefined): void {
    this.#textByPath.delete(path);
    this.#textByPath.set(path, shown);
    if (this.#textByPath.size <= filesReadMax) return;
    const [oldest] = this.#textByPath.keys();
    if (oldest !== undefined) this.#textByPath.delete(oldest);
  }
}

/**
 * A summary in nine sections by the rules of the simulator's actor, the same for whoever asks: no model, no chance, and
 * at most a tenth of the conversation. It sees the messages that the policy shows, and in place of what the last compaction
 * left only the summary in it: what is put back beside a summary is put back anew.
 */
export const createRuleSummariser =
  (): Summarise =>
  ({ messages, last }) => {
    const heard = messages.flatMap((message) => toWireMessages(withoutRestored(message, last)));
    const move = compactionMove({
      model: modelDefault,
      max_tokens: 1,
      messages: [...heard, { role: "user", content: "Summarise the conversation." }],
    });
    const said = move.kind === "say" ? move.blocks : [];
    const text = said.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
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

/** What has not the API's form is nothing that a summary could be about. */
function toWireMessages(message: Message): readonly WireMessage[] {
  const parsed = wireMessage.safeParse(message);
  return parsed.success ? [parsed.data] : [];
}
