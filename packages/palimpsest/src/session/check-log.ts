import type { WriteFailure } from "../ports/blobs.ts";
import type {
  BlankOutcome,
  ByteRange,
  ByteSource,
  OpenForWritingOutcome,
  SetAside,
  TranscriptWriter,
} from "../ports/transcripts.ts";
import type { EntryId, ToolUseId } from "../schema/brand.ts";
import type { Entry } from "../schema/entry.ts";
import { type DamageKind, type LoggedEntry, readLines } from "../transcript/read-lines.ts";
import { scanLines } from "./scan-lines.ts";
import { readLog } from "./counted-log.ts";
import { type OpenSessionOptions, Session, type SessionDeps } from "./session.ts";
import { z } from "zod";
import type { Json } from "../schema/json.ts";
import type { Draft } from "../transcript/draft.ts";
import { acceptedPerEntryMax } from "./limits.ts";

export interface LogCheck {
  readonly bytes: number;
  readonly entries: number;
  /** Bytes that could not be read, or only in part, and entries that contradict each other. */
  readonly damage: readonly Finding[];
  /** Damage that an earlier repair could not fix: the log records how it is read. */
  readonly accepted: readonly AcceptedFinding[];
  /** Unusual but harmless: records without a newline between them, calls without results, parents in another file. */
  readonly notes: readonly Finding[];
}

/** Called after each piece; the value never decreases within one check. */
export type OnProgress = (bytesDone: number) => void;

/** Reads the whole log once. Memory grows with the number of entries, not with their size. */
export async function checkLog(source: ByteSource, progress: OnProgress = () => {}): Promise<LogCheck> {
  const relations = new EntryRelations();
  const acceptances = new AcceptedDamage();
  const damage: Finding[] = [];
  const notes: Finding[] = [];
  let entries = 0;
  for await (const lines of scanLines(source)) {
    const read = lines.kind === "lines" ? readLines(lines) : { logged: [], damage: [lines.damage] };
    for (const finding of read.damage) (finding.kind === "glued" ? notes : damage).push(finding);
    for (const logged of read.logged) {
      entries += 1;
      relations.add(logged);
      acceptances.add(logged.entry);
    }
    progress(lines.kind === "lines" ? lines.start + lines.bytes.length : lines.damage.end);
  }
  const found = relations.findings();
  return {
    bytes: source.size,
    entries,
    ...acceptances.split(sortByStart([...damage, ...found.damage])),
    notes: sortByStart([...notes, ...found.notes]),
  };
}

const sortByStart = (findings: readonly Finding[]): Finding[] =>
  findings.toSorted((one, other) => one.start - other.start);

/** Damage that blanking fixes: bytes that can't be read. A record that is whole is never blanked. */
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

type RepairOutcome =
  | {
      readonly kind: "repaired";
      /** The check that was made once the session was locked. */
      readonly found: LogCheck;
      readonly setAside: readonly SetAside[];
      readonly left: LogCheck;
    }
  | Exclude<OpenForWritingOutcome, { kind: "open" }>;

interface RepairLogInput extends Pick<OpenSessionOptions, "id" | "circumstances"> {
  readonly progress?: OnProgress;
}

/**
 * Blanks what can't be read. Other damage stays, and an appended entry records how it is read, so that the second check
 * finds no damage. Checks only after it holds the lock: what looked torn before may be a line that its writer has
 * finished since.
 */
export async function repairLog(deps: SessionDeps, session: RepairLogInput): Promise<RepairOutcome> {
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

interface AcceptDamageInput extends RepairLogInput {
  readonly writer: TranscriptWriter;
  readonly readable: LogCheck;
}

type AcceptOutcome = { readonly kind: "checked"; readonly check: LogCheck } | WriteFailure;

/** The caller closes the writer. */
async function acceptDamage(
  deps: SessionDeps,
  { id, circumstances, writer, readable, progress }: AcceptDamageInput,
): Promise<AcceptOutcome> {
  const log = await readLog(deps, id);
  if (log === undefined) throw new Error(`the log ${id} that is open for writing can't be read`);
  const session = new Session(deps, { writer, log, circumstances: { sessionId: id, ...circumstances } });
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

interface EntryNode {
  readonly parent: EntryId | undefined;
  readonly start: number;
  readonly end: number;
}

class EntryRelations {
  readonly #nodes = new Map<EntryId, EntryNode>();
  readonly #calls = new Map<ToolUseId, Finding>();
  readonly #answered = new Set<ToolUseId>();
  readonly #results: Finding[] = [];
  readonly #resultCalls: ToolUseId[] = [];
  readonly #damage: Finding[] = [];

  add({ entry, start, end }: LoggedEntry): void {
    const place = { start, end };
    if (entry.kind === "other" && entry.malformed !== undefined) {
      this.#damage.push({ kind: "malformed-edit", ...place, detail: entry.malformed, ...uuidField(entry) });
    }
    this.#addBlocks(entry, place);
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

  #addBlocks(entry: Entry, place: ByteRange): void {
    if (entry.kind !== "user" && entry.kind !== "assistant") return;
    for (const block of entry.blocks) {
      if (block.type === "tool_use") {
        this.#calls.set(block.id, {
          kind: "unanswered-call",
          ...place,
          detail: `${block.name} ${block.id} has no result`,
          ...uuidField(entry),
        });
      } else if (block.type === "tool_result") {
        this.#answered.add(block.tool_use_id);
        this.#resultCalls.push(block.tool_use_id);
        this.#results.push({
          kind: "orphan-result",
          ...place,
          detail: `the call ${block.tool_use_id} is not in the log`,
          ...uuidField(entry),
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
    const cycles = this.#findCycles();
    for (const [uuid, { parent, start, end }] of this.#nodes) {
      if (parent !== undefined && !this.#nodes.has(parent)) {
        notes.push({ kind: "missing-parent", start, end, detail: `the parent ${parent} is not in the log`, uuid });
      }
    }
    return { damage: [...this.#damage, ...cycles], notes };
  }

  /** One finding per cycle: the entry that closes it. Every node is walked once. */
  #findCycles(): Finding[] {
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

const uuidField = (entry: Entry): { uuid?: EntryId } => (entry.id === undefined ? {} : { uuid: entry.id });

/**
 * The setting that records what blanking can't fix: entries that are whole but contradict each other, and lines too long
 * to read. They stay as they are, since nothing may be lost; the setting names them and says how they are read. Byte
 * ranges identify them: a log only grows, and a blanked range keeps its length.
 */
const acceptedSettingName = "fsck.accepted";
const acceptedShape = z.array(z.object({ kind: z.string(), start: z.number(), end: z.number() }));

/** How the reader treats each kind. */
const readAs: { readonly [Kind in Finding["kind"]]?: string } = {
  "duplicate-uuid": "the first entry with this uuid counts, this one is passed over",
  "parent-cycle": "the chain of parents ends here and goes on at the entry before it in the log",
  "malformed-edit": "it changes nothing",
  "too-long": "it is passed over",
};

interface AcceptedFinding extends Finding {
  /** When it was accepted, according to the log. */
  readonly at: string;
}

/** Splits the findings over several entries, since a line has a limit. */
function acceptanceDrafts(findings: readonly Finding[]): readonly Draft[] {
  const drafts: Draft[] = [];
  for (let at = 0; at < findings.length; at += acceptedPerEntryMax) {
    const value = findings.slice(at, at + acceptedPerEntryMax).map(({ kind, start, end, uuid }): Json => ({
      kind,
      start,
      end,
      read: readAs[kind] ?? "as it stands",
      ...(uuid === undefined ? {} : { uuid }),
    }));
    drafts.push({ type: "setting", name: acceptedSettingName, value });
  }
  return drafts;
}

/** Collects the damage that entries of a log have accepted. `split` must be called after all entries were added. */
class AcceptedDamage {
  readonly #atByPlace = new Map<string, string>();

  add(entry: Entry): void {
    if (entry.kind !== "edit" || entry.edit.type !== "setting" || entry.edit.name !== acceptedSettingName) return;
    for (const finding of acceptedShape.safeParse(entry.edit.value).data ?? [])
      this.#atByPlace.set(findingKey(finding), entry.timestamp ?? "");
  }

  split(findings: readonly Finding[]): {
    readonly damage: readonly Finding[];
    readonly accepted: readonly AcceptedFinding[];
  } {
    const damage: Finding[] = [];
    const accepted: AcceptedFinding[] = [];
    for (const finding of findings) {
      const at = this.#atByPlace.get(findingKey(finding));
      if (at === undefined) damage.push(finding);
      else accepted.push({ ...finding, at });
    }
    return { damage, accepted };
  }
}

const findingKey = ({ kind, start, end }: { kind: string; start: number; end: number }): string =>
  `${kind} ${start}-${end}`;

/** Problems between entries whose bytes are whole. */
type StructureKind =
  | "duplicate-uuid"
  | "missing-parent"
  | "parent-cycle"
  | "unanswered-call"
  | "orphan-result"
  | "malformed-edit";

export interface Finding {
  readonly kind: DamageKind | StructureKind;
  readonly start: number;
  readonly end: number;
  readonly detail: string;
  readonly uuid?: EntryId;
}
