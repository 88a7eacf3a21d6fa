import { describe, expect, it } from "vitest";
import { bytesOf } from "../../../../test/fixture/log.ts";
import { boundary, type Raw, says, text, user } from "../../../../test/fixture/raw.ts";
import { recordingOf } from "../../../../test/fixture/recording.ts";

const session = (version: string | undefined): readonly Raw[] => [
  user("u1", "One."),
  says("a1", "m1", text("Yes.")),
  user("u2", "Two."),
  says("a2", "m2", text("Yes.")),
  boundary("b"),
  user("s", "What was said.", { isCompactSummary: true, ...(version === undefined ? {} : { version }) }),
  user("u3", "Three."),
  says("a3", "m3", text("Yes.")),
];
const summariesOf = async (raws: readonly Raw[]) =>
  (
    await recordingOf(
      bytesOf(
        raws.map((raw, at) => JSON.stringify({ parentUuid: raws[at - 1]?.uuid ?? null, sessionId: "s", ...raw })),
      ),
    )
  ).summaries;

describe("summaries of the recorded agent", () => {
  it.each([
    ["2.0.14", "claude-code-2.0"],
    ["2.1.7", "claude-code-2.1"],
  ])("are told with the round they stand before, of version %s as of %s", async (version, policy) => {
    expect(await summariesOf(session(version))).toEqual([{ round: 2, policy, text: "What was said." }]);
  });

  it.each([["1.0.3"], ["2.10.1"], [undefined]])("are none where no preset is that version: %s", async (version) => {
    expect(await summariesOf(session(version))).toEqual([]);
  });

  it("are none that begin a log: what they stand for is not in it", async () => {
    expect(await summariesOf(session("2.1.7").slice(5))).toEqual([]);
  });
});
