import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Asking } from "../../../../test/fixture/asking.ts";
import { compactAt, handedBack, longTalk, thresholdBeta } from "../../../../test/fixture/compacted.ts";
import { answers, assistantSays, calls, requestOf, said, userSays } from "../../../../test/fixture/scene.ts";
import { ruleSummaryTokensMax, ruleSummaryTokensMin } from "../limits.ts";
import { Simulator } from "../simulator.ts";
import { countTokens } from "../prompt/count-tokens.ts";
import { compactionMove, summaryMove, summaryTokensMax } from "./summary-move.ts";

const ask = userSays("Sum it up.");
const words = (count: number): string => Array.from({ length: count }, (_, at) => `word${at % 97}`).join(" ");

describe("a summary for the server's compaction", () => {
  it("has the whole of what is short", () => {
    const request = requestOf([userSays("Mend the pump."), assistantSays("I opened it."), ask]);
    expect(compactionMove(request)).toEqual(summaryMove(request));
  });

  it("keeps a long message's beginning and end, and says how much is missing", () => {
    const text = said(compactionMove(requestOf([userSays(`Begin here. ${words(30_000)} And end there.`), ask])));
    expect(text).toMatch(/- Begin here\. [^]*\[… \d{5,} characters left out …\][^]* And end there\.\n\n7\. /);
  });

  it("keeps the first and the newest of many messages", () => {
    const messages = Array.from({ length: 5000 }, (_, at) => [userSays(`Wish ${at}.`), assistantSays("Done.")]).flat();
    const text = said(compactionMove(requestOf([...messages, ask])));
    expect(text).toMatch(/6\. All User Messages:\n- Wish 0\.\n[^]*characters left out[^]*- Wish 4999\.\n\n7\. /);
  });

  it.each([
    [100, ruleSummaryTokensMin],
    [10_000, 1_000],
    [200_000, ruleSummaryTokensMax],
  ])("may have a tenth of the conversation, within bounds: %i tokens", (tokens, expected) => {
    const word = "a ";
    const each = countTokens(word.repeat(1000)) / 1000;
    const request = requestOf([userSays(word.repeat(Math.round(tokens / each))), ask]);
    expect(summaryTokensMax(request) / expected).toBeCloseTo(1, 2);
  });

  it("is never longer than it may be, whatever was said", () => {
    const text = fc.oneof(
      fc.string({ unit: "grapheme" }),
      fc.tuple(fc.string({ unit: "grapheme", minLength: 1 }), fc.nat(1000)).map(([one, times]) => one.repeat(times)),
      fc.constantFrom(words(3000), "1. Primary Request:\nx\n\n6. All User Messages:\n", "`a.ts` ".repeat(500)),
    );
    const turn = fc
      .tuple(text, text, text, fc.boolean(), fc.nat())
      .map(([asked, path, result, is_error, id]) => [
        userSays(asked),
        assistantSays(path, calls(`t${id}`, "edit", { path, new_string: result })),
        answers(`t${id}`, result, { is_error }),
      ]);
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 6 }), (turns) => {
        const request = requestOf([...turns.flat(), ask]);
        const summary = said(compactionMove(request));
        expect(countTokens(summary)).toBeLessThanOrEqual(summaryTokensMax(request));
        expect(summary.isWellFormed()).toBe(true);
      }),
      { numRuns: 25 },
    );
  });

  it("keeps what earlier ones knew: files, steps, errors and the newest request of three in a row", () => {
    const part = (n: number): readonly object[] => [
      assistantSays(`Part ${n} is next.`, calls(`r${n}`, "read", { path: `src/part-${n}.ts` })),
      answers(`r${n}`, words(8000)),
      assistantSays(
        `Part ${n} is mended.`,
        calls(`e${n}`, "edit", { path: `src/mended-${n}.ts`, new_string: `- code ${n}` }),
      ),
      answers(`e${n}`, `Error: no lock ${n}`, { is_error: true }),
    ];
    const summed = (...messages: readonly object[]): string => said(compactionMove(requestOf([...messages, ask])));
    const long = userSays(words(20_000));
    const first = summed(
      long,
      userSays("Mend every part."),
      ...part(1),
      userSays("Skip part 9:\n- all of it"),
      ...part(2),
    );
    const second = summed(userSays(first), long, ...part(3), userSays("Be\nquick."), assistantSays("Yes."));
    const third = summed(userSays(second), ...part(4), ...part(2));
    for (const n of [1, 2, 3, 4]) {
      expect(third).toContain(`- src/part-${n}.ts (read)\n`);
      expect(third.split(`- src/mended-${n}.ts (changed)\n\`\`\`\n- code ${n}\n\`\`\`\n`)).toHaveLength(2);
      expect(third).toContain(`Error: no lock ${n}`);
      expect(third).toContain(`- Part ${n} is next.\n`);
    }
    expect(third).toMatch(/9\. Optional Next Step:\n- Carry on with: "Be quick\."\n<\/summary>$/);
  });

  it("lets the oldest go where there is no room for all that earlier ones knew", () => {
    const read = (n: number): readonly object[] => [
      assistantSays(calls(`t${n}`, "read", { path: `src/${"deep/".repeat(60)}part-${n}.ts` })),
      answers(`t${n}`, "text"),
    ];
    let summary = "";
    for (let n = 0; n < 30; n += 1) {
      const request = requestOf([userSays(summary === "" ? "Read every part." : summary), ...read(n), ask]);
      summary = said(compactionMove(request));
      expect(countTokens(summary)).toBeLessThanOrEqual(summaryTokensMax(request));
    }
    expect(summary).toContain("part-29.ts (read)");
    expect(summary).not.toContain("part-0.ts (read)");
    expect(summary).toContain('Carry on with: "Read every part."');
  });

  it("gets one long message under the threshold for good", async () => {
    const asking = new Asking(new Simulator(), { model: "claude-opus-5", ...compactAt() });
    const first = await asking.message({ messages: [longTalk()] }, thresholdBeta);
    const messages = [longTalk(), handedBack(first), { role: "user", content: "Go on." }];
    const second = await asking.message({ messages }, thresholdBeta);
    expect([first, second].map(({ content }) => content.map(({ type }) => type))).toEqual([
      ["compaction", "text"],
      ["text"],
    ]);
  });
});

describe("a summary that a client asks for", () => {
  it("has a long message whole, and once", () => {
    const text = said(summaryMove(requestOf([userSays(words(3000)), ask])));
    expect(text.split(words(3000))).toHaveLength(2);
  });
});
