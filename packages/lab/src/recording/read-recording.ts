import type { HashDep } from "palimpsest/internal/session/session-origin";
import { openForeign } from "palimpsest/internal/session/adopt-once";
import { scanForward } from "palimpsest/internal/session/scan-lines";
import type { BlobsDep } from "palimpsest/internal/ports/blobs";
import type { ByteSource, ByteRange } from "palimpsest/internal/ports/transcripts";
import { tokens, type EntryId } from "palimpsest/internal/schema/brand";
import type { LoggedEntry } from "palimpsest/internal/transcript/read-lines";
import { findNeeds } from "./find-needs.ts";
import { readCacheHistory } from "./recorded-cache.ts";
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
  /** The name in reports. */
  readonly file: string;
  readonly source: ByteSource;
}

export interface ReadRecordingDeps extends Partial<BlobsDep> {
  readonly sha256: HashDep;
}

/**
 * Reads a session, our own or another agent's in any known format, as rounds. Closes the source. With `blobs`, offloaded
 * results get their full content; without, they have the content in the log.
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
    if (logged.length === 0) return { kind: "unreadable", why: "it has no readable entry" };
    const { blobs } = deps;
    const rounds = splitRounds(await uncutPath(blobs === undefined ? undefined : { blobs }, logged));
    if (rounds.length === 0) return { kind: "no-rounds", why: "its path has no reply of a model" };
    const summaries = await readRecordedSummaries({ ...opened, logged, rounds });
    return { kind: "recording", recording: { ...buildRecording(file, rounds), summaries } };
  } finally {
    await opened.source.close();
  }
}

async function readAllEntries(source: ByteSource): Promise<LoggedEntry[]> {
  const logged: LoggedEntry[] = [];
  for await (const read of scanForward(source)) for (const entry of read.logged) logged.push(entry);
  return logged;
}

function buildRecording(file: string, bare: readonly BareRound[]): Recording {
  const scale = computeScale(bare);
  const history = readCacheHistory(bare, scale.headerTokens);
  const rounds = bare.map((round, index) => {
    const cacheEvents = history?.events[index] ?? [];
    return { ...scaleRound(round, scale), ...(cacheEvents.length === 0 ? {} : { cacheEvents }) };
  });
  return {
    file,
    model: usualModel(bare),
    rounds,
    ...scale,
    ...(history === undefined ? {} : { cache: history.cache }),
    needs: findNeeds(rounds),
  };
}

function scaleRound({ model: _model, grew: _grew, ...round }: BareRound, { tokensOf }: Scale): RecordedRound {
  const replyTokens = round.reply.flatMap(requestBlocks).reduce((sum, block) => sum + tokensOf(block), 0);
  return { ...round, outputTokens: round.usage?.output ?? tokens(replyTokens) };
}

function usualModel(rounds: readonly BareRound[]): string | undefined {
  const byModel = Map.groupBy(rounds, ({ model }) => model);
  return [...byModel].toSorted(([, a], [, b]) => b.length - a.length).find(([model]) => model !== undefined)?.[0];
}

interface RecordedSummariesInput {
  readonly source: ByteSource;
  readonly format: LogFormat | undefined;
  readonly logged: readonly LoggedEntry[];
  readonly rounds: readonly Pick<RecordedRound, "before" | "reply">[];
}

/** The summaries that the recorded agent wrote, if a preset models that agent. Reads their lines again to find the agent's version. */
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
    const nextRound = entry.id === undefined ? undefined : nextRoundByEntry.get(entry.id);
    round = nextRound ?? round;
    // A summary that is part of the rounds begins the log, and what it summarises is not recorded.
    if (entry.kind !== "user" || !entry.summary || nextRound !== undefined || round === undefined) continue;
    const text = entry.blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
    const policy = format === "opencode" ? "opencode" : findPreset(await readVersion(source, { start, end }));
    if (policy !== undefined && text.trim() !== "") summaries.push({ round, policy, text });
  }
  return summaries;
}

async function readVersion(source: ByteSource, range: ByteRange): Promise<string | undefined> {
  const line = tryParseJson(new TextDecoder().decode(await source.read(range)));
  return isObject(line) ? textField(line, "version") : undefined;
}

const findPreset = (version = ""): string | undefined => {
  const series = /^2\.[01](?=\.)/.exec(version)?.[0];
  return series === undefined ? undefined : `claude-code-${series}`;
};
