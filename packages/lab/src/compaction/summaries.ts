import { compactSizeStandIn } from "palimpsest/internal/cache/compact-price";
import { sectionTokensMax } from "palimpsest/internal/layers/3-notes/limits";
import { type Notes, ownTemplate, readTemplate, renderNotes } from "palimpsest/internal/layers/3-notes/template";
import { budgetsOf, waitingTokensMax } from "palimpsest/internal/layers/4-compact/budgets";
import { extractSummary } from "palimpsest/internal/layers/4-compact/extract";
import { factsOfPart } from "palimpsest/internal/layers/4-compact/part-facts";
import { summaryMessage } from "palimpsest/internal/layers/4-compact/summary-message";
import type { Policy } from "palimpsest/internal/layers/policy";
import { waitingIn } from "palimpsest/internal/context/compact/scope";
import type { SessionFactBook } from "palimpsest/internal/context/compact/session-facts";
import type { Session } from "palimpsest/internal/session/session";
import { stabilityOf, type WorkingStatePart } from "palimpsest/internal/ports/working-state";
import type { Message } from "palimpsest/internal/schema/block";
import { type EntryId, tokens, type Tokens } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { workingStateAttachment } from "palimpsest/internal/schema/working-state";
import type { Thresholds } from "palimpsest/internal/tokens/thresholds";
import type { Item } from "palimpsest/internal/transcript/item";
import { notesTokensStandIn, transcriptPathStandIn } from "../limits.ts";
import type { ReplayWorld } from "../replay-world.ts";
import { KnownFiles } from "./known-files.ts";

/** What a model is taken to have written, in a replay that has none. */
export interface Summaries {
  /** A summary of everything that the next request would show. */
  write(): Promise<WrittenSummary>;
  /** The notes of everything up to this entry, and the headings under which they stand. */
  notes(covers: EntryId): Promise<{ readonly text: string; readonly template: Notes }>;
  /** What is put back behind a boundary. */
  readonly workingState: readonly WorkingStatePart[];
  /** Everything that is said passes here, in order. */
  heard(entry: Entry): void;
  /** A boundary was written. */
  compacted(): void;
}

export interface WrittenSummary {
  readonly text: string;
  readonly outputTokens: number;
}

export interface SummariesInput {
  readonly world: ReplayWorld;
  readonly policy: Policy;
  readonly thresholds: Thresholds;
}

/** Of a fixed size, whatever was said; what is put back is part of it. */
export function standInSummaries({ world, policy, thresholds }: SummariesInput): Summaries {
  const { window: windowTokens } = thresholds;
  const { leavesTokens: alone } = compactSizeStandIn({ restores: "nothing", windowTokens });
  const restores = policy.compact?.restores ?? "nothing";
  const { leavesTokens, outputTokens } = compactSizeStandIn({ restores, windowTokens });
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
      const [first, ...others] = ownTemplate.sections;
      const sections = first === undefined ? [] : [{ ...first, body }, ...others];
      return { text: renderNotes({ ...ownTemplate, sections }), template: ownTemplate };
    },
    workingState: [],
    heard: () => undefined,
    compacted: () => undefined,
  };
}

/** In place of a model: the same messages have the same summary. */
export type Summarise = (input: SummariseInput) => string;

export interface SummariseInput {
  /** As the policy shows them before the compaction. */
  readonly messages: readonly Message[];
  readonly last: LastCompaction | undefined;
  /** The entry that was said last. */
  readonly newest: EntryId | undefined;
}

/** What the compaction before has left in the view. */
export interface LastCompaction {
  /** Its summary alone, with what was carried into it. */
  readonly summary: string;
  /** The text in which the summary stands. */
  readonly summaryText: string;
  /** That one, and all that was put back beside it. */
  readonly texts: ReadonlySet<string>;
}

export interface ExtractedInput extends SummariesInput {
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
        stability: stabilityOf.todos,
        snapshot: async ({ budgets }) => {
          const { openTodos } = await this.#input.facts.facts();
          const text = openTodos.map((todo) => `- ${todo.text} (${todo.status})`).join("\n");
          const piece = { title: "todo list", intro: "What is still to be done:", text, handle: "keep it up to date" };
          return openTodos.length === 0 ? undefined : { kind: "state", pieces: [piece], budget: budgets.other };
        },
      },
      {
        name: "files",
        stability: stabilityOf.files,
        snapshot: async ({ budgets }) => {
          const { pieces } = this.#files;
          return pieces.length === 0 ? undefined : { kind: "state", pieces, budget: budgets.files };
        },
      },
    ];
  }

  heard(entry: Entry): void {
    this.#files.heard(entry);
    this.#newest = entry.id;
  }

  compacted(): void {
    const { items } = this.#input.session.fold.projection;
    const summaryText = textOf(items.find(({ summary }) => summary === true));
    const restored = items.filter(({ attachment }) => attachment === workingStateAttachment).map(textOf);
    this.#last = {
      summary: summaryIn(summaryText, this.#input.policy),
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
      facts: factsOfPart(whole, { holds: (entry) => !staying.has(entry), lastReply: whole.lastReply }),
      budgetTokens: budgetsOf({ thresholds, policy, staysTokens }).extract,
      count: this.#count,
      previousSummary: this.#last?.summaryText,
      messages: policy.summary?.userMessages === undefined ? "inside" : "beside",
    });
  }

  #waiting(): readonly Item[] {
    const { session, thresholds } = this.#input;
    return waitingIn(session.fold, { waitingTokensMax: waitingTokensMax(thresholds), count: session.count });
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

const textOf = (item: Item | undefined): string =>
  item?.blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n") ?? "";

/** The summary in the message that stands behind a boundary, with what the engine carried into it. */
function summaryIn(text: string, { summary }: Policy): string {
  const place = summary?.transcriptPath === "told" ? { transcriptPath: transcriptPathStandIn } : {};
  const [before = "", after = ""] = summaryMessage({ summary: "\0", trigger: "auto", ...place }).split("\0");
  const end = text.indexOf(after, before.length);
  return text.startsWith(before) && end !== -1 ? text.slice(before.length, end) : text;
}
