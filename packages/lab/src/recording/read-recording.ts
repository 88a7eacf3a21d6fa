import type { HashDep } from "palimpsest/internal/session/session-origin";
import { openForeign } from "palimpsest/internal/session/open-foreign";
import { scanForward } from "palimpsest/internal/session/scan-lines";
import type { BlobsDep } from "palimpsest/internal/ports/blobs";
import type { ByteSource, ByteRange } from "palimpsest/internal/ports/transcripts";
import { tokens, type EntryId } from "palimpsest/internal/schema/brand";
import type { LoggedEntry } from "palimpsest/internal/transcript/read-lines";
import { findNeeds } from "./find-needs.ts";
import type { RecordedRound, Recording, RecordedSummary } from "./recording.ts";
import { type BareRound, splitRounds } from "./split-rounds.ts";
import { type Scale, computeScale, requestBlocks } from "./scale.ts";
import { uncutPath } from "./uncut-path.ts";
import type { LogFormat } from "palimpsest/internal/import/importer";
import { isObject, tryParseJson, textField } from "palimpsest/internal/schema/json";

export type ReadRecordingOutcome =
  | { readonly kind: "recording"; readonly recording: Recording }
  | { readonly kind: "no-rounds" | "unreadable"; readonly why: string };

interface RecordingSource {
  /** By which it is named in reports. */
  readonly file: string;
  readonly source: ByteSource;
}

export interface ReadRecordingDeps extends Partial<BlobsDep> {
  readonly sha256: HashDep;
}

/**
 * A session of ours or another agent's, in any form that can be opened, as rounds. Takes the source over. With `blobs`
 * offloaded results are whole again; without, they are what the log holds.
 */
export async function readRecording(
  deps: ReadRecordingDeps,
  { file, source }: RecordingSource,
): Promise<ReadRecordingOutcome> {
  const opened = await openForeign(deps, source);
  if (opened.kind === "too-large")
    return {
      kind: "unreadable",
      why: `${opened.size} bytes of ${opened.format}: at most ${opened.max} are translated`,
    };
  try {
    const logged = await readAllEntries(opened.source);
    if (logged.length === 0) return { kind: "unreadable", why: "it holds no entry that can be read" };
    const { blobs } = deps;
    const rounds = splitRounds(await uncutPath(blobs === undefined ? undefined : { blobs }, logged));
    if (rounds.length === 0) return { kind: "no-rounds", why: "no reply of a model stands on its path" };
    const summaries = await readRecordedSummaries({ ...opened, logged, rounds });
    return { kind: "recording", recording: { ...buildRecording(file, rounds), summaries } };
  } finally {
    await opened.source.close();
  }
}

async function readAllEntries(source: ByteSource): Promise<LoggedEntry[]> {
  const logged: LoggedEntry[] = [];
  for await (const read of scanForward(source)) for (const one of read.logged) logged.push(one);
  return logged;
}

function buildRecording(file: string, bare: readonly BareRound[]): Recording {
  const scale = computeScale(bare);
  const rounds = bare.map((round) => scaleRound(round, scale));
  return { file, model: usualModel(bare), rounds, ...scale, needs: findNeeds(rounds) };
}

function scaleRound({ model: _model, grew: _grew, ...round }: BareRound, { tokensOf }: Scale): RecordedRound {
  const said = round.reply.flatMap(requestBlocks).reduce((sum, block) => sum + tokensOf(block), 0);
  return { ...round, outputTokens: round.usage?.output ?? tokens(said) };
}

function usualModel(rounds: readonly BareRound[]): string | undefined {
  const byModel = Map.groupBy(rounds, ({ model }) => model);
  return [...byModel]
    .toSorted(([, one], [, other]) => other.length - one.length)
    .find(([model]) => model !== undefined)?.[0];
}

interface RecordedSummariesInput {
  readonly source: ByteSource;
  readonly format: LogFormat | undefined;
  readonly logged: readonly LoggedEntry[];
  readonly rounds: readonly Pick<RecordedRound, "before" | "reply">[];
}

/** Summaries that the recorded agent wrote itself, of agents whose rules are a preset. Reads their lines once more, for the version that wrote them. */
async function readRecordedSummaries(input: RecordedSummariesInput): Promise<readonly RecordedSummary[]> {
  const { source, format, logged, rounds } = input;
  const nextRoundByEntry = new Map<EntryId, number>();
  for (const [round, { before, reply }] of rounds.entries()) {
    for (const { id } of before) if (id !== undefined) nextRoundByEntry.set(id, round);
    for (const { id } of reply) if (id !== undefined) nextRoundByEntry.set(id, round + 1);
  }
  const summaries: RecordedSummary[] = [];
  let round: number | undefined;
  for (const { entry, start, end } of logged) {
    const said = entry.id === undefined ? undefined : nextRoundByEntry.get(entry.id);
    round = said ?? round;
    // One that is part of the rounds begins the log: what it stands for is nowhere.
    if (entry.kind !== "user" || !entry.summary || said !== undefined || round === undefined) continue;
    const words = entry.blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
    const policy = format === "opencode" ? "opencode" : findPreset(await readVersion(source, { start, end }));
    if (policy !== undefined && words.trim() !== "") summaries.push({ round, policy, text: words });
  }
  return summaries;
}

async function readVersion(source: ByteSource, place: ByteRange): Promise<string | undefined> {
  const line = tryParseJson(new TextDecoder().decode(await source.read(place)));
  return isObject(line) ? textField(line, "version") : undefined;
}

const findPreset = (version = ""): string | undefined => {
  const series = /^2\.[01](?=\.)/.exec(version)?.[0];
  return series === undefined ? undefined : `claude-code-${series}`;
};
