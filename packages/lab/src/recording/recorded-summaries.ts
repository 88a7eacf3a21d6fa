import type { LogFormat } from "palimpsest/internal/import/importer";
import type { ByteRange, ByteSource } from "palimpsest/internal/ports/transcripts";
import type { EntryId } from "palimpsest/internal/schema/brand";
import { isObject, parsedOrUndefined, text } from "palimpsest/internal/schema/json";
import type { Logged } from "palimpsest/internal/transcript/lines";
import type { RecordedRound, RecordedSummary } from "../recording.ts";

export interface SummariesInput {
  readonly source: ByteSource;
  readonly format: LogFormat | undefined;
  readonly logged: readonly Logged[];
  readonly rounds: readonly Pick<RecordedRound, "before" | "reply">[];
}

/** Summaries that the recorded agent wrote itself, of agents whose rules are a preset. Reads their lines once more, for the version that wrote them. */
export async function recordedSummaries(input: SummariesInput): Promise<readonly RecordedSummary[]> {
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
    const policy = format === "opencode" ? "opencode" : presetOfVersion(await versionAt(source, { start, end }));
    if (policy !== undefined && words.trim() !== "") summaries.push({ round, policy, text: words });
  }
  return summaries;
}

async function versionAt(source: ByteSource, place: ByteRange): Promise<string | undefined> {
  const line = parsedOrUndefined(new TextDecoder().decode(await source.read(place)));
  return isObject(line) ? text(line, "version") : undefined;
}

const presetOfVersion = (version = ""): string | undefined => {
  const series = /^2\.[01](?=\.)/.exec(version)?.[0];
  return series === undefined ? undefined : `claude-code-${series}`;
};
