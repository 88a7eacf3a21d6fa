import type { HashDep } from "palimpsest/internal/session/hash";
import { openForeign } from "palimpsest/internal/session/foreign";
import { scanForward } from "palimpsest/internal/session/scan";
import type { BlobsDep } from "palimpsest/internal/ports/blobs";
import type { ByteSource } from "palimpsest/internal/ports/transcripts";
import { tokens } from "palimpsest/internal/schema/brand";
import type { Logged } from "palimpsest/internal/transcript/lines";
import { needsOf } from "./needs.ts";
import type { RecordedRound, Recording } from "./recording.ts";
import { recordedSummaries } from "./recording/recorded-summaries.ts";
import { type BareRound, roundsOf } from "./recording/rounds.ts";
import { type Scale, scaleOf, sentBlocks } from "./recording/scale.ts";
import { uncutPath } from "./recording/uncut-path.ts";

export type RecordingReading =
  | { readonly kind: "recording"; readonly recording: Recording }
  | { readonly kind: "no-rounds" | "unreadable"; readonly why: string };

export interface RecordingSource {
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
): Promise<RecordingReading> {
  const opened = await openForeign(deps, source);
  if (opened.kind === "too-large")
    return {
      kind: "unreadable",
      why: `${opened.size} bytes of ${opened.format}: at most ${opened.max} are translated`,
    };
  try {
    const logged = await loggedIn(opened.source);
    if (logged.length === 0) return { kind: "unreadable", why: "it holds no entry that can be read" };
    const { blobs } = deps;
    const rounds = roundsOf(await uncutPath(blobs === undefined ? undefined : { blobs }, logged));
    if (rounds.length === 0) return { kind: "no-rounds", why: "no reply of a model stands on its path" };
    const summaries = await recordedSummaries({ ...opened, logged, rounds });
    return { kind: "recording", recording: { ...recordingOf(file, rounds), summaries } };
  } finally {
    await opened.source.close();
  }
}

async function loggedIn(source: ByteSource): Promise<Logged[]> {
  const logged: Logged[] = [];
  for await (const read of scanForward(source)) for (const one of read.logged) logged.push(one);
  return logged;
}

function recordingOf(file: string, bare: readonly BareRound[]): Recording {
  const scale = scaleOf(bare);
  const rounds = bare.map((round) => scaled(round, scale));
  return { file, model: usualModel(bare), rounds, ...scale, needs: needsOf(rounds) };
}

function scaled({ model: _model, grew: _grew, ...round }: BareRound, { tokensOf }: Scale): RecordedRound {
  const said = round.reply.flatMap(sentBlocks).reduce((sum, block) => sum + tokensOf(block), 0);
  return { ...round, outputTokens: round.usage?.output ?? tokens(said) };
}

function usualModel(rounds: readonly BareRound[]): string | undefined {
  const byModel = Map.groupBy(rounds, ({ model }) => model);
  return [...byModel]
    .toSorted(([, one], [, other]) => other.length - one.length)
    .find(([model]) => model !== undefined)?.[0];
}
