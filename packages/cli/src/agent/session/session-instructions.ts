import {
  type Baseline,
  baselineFixedPart,
  type FrozenParts,
  type SystemPiece,
} from "palimpsest/internal/cache/baseline";
import type { Reload } from "palimpsest/internal/context/compact/compaction-setup";
import { replaceBaseline, type Conversation } from "palimpsest/internal/context/conversation";
import type { HookDeps } from "palimpsest/internal/context/deps";
import type { InstructionFiles } from "palimpsest/internal/memory/instruction-files";
import type { NestedInstruction } from "palimpsest/internal/memory/load-nested-instructions";
import type { BlobsDep } from "palimpsest/internal/ports/blobs";
import type { ClockDep } from "palimpsest/internal/ports/clock-dep";
import type { ReadFiles } from "palimpsest/internal/ports/tool";
import type { RestoreRequest, WorkingStatePart } from "palimpsest/internal/ports/working-state";
import type { Session } from "palimpsest/internal/session/session";
import { estimateFixedPart, measureFixedPart } from "palimpsest/internal/tokens/fixed-part";
import type { Draft } from "palimpsest/internal/transcript/draft";
import { instructionLookFreeMs, instructionLookShareMax } from "../limits.ts";
import { announcementsInView, changesToAnnounce } from "../system-prompt/announcement.ts";
import { headerNews, refreezeBaseline } from "../system-prompt/freeze-baseline.ts";
import type { Prefix } from "../system-prompt/render-prefix.ts";
import { NestedInstructions } from "./nested-instructions.ts";
import { instructionsLoadedEvent } from "./session-hooks.ts";

interface SessionInstructionsInput {
  readonly deps: BlobsDep & ClockDep;
  readonly session: Session;
  readonly source: InstructionFiles;
  /** By the current rules. */
  readonly mayRead: (path: string) => boolean;
  /** Reads the instruction files and renders what requests would begin with. */
  readonly render: () => Promise<Prefix>;
  /** As it was rendered when the session opened. */
  readonly opening: Prefix;
}

type KeptRequest = Pick<RestoreRequest, "isKept">;

/**
 * The instruction files of a session while it runs. Requests begin with the same bytes until a boundary, so what changes
 * in between is announced behind the conversation:
 *
 *   frozen    ──a file changes, appears or disappears──▶ announced, with the difference
 *   frozen    ──a file is touched in a folder with instructions──▶ attached, once
 *   announced ──a boundary──▶ frozen: the system prompt is rendered again, the attached texts stand behind the summary
 */
export class SessionInstructions {
  readonly #input: SessionInstructionsInput;
  readonly #nested: NestedInstructions;
  readonly #reported: Set<string>;
  #looked: { readonly prefix: Prefix; readonly dueAt: number };
  #warnings: string[] = [];

  constructor(input: SessionInstructionsInput) {
    this.#input = input;
    this.#nested = new NestedInstructions({ ...input, fold: () => input.session.fold });
    this.#looked = { prefix: input.opening, dueAt: 0 };
    this.#reported = new Set(input.opening.instructions.problems);
  }

  /** Whether a change of this file is announced as a change of instructions. */
  isInstruction(path: string, baseline: Baseline): boolean {
    return baseline.system.some(({ name }) => name === path) || this.#nested.isStated(path);
  }

  /** What to append before the next request. Must not reject: files that can't be read now are looked at again later. */
  async news(deps: HookDeps, files: ReadFiles): Promise<readonly Draft[]> {
    const { session } = this.#input;
    try {
      const prefix = await this.#look();
      const header = await headerNews(this.#input.deps, { session, now: prefix.parts });
      const { drafts, added, problems } = await this.#nested.news(prefix, files);
      this.#report([...prefix.instructions.problems, ...problems]);
      for (const instruction of added) await this.#announce(deps, instruction);
      return [...header, ...drafts];
    } catch (error) {
      this.#report([`Instruction files could not be read: ${String(error)}`]);
      return [];
    }
  }

  /** A look that takes long is not repeated before every request. */
  async #look(): Promise<Prefix> {
    const { deps, render } = this.#input;
    const from = deps.now();
    if (from < this.#looked.dueAt) return this.#looked.prefix;
    const prefix = await render();
    const took = deps.now() - from;
    this.#looked = { prefix, dueAt: took <= instructionLookFreeMs ? 0 : from + took / instructionLookShareMax };
    return prefix;
  }

  /** One line each, for the user; each is returned once. */
  takeWarnings(): readonly string[] {
    const taken = this.#warnings;
    this.#warnings = [];
    return taken;
  }

  /** What the view states of instructions for parts of the project. */
  part(): WorkingStatePart {
    return this.#nested.part(this.#input.render);
  }

  /** What requests begin with behind a boundary. A piece stays as it is if a kept message announces its change. */
  async partsBehind(sent: FrozenParts, request: KeptRequest): Promise<FrozenParts> {
    return partsBehindBoundary({ ...this.#announcements(request), sent, now: (await this.#input.render()).parts });
  }

  /** Undefined if there are none, or they can't be read now: then nothing changes. */
  async reload(conversation: Conversation, request: KeptRequest): Promise<Reload | undefined> {
    const { deps, session, render } = this.#input;
    const { baseline } = conversation;
    const prefix = await render().catch(() => undefined);
    if (prefix === undefined) return undefined;
    const sent = partsBehindBoundary({ ...this.#announcements(request), sent: baseline, now: prefix.parts });
    const nested = await this.#nested.reread(prefix).catch((): readonly NestedInstruction[] => []);
    const first = sent.system.findIndex(({ text }, at) => text !== baseline.system[at]?.text);
    const isSame = first === -1 && sent.system.length === baseline.system.length;
    const files = prefix.instructions.files.length + nested.length;
    if (isSame && files === 0) return undefined;
    if (isSame)
      return { reloaded: { files, changed: [], rewrittenTokens: 0 }, addedTokens: 0, apply: async () => undefined };
    const count = (parts: FrozenParts): number =>
      estimateFixedPart(measureFixedPart(baselineFixedPart(parts)), session.ledger.rates).tokens;
    const rest = first === -1 ? [] : sent.system.slice(first);
    return {
      reloaded: {
        files,
        changed: [...findChangedNames(baseline.system, sent.system)],
        rewrittenTokens: count({ ...sent, tools: [], system: rest }),
      },
      addedTokens: count(sent) - count(baseline),
      apply: async () => {
        const frozen = await refreezeBaseline(deps, { session, sent, now: prefix.parts });
        // If it can't be stored, requests go on as before, and the change is announced with the next one.
        if (frozen.kind === "frozen") replaceBaseline(conversation, session, frozen.baseline);
      },
    };
  }

  /** Tells hooks which instructions count behind a boundary. Must not reject: hooks hear nothing of unreadable files. */
  async announceReloaded(deps: HookDeps): Promise<void> {
    const prefix = await this.#input.render().catch(() => undefined);
    if (prefix === undefined) return;
    const nested = await this.#nested.reread(prefix).catch((): readonly NestedInstruction[] => []);
    for (const file of [...prefix.instructions.files, ...nested])
      await this.#fire(deps, instructionsLoadedEvent(file, { reason: "compact" }));
  }

  #announcements({ isKept }: KeptRequest): Pick<PartsBehindInput, "announcements"> {
    return { announcements: announcementsInView(this.#input.session.fold).filter(({ entry }) => isKept(entry)) };
  }

  #announce(deps: HookDeps, instruction: NestedInstruction): Promise<void> {
    const { source, trigger, patterns } = instruction;
    const reason = source.kind === "folder" ? "nested_traversal" : "path_glob_match";
    return this.#fire(deps, instructionsLoadedEvent(instruction, { reason, trigger, patterns }));
  }

  async #fire({ hooks, place }: HookDeps, payload: ReturnType<typeof instructionsLoadedEvent>): Promise<void> {
    const { messages, warnings } = await hooks.fire({ ...place(), ...payload }, new AbortController().signal);
    this.#warnings.push(...messages, ...warnings);
  }

  /** Each line once a session. */
  #report(problems: readonly string[]): void {
    for (const problem of problems) {
      if (this.#reported.has(problem)) continue;
      this.#reported.add(problem);
      this.#warnings.push(problem);
    }
  }
}

interface PartsBehindInput {
  readonly sent: FrozenParts;
  readonly now: FrozenParts;
  /** Those that the boundary keeps. */
  readonly announcements: Parameters<typeof changesToAnnounce>[0]["announcements"];
}

/**
 * Only the system prompt is rendered again: tools stand before it, and to change them would rewrite everything. What
 * kept announcements state already stays out of it, so that nothing is said twice.
 */
export function partsBehindBoundary({ sent, now, announcements }: PartsBehindInput): FrozenParts {
  const due = changesToAnnounce({ sent, announced: now, now, announcements });
  const dueNames = new Set(
    due.flatMap((change) =>
      change.kind === "system-added" || change.kind === "system-changed"
        ? [change.piece.name]
        : change.kind === "system-removed"
          ? [change.name]
          : [],
    ),
  );
  const sentByName = new Map(sent.system.map((piece) => [piece.name, piece]));
  const system = now.system.flatMap((piece): readonly SystemPiece[] => {
    const before = sentByName.get(piece.name);
    return before?.text === piece.text || dueNames.has(piece.name) ? [piece] : before === undefined ? [] : [before];
  });
  const { model, thinking, betas, tools } = sent;
  return { model, thinking, betas, tools, system };
}

function findChangedNames(before: readonly SystemPiece[], now: readonly SystemPiece[]): ReadonlySet<string> {
  const textByName = new Map(before.map(({ name, text }) => [name, text]));
  const names = new Set(now.map(({ name }) => name));
  return new Set([
    ...now.filter(({ name, text }) => textByName.get(name) !== text).map(({ name }) => name),
    ...before.filter(({ name }) => !names.has(name)).map(({ name }) => name),
  ]);
}
