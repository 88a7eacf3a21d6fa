import type { WriteFailure } from "../ports/blobs.ts";
import type {
  BlankOutcome,
  ByteRange,
  ByteSource,
  OpenForWriting,
  SetAside,
  TranscriptWriter,
} from "../ports/transcripts.ts";
import type { EntryId, ToolUseId } from "../schema/brand.ts";
import type { Entry } from "../schema/entry.ts";
import { type DamageKind, type Logged, readLines } from "../transcript/lines.ts";
import { type AcceptedFinding, acceptanceDrafts, Acceptances } from "./accepted-damage.ts";
import type { Finding } from "./finding.ts";
import { scanLines } from "./scan.ts";
import { readLog } from "./read-log.ts";
import { type OpenSession, Session, type SessionDeps } from "./session.ts";

export interface LogCheck {
  readonly bytes: number;
  readonly entries: number;
  /** Bytes that could not be read, or only with help, and entries that contradict each other. */
  readonly damage: readonly Finding[];
  /** Damage that an earlier repair could not mend: the log says how it is read. */
  readonly accepted: readonly AcceptedFinding[];
  /** What is unusual and harmless: records without a newline between them, calls without results, parents that lie in another file. */
  readonly notes: readonly Finding[];
}

/** Told how far it is after each piece; never goes back. */
export type Progress = (bytesDone: number) => void;

/** Reads the whole log once. Memory grows with the number of entries, not with their size. */
export async function checkLog(source: ByteSource, progress: Progress = () => {}): Promise<LogCheck> {
  const relations = new Relations();
  const acceptances = new Acceptances();
  const damage: Finding[] = [];
  const notes: Finding[] = [];
  let entries = 0;
  for await (const lines of scanLines(source)) {
    const read = lines.kind === "lines" ? readLines(lines) : { logged: [], damage: [lines.damage] };
    for (const one of read.damage) (one.kind === "glued" ? notes : damage).push(one);
    for (const logged of read.logged) {
      entries += 1;
      relations.take(logged);
      acceptances.take(logged.entry);
    }
    progress(lines.kind === "lines" ? lines.start + lines.bytes.length : lines.damage.end);
  }
  const found = relations.findings();
  return {
    bytes: source.size,
    entries,
    ...acceptances.split(inOrder([...damage, ...found.damage])),
    notes: inOrder([...notes, ...found.notes]),
  };
}

const inOrder = (findings: readonly Finding[]): Finding[] => findings.toSorted((one, other) => one.start - other.start);

/** Damage that blanking mends: what can't be read. A record that is whole is never blanked. */
const blankable: ReadonlySet<Finding["kind"]> = new Set([
  "torn",
  "nul",
  "utf8",
  "json",
  "not-an-entry",
] satisfies DamageKind[]);

export function repairRanges(damage: readonly Finding[]): ByteRange[] {
  return damage
    .filter(({ kind, start, end }) => blankable.has(kind) && end > start)
    .map(({ start, end }) => ({ start, end }));
}

export type LogRepair =
  | {
      readonly kind: "repaired";
      /** As it was once nobody else could write. */
      readonly found: LogCheck;
      readonly setAside: readonly SetAside[];
      readonly left: LogCheck;
    }
  | Exclude<OpenForWriting, { kind: "open" }>;

export interface RepairedSession extends Pick<OpenSession, "id" | "circumstances"> {
  readonly progress?: Progress;
}

/**
 * Blanks what can't be read. Other damage stays, and an appended entry says how it is read: the second check then finds
 * nothing. Looks only after it holds the session: what looked torn before may be a line that its writer has finished since.
 */
export async function repairLog(deps: SessionDeps, session: RepairedSession): Promise<LogRepair> {
  const { transcripts } = deps;
  const { id, progress } = session;
  const opened = await transcripts.openForWriting(id);
  if (opened.kind !== "open") return opened;
  const { writer } = opened;
  try {
    const source = await transcripts.openForReading(id);
    if (source === undefined) return { kind: "missing" };
    try {
      const found = await checkLog(source, progress);
      const ranges = repairRanges(found.damage);
      const blanked: BlankOutcome =
        ranges.length === 0 ? { kind: "blanked", setAside: [] } : await writer.blank(ranges);
      if (blanked.kind === "failed") return blanked;
      const readable = ranges.length === 0 ? found : await checkLog(source, progress);
      const { setAside } = blanked;
      if (readable.damage.length === 0) return { kind: "repaired", found, setAside, left: readable };
      const accepted = await acceptDamage(deps, { ...session, writer, readable });
      return accepted.kind === "failed" ? accepted : { kind: "repaired", found, setAside, left: accepted.check };
    } finally {
      await source.close();
    }
  } finally {
    await writer.close();
  }
}

interface UnmendedSession extends RepairedSession {
  readonly writer: TranscriptWriter;
  readonly readable: LogCheck;
}

type AcceptOutcome = { readonly kind: "checked"; readonly check: LogCheck } | WriteFailure;

/** The writer stays the caller's to close. */
async function acceptDamage(deps: SessionDeps, unmended: UnmendedSession): Promise<AcceptOutcome> {
  const { id, writer, readable, progress } = unmended;
  const log = await readLog(deps, id);
  if (log === undefined) throw new Error(`the log ${id} that is open for writing can't be read`);
  const session = new Session(deps, { writer, log, circumstances: { sessionId: id, ...unmended.circumstances } });
  const appended = await session.append(...acceptanceDrafts(readable.damage));
  if (appended.kind === "failed") return appended;
  const grown = await deps.transcripts.openForReading(id);
  if (grown === undefined) throw new Error(`the log ${id} that is open for writing can't be read`);
  try {
    return { kind: "checked", check: await checkLog(grown, progress) };
  } finally {
    await grown.close();
  }
}

interface Node {
  readonly parent: EntryId | undefined;
  readonly start: number;
  readonly end: number;
}

class Relations {
  readonly #nodes = new Map<EntryId, Node>();
  readonly #calls = new Map<ToolUseId, Finding>();
  readonly #answered = new Set<ToolUseId>();
  readonly #results: Finding[] = [];
  readonly #resultCalls: ToolUseId[] = [];
  readonly #damage: Finding[] = [];

  take({ entry, start, end }: Logged): void {
    const place = { start, end };
    if (entry.kind === "other" && entry.malformed !== undefined) {
      this.#damage.push({ kind: "malformed-edit", ...place, detail: entry.malformed, ...idOf(entry) });
    }
    this.#takeBlocks(entry, place);
    if (entry.id === undefined) return;
    if (this.#nodes.has(entry.id)) {
      this.#damage.push({
        kind: "duplicate-uuid",
        ...place,
        detail: "an earlier entry has this uuid; that one counts",
        uuid: entry.id,
      });
      return;
    }
    this.#nodes.set(entry.id, { parent: entry.parent ?? entry.logicalParent, ...place });
  }

  #takeBlocks(entry: Entry, place: ByteRange): void {
    if (entry.kind !== "user" && entry.kind !== "assistant") return;
    for (const block of entry.blocks) {
      if (block.type === "tool_use") {
        this.#calls.set(block.id, {
          kind: "unanswered-call",
          ...place,
          detail: `${block.name} ${block.id} has no result`,
          ...idOf(entry),
        });
      } else if (block.type === "tool_result") {
        this.#answered.add(block.tool_use_id);
        this.#resultCalls.push(block.tool_use_id);
        this.#results.push({
          kind: "orphan-result",
          ...place,
          detail: `the call ${block.tool_use_id} is not in the log`,
          ...idOf(entry),
        });
      }
    }
  }

  findings(): { damage: Finding[]; notes: Finding[] } {
    const notes = [...this.#calls].flatMap(([call, finding]) => (this.#answered.has(call) ? [] : [finding]));
    for (const [at, finding] of this.#results.entries()) {
      const call = this.#resultCalls[at];
      if (call !== undefined && !this.#calls.has(call)) notes.push(finding);
    }
    const cycles = this.#cycles();
    for (const [uuid, { parent, start, end }] of this.#nodes) {
      if (parent !== undefined && !this.#nodes.has(parent)) {
        notes.push({ kind: "missing-parent", start, end, detail: `the parent ${parent} is not in the log`, uuid });
      }
    }
    return { damage: [...this.#damage, ...cycles], notes };
  }

  /** One finding per cycle: the entry that closes it. Every node is walked once. */
  #cycles(): Finding[] {
    const found: Finding[] = [];
    const settled = new Set<EntryId>();
    for (const first of this.#nodes.keys()) {
      const walked = new Set<EntryId>();
      let at: EntryId | undefined = first;
      while (at !== undefined && !settled.has(at) && !walked.has(at)) {
        walked.add(at);
        at = this.#nodes.get(at)?.parent;
      }
      const closing = at !== undefined && walked.has(at) ? this.#nodes.get(at) : undefined;
      if (at !== undefined && closing !== undefined) {
        found.push({
          kind: "parent-cycle",
          start: closing.start,
          end: closing.end,
          detail: "its chain of parents leads back to it",
          uuid: at,
        });
      }
      for (const id of walked) settled.add(id);
    }
    return found;
  }
}

const idOf = (entry: Entry): { uuid?: EntryId } => (entry.id === undefined ? {} : { uuid: entry.id });
