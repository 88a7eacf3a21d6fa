import { describe, expect, it } from "vitest";
import { bytesOf } from "../test/fixture/log.ts";
import { type Raw, result, text, user } from "../test/fixture/raw.ts";
import { recordingOf } from "../test/fixture/recording.ts";
import type { Recording } from "../packages/lab/src/recording/recording.ts";
import { calibration, neededAfter, type Sighting, sightingsIn, tableOf } from "./need-table.ts";

const line = "export function reckonTheWholeBill(of: Session): Money {";
const filler = "words that nobody ever says again, one after the other, and so on. ";

interface Step {
  readonly says?: string;
  readonly name?: string;
  readonly shows?: string;
}

async function recorded(steps: readonly Step[]): Promise<Recording> {
  const raws = steps.flatMap(({ says: said = "well", name = "Bash", shows = "ok" }, at): Raw[] => {
    const content = [text(said), { type: "tool_use", id: `t${at}`, name, input: { file_path: "/a" } }];
    return [
      { type: "assistant", uuid: `a${at}`, message: { id: `m${at}`, content } },
      result(`r${at}`, `t${at}`, shows),
    ];
  });
  const all = [user("u"), ...raws];
  return recordingOf(
    bytesOf(all.map((raw, at) => JSON.stringify({ parentUuid: all[at - 1]?.uuid ?? null, sessionId: "s", ...raw }))),
  );
}

const read: Step = { name: "Read", shows: `${line}\n${filler.repeat(40)}` };
const idle = (rounds: number): Step[] => Array.from({ length: rounds }, () => ({}));
const ages = (sightings: readonly Sighting[]): string[] =>
  sightings.map(({ ageRounds, isNeeded }) => `${ageRounds}${isNeeded ? "!" : ""}`);

describe("sightingsIn", () => {
  it("sees a result at the beginning of every age that it reaches, needed until its last use", async () => {
    const sightings = sightingsIn(await recorded([read, ...idle(4), { says: line }, ...idle(3)]));
    expect(ages(sightings)).toEqual(["1!", "3!", "1", "3"]);
    expect(sightings[0]).toMatchObject({ kind: "read" });
  });

  it("counts a change of the file as a use, until the file is read again", async () => {
    const edit: Step = { name: "Edit" };
    const again: Step = { name: "Read", shows: "short" };
    expect(ages(sightingsIn(await recorded([read, {}, edit, {}, again, edit, ...idle(2)])))).toEqual(["1", "1", "3"]);
  });

  it("leaves out results that are too small to be cleared", async () => {
    expect(sightingsIn(await recorded([{}, {}, {}]))).toEqual([]);
  });
});

describe("tableOf", () => {
  it("counts each sighting in its cell", () => {
    const sighting = { kind: "read", tokens: 3_000, ageRounds: 6 } as const;
    const table = tableOf([
      { ...sighting, isNeeded: true },
      { ...sighting, isNeeded: false },
    ]);
    expect(table.read[2]?.[2]).toEqual({ needed: 1, seen: 2 });
    expect(
      Object.values(table)
        .flat(2)
        .reduce((sum, { seen }) => sum + seen, 0),
    ).toBe(2);
  });
});

describe("calibration", () => {
  it("sets what was predicted beside what was observed", () => {
    const seen = (needed: number): Sighting[] =>
      Array.from({ length: 10_000 }, (_, at) => ({ kind: "read", tokens: 10, ageRounds: 1, isNeeded: at < needed }));
    const rows = calibration(tableOf(seen(2_000)), seen(1_000)).filter(({ results }) => results > 0);
    expect(rows).toHaveLength(1);
    expect(rows[0]).toMatchObject({ chanceMax: 0.25, observed: 0.1 });
    expect(rows[0]?.predicted).toBeCloseTo(0.2, 2);
  });
});

describe("neededAfter", () => {
  it("counts only results that stood so long and what was needed from then on", async () => {
    const shares = neededAfter([await recorded([read, {}, { says: line }, ...idle(3)])], 3);
    expect(shares.get("read")).toMatchObject({ results: 1, needed: 0 });
    const late = neededAfter([await recorded([read, ...idle(3), { says: line }])], 3);
    expect(late.get("read")).toMatchObject({ results: 1, needed: 1 });
  });
});
