import { ClearPlanner } from "../cache/clear-planner.ts";
import { CompactRent } from "../cache/compact-price.ts";
import { Inventory } from "../cache/inventory.ts";
import type { Lifetime } from "../cache/lifetime.ts";
import { isRerunnable } from "../layers/2-clear/clearable.ts";
import { compactionNow } from "../layers/4-compact/price-now.ts";
import type { Candidate } from "../layers/layer.ts";
import { layers } from "../layers/layers.ts";
import type { CompactionState, PipelineState } from "../layers/pipeline-state.ts";
import { nextCandidate } from "../layers/pipeline.ts";
import type { CompactRule, Policy } from "../layers/policy.ts";
import type { Message, ToolResultBlock } from "../schema/block.ts";
import { type EntryId, type Millis, millis, type ToolUseId } from "../schema/brand.ts";
import { plainClearMarker } from "../schema/edit.ts";
import type { SwitchName } from "../schema/switches.ts";
import type { Thresholds } from "../tokens/thresholds.ts";
import type { Item } from "../transcript/item.ts";
import { Asides } from "./asides.ts";
import type { Compactions, NotedPart, Summarise } from "./compaction/compactions.ts";
import { ExtractedCompactions } from "./compaction/extracted.ts";
import { standInCompactions } from "./compaction/stand-in.ts";
import { GoneResults } from "./gone-results.ts";
import { KnownCache } from "./known-cache.ts";
import { KnownSize } from "./known-size.ts";
import { namedMarker, notesSizesStandIn } from "./limits.ts";
import { Meter } from "./meter.ts";
import { notesDirective, notesRuleOf, ReplayedNotes } from "./notes/replayed-notes.ts";
import { offloadedNow } from "./offloaded.ts";
import type { CompactionName, RefetchName } from "./outcome.ts";
import type { RecordedRound } from "./recording.ts";
import type { ReplayCache } from "./replay-cache.ts";
import type { ReplayWorld } from "./replay-world.ts";
import { ReplayedView } from "./replayed-view.ts";
import { Spending } from "./spending.ts";
import type { SentRequest } from "./trace.ts";

export interface PolicyRunInput {
  readonly world: ReplayWorld;
  readonly policy: Policy;
  /** `chosen`: by the policy, for each request. */
  readonly lifetime: Lifetime | "chosen";
  readonly thresholds: Thresholds;
  readonly cache: ReplayCache;
  readonly refetch: RefetchName;
  readonly compaction: CompactionName;
  /** With `extract`: who writes the summaries instead. */
  readonly summarise?: Summarise | undefined;
  /** After each compaction, before anything is sent. */
  readonly onCompacted?: ((compacted: CompactedView) => void) | undefined;
  readonly onRequest?: ((sent: SentRequest) => void) | undefined;
}

export interface CompactedView {
  /** Index of the round before whose request it happened. */
  readonly round: number;
  readonly messages: readonly Message[];
  /** Entries that stay in the view as they are. */
  readonly kept: readonly EntryId[];
  /** Of the context. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/**
 * One policy on one recording: what was said comes in as it was recorded, the policy decides what is shown, and each
 * request passes the simulator's rules and its cache.
 */
export class PolicyRun {
  readonly #input: PolicyRunInput;
  readonly #inventory: Inventory;
  readonly #view: ReplayedView;
  readonly #meter: Meter;
  readonly #size: KnownSize;
  readonly #known: KnownCache;
  readonly #gone = new GoneResults();
  readonly #planner = new ClearPlanner();
  readonly #rent = new CompactRent();
  readonly #compactions: Compactions;
  readonly #notes: ReplayedNotes | undefined;
  readonly #asides: Asides;
  /** Requests sent for rounds so far: the inventory counts anew behind a compaction. */
  #round = 0;
  #lastClearRound: number | undefined;
  #lastAt: Millis | undefined;
  /** In the newest reply. */
  #lastCalls = 0;
  readonly spending: Spending;
  readonly contextByRound: number[] = [];
  readonly refusals: string[] = [];
  edits = 0;
  compactions = 0;
  /** Of all extractions, part of what is spent. */
  notesCost = 0;
  failedAt: number | undefined;

  constructor(input: PolicyRunInput) {
    const { world, policy, lifetime } = input;
    const { recording, tokensOf, rates } = world;
    const { headerTokens } = recording;
    this.#input = input;
    this.#inventory = new Inventory({ count: tokensOf, isClearable: isRerunnable, markerTokens: world.markerTokens });
    this.#view = new ReplayedView({ watch: this.#inventory, thinking: world.thinkingUnder(policy) });
    this.#meter = new Meter({ headerTokens, tokensOf, ids: world.ids });
    this.#size = new KnownSize({ counting: policy.counting, tokensOf });
    this.#known = new KnownCache({
      marks: policy.marks,
      lifetime,
      rates,
      headerTokens,
      inventory: this.#inventory,
    });
    this.spending = new Spending({ rates, headerTokens });
    this.#compactions = input.compaction === "extract" ? new ExtractedCompactions(input) : standInCompactions(input);
    const { cache, onRequest } = input;
    this.#asides = new Asides({ known: this.#known, meter: this.#meter, cache, spending: this.spending, onRequest });
    const rule = notesRuleOf(policy);
    this.#notes = rule === undefined ? undefined : new ReplayedNotes({ rule, sizes: notesSizesStandIn });
  }

  get notesTaken(): number {
    return this.#notes?.taken ?? 0;
  }

  get refetched(): number {
    return this.#gone.fetched;
  }

  run(): void {
    for (const round of this.#input.world.recording.rounds) {
      this.#arrive(round);
      if (!this.#prepare(round) || !this.#send(round)) {
        this.failedAt = this.#round;
        return;
      }
      this.#view.say(round.reply);
      this.#compactions.heard(round.reply);
      this.#size.replied(round.reply);
      this.#charge();
      this.#lastCalls = callsIn(round);
      if (this.#lastCalls === 0) this.#roundEnded(round);
      this.#lastAt = round.at;
      this.#round += 1;
    }
  }

  get #contextTokens(): number {
    return this.#input.world.recording.headerTokens + this.#inventory.shownTokens;
  }

  #arrive(round: RecordedRound): void {
    const { policy, world } = this.#input;
    const { before } = round;
    this.#view.say(before);
    this.#compactions.heard(before);
    this.#size.said(before);
    for (const { toolUse, shown, content } of offloadedNow(policy.offload, before)) {
      this.#gone.left(toolUse, world.tokensOf(content));
      this.#view.offload(toolUse, shown);
    }
    if (this.#lastCalls > 0) this.#roundEnded(round);
  }

  /** The newest reply and what its calls returned are in the view: the moment at which notes may be due. */
  #roundEnded(round: RecordedRound): void {
    const notes = this.#notes;
    if (notes === undefined) return;
    const ended = { items: this.#view.items, contextTokens: this.#contextTokens, calls: this.#lastCalls };
    if (notes.roundEnded(ended) === "taken") this.#takeNotes(notes, round);
  }

  /** By a fork, whose directive is the last message. */
  #takeNotes(notes: ReplayedNotes, round: RecordedRound): void {
    const { world } = this.#input;
    const before = this.spending.cost;
    const directiveTokens = world.tokensOf(notesDirective) + notes.shownTokens;
    const { editTokens: outputTokens } = notes.sizes;
    const directive = { role: "user", content: world.standIn(directiveTokens) } as const;
    this.#asides.send({ kind: "notes", call: "fork", messages: this.#view.messages, directive, outputTokens, round });
    this.notesCost += this.spending.cost - before;
  }

  /** False where nothing that fits can be made. */
  #prepare(round: RecordedRound): boolean {
    const acted = new Set<string>();
    for (;;) {
      const candidate = nextCandidate({ layers, state: this.#state(round), acted });
      if (candidate === undefined) break;
      acted.add(candidate.layer);
      this.#do(candidate, round);
    }
    const { thresholds, policy } = this.#input;
    if (this.#contextTokens < thresholds.window) return true;
    if (policy.compact === undefined) return false;
    // What the provider would refuse as too long: compacted and tried once more.
    this.#compact(round);
    return this.#contextTokens < thresholds.window;
  }

  #state({ at, opens }: RecordedRound): PipelineState {
    const { world, policy, thresholds, refetch } = this.#input;
    const contextTokens = this.#contextTokens;
    const { prefixes } = this.#known;
    const now = {
      inventory: this.#inventory,
      prefixes,
      moment: {
        at,
        rates: this.#known.rates,
        contextTokens,
        fixedTokens: world.recording.headerTokens,
        needChance: refetch === "free" ? neverNeeded : world.needChance,
      },
    };
    return {
      ...now,
      policy: world.policyFor(policy),
      isOn: (name) => isOn(policy, name),
      planner: this.#planner,
      thresholds: this.#size.shifted(thresholds, contextTokens),
      opens,
      idleMillis: this.#lastAt === undefined ? undefined : millis(at - this.#lastAt),
      sentTokens: contextTokens + this.#gone.clearedTokens,
      roundsSinceClear: this.#lastClearRound === undefined ? undefined : this.#round - this.#lastClearRound,
      withheld: nothing,
      offers: nothing,
      ...(policy.compact === undefined ? {} : { compaction: this.#compaction(policy.compact, now) }),
      items: this.#view.items,
      decisions: this.#view.decisions,
      pins: nothing,
      count: world.tokensOf,
    };
  }

  #compaction(rule: CompactRule, now: Pick<PipelineState, "inventory" | "prefixes" | "moment">): CompactionState {
    const { size } = this.#compactions;
    const keptTokens = this.#compactions.keptTokens(this.#view);
    return compactionNow({ ...now, rule, size, keptTokens, rent: this.#rent.accrued });
  }

  #do(candidate: Candidate, round: RecordedRound): void {
    if ("edit" in candidate) this.#takeOut(() => this.#view.take(candidate.edit.draft));
    else if (candidate.results.length > 0) this.#clear(candidate.results, this.#markerOf(candidate));
    else this.#compact(round);
  }

  #markerOf({ layer }: Candidate): string {
    const { bySize } = this.#input.world.policyFor(this.#input.policy).clear;
    return layer === "clear.size" && bySize?.marker === "plain" ? plainClearMarker : namedMarker;
  }

  #clear(results: readonly ToolUseId[], marker: string): void {
    let cut = Infinity;
    for (const toolUse of results) {
      const resident = this.#inventory.find(toolUse);
      if (resident === undefined) continue;
      cut = Math.min(cut, this.#inventory.offsetOf(resident));
      this.#gone.cleared(toolUse, resident.tokens);
    }
    this.#view.clear(results, marker);
    this.#known.cut(cut);
    this.#lastClearRound = this.#round;
    this.edits += 1;
  }

  /** Whole rounds leave the view: what of their results is shown is known only behind the edit, which keeps pairs together. */
  #takeOut(edit: () => void): void {
    const before = resultsIn(this.#view.items);
    edit();
    const left = new Set(resultsIn(this.#view.items).map((result) => result.tool_use_id));
    for (const result of before)
      if (!left.has(result.tool_use_id)) this.#gone.left(result.tool_use_id, this.#input.world.tokensOf(result));
    this.#known.cut(0);
    this.edits += 1;
  }

  #compact(round: RecordedRound): void {
    const messages = this.#view.next();
    if (messages === undefined) return;
    const noted = this.#noted();
    const made = this.#compactions.make(this.#view, noted);
    if (made === undefined) return;
    const tokensBefore = this.#contextTokens;
    const call = this.#input.policy.compact?.call ?? "plain";
    if (noted === undefined)
      this.#asides.send({ kind: "compaction", call, messages, outputTokens: made.outputTokens, round });
    this.#view.compact(made);
    this.#size.compacted();
    this.#known.cut(0);
    this.#gone.compacted();
    this.#rent.compacted();
    this.compactions += 1;
    this.#input.onCompacted?.({
      round: this.#round,
      messages: this.#view.next() ?? [],
      kept: made.kept,
      tokensBefore,
      tokensAfter: this.#contextTokens,
    });
  }

  /** What stays where the notes are the summary, which nobody has to be asked for. */
  #noted(): NotedPart | undefined {
    const { world, thresholds } = this.#input;
    const count = ({ blocks }: Item): number => blocks.reduce((sum, block) => sum + world.tokensOf(block), 0);
    const roomTokens = thresholds.compact - world.recording.headerTokens;
    return this.#notes?.noted({ items: this.#view.items, count, roomTokens });
  }

  /** False where there is nothing that can be sent. */
  #send(round: RecordedRound): boolean {
    const messages = this.#view.next();
    if (messages === undefined) return false;
    const { at } = round;
    const { world, thresholds, cache, onRequest } = this.#input;
    const marked = this.#known.marksFor(messages, at);
    const { breakpoints } = marked;
    const prompt = this.#meter.prompt(messages, breakpoints);
    const outputTokensMax = Math.max(1, Math.min(world.model.outputTokensMax, thresholds.window - prompt.tokens));
    const refusal = world.check.refusal({ messages, breakpoints, outputTokensMax });
    if (refusal !== undefined || prompt.tokens > thresholds.window) this.refusals.push(refusal ?? "too long");
    const usage = cache.send(prompt, at);
    onRequest?.({ kind: "round", round, prompt, usage });
    this.spending.request(usage);
    this.contextByRound.push(prompt.tokens);
    this.#size.counted(usage);
    const removableTokens = prompt.tokens - world.recording.headerTokens - this.#compactions.size.leavesTokens;
    this.#rent.paid({ rates: this.#known.rates, removableTokens });
    this.#known.sent(marked, at);
    return true;
  }

  /** The reply quotes what is not shown any more: it is fetched again, once. */
  #charge(): void {
    const { world, refetch } = this.#input;
    if (refetch === "free") return;
    const contextTokens = this.contextByRound.at(-1) ?? 0;
    for (const tokens of this.#gone.fetch(world.neededIn(this.#round)))
      this.spending.refetch({ tokens, contextTokens, write: this.#known.rates.write });
  }
}

/** Whole rounds go only where the policy says so; every other layer asks for its own rule. */
const isOn = (policy: Policy, name: SwitchName): boolean =>
  (name !== "snip" && name !== "collapse") || policy[name] === "on";

const resultsIn = (items: readonly Item[]): readonly ToolResultBlock[] =>
  items.flatMap(({ blocks }) => blocks.filter((block) => block.type === "tool_result"));

const callsIn = ({ reply }: RecordedRound): number =>
  reply.reduce((sum, { blocks }) => sum + blocks.filter(({ type }) => type === "tool_use").length, 0);

const nothing: ReadonlySet<never> = new Set();

const neverNeeded = (): number => 0;
