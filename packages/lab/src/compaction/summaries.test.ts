import { describe, expect, it } from "vitest";
import { bytesOf } from "../../../../test/fixture/log.ts";
import { type Raw, result, says, text, user } from "../../../../test/fixture/raw.ts";
import { recordingOf } from "../../../../test/fixture/recording.ts";
import type { Policy } from "palimpsest/internal/layers/policy";
import { getPreset } from "palimpsest/internal/policy/policy-catalogue";
import type { Block, TextBlock } from "palimpsest/internal/schema/block";
import type { EntryId } from "palimpsest/internal/schema/brand";
import type { Entry } from "palimpsest/internal/schema/entry";
import { prefixCache } from "../replay-cache.ts";
import { thresholdsFor } from "../replay-file.ts";
import { createReplayWorld, type ReplayWorld } from "../replay-world.ts";
import { type CompactedView, PolicyRun } from "../policy-run.ts";
import type { SentRequest } from "../trace-line.ts";

const read = (n: number, path: string): readonly Raw[] => [
  says(`a${n}`, `m${n}`, { type: "tool_use", id: `t${n}`, name: "Read", input: { file_path: path } }),
  result(`r${n}`, `t${n}`, `the content of ${path}, number ${n}\n`.repeat(80)),
];
const first = "Mend the clock in the tower, and leave the bells alone.";
const session: readonly Raw[] = [
  user("u1", first),
  ...read(1, "/clock/hands.ts"),
  ...read(2, "/clock/face.ts"),
  says("b", "mb", text("The hands are mended.")),
  user("u2", "Now the face."),
  ...read(3, "/clock/hands.ts"),
];
const waiting = user("u3", "And the weights?");
const answered = says("z", "mz", text("Yes."));

/** Nothing makes room but compaction, and only at the threshold, which is noticed at once. */
const compacting = (policy: Policy): Policy => ({
  ...policy,
  counting: "usage-and-calibrated-estimate",
  clear: {},
  compact: { call: "fork", restores: "files", lastRung: "none", ...withoutEarly(policy.compact) },
});
const withoutEarly = (rule: Partial<NonNullable<Policy["compact"]>> = {}) => {
  const { early: _early, ...rest } = rule;
  return rest;
};
const palimpsest = compacting(getPreset("palimpsest"));
const claudeCode = compacting(getPreset("claude-code-2026"));

async function worldOf(raws: readonly Raw[]): Promise<ReplayWorld> {
  const lines = raws.map((raw, at, all) =>
    JSON.stringify({ parentUuid: all[at - 1]?.uuid ?? null, sessionId: "s", ...raw }),
  );
  return createReplayWorld(await recordingOf(bytesOf(lines)));
}

interface Compaction extends Omit<CompactedView, "kept"> {
  readonly kept: readonly EntryId[];
  readonly blocks: readonly Block[];
  readonly said: string;
}

async function run(raws: readonly Raw[], { policy, window }: { readonly policy: Policy; readonly window: number }) {
  const world = await worldOf([...raws, answered]);
  const compactions: Compaction[] = [];
  const sent: SentRequest[] = [];
  const runs = new PolicyRun({
    world,
    policy,
    lifetime: "5m",
    thresholds: thresholdsFor(policy, { world, request: { windowTokens: window } }),
    cache: prefixCache(),
    refetch: "charged",
    compaction: "extract",
    onRequest: (one) => sent.push(one),
    onCompacted: (view) => {
      const blocks = view.messages.flatMap(({ content }) => content);
      compactions.push({ ...view, blocks, said: wordsOf(blocks) });
    },
  });
  await runs.run();
  return { world, compactions, sent, rounds: world.recording.rounds.length, spending: runs.spending };
}

/** Before the last request: a long reply near the beginning leaves no more room than for half of what comes last. */
async function compacted(raws: readonly Raw[], policy: Policy, window = 200_000) {
  const filled = (words: number): readonly Raw[] => [
    ...raws.slice(0, 1),
    says("f", "mf", filler(words)),
    user("g", "Go on."),
    ...raws.slice(1),
  ];
  const world = await worldOf([...filled(0), answered]);
  const tokensIn = (entries: readonly Entry[]): number =>
    entries
      .flatMap((entry) => ("blocks" in entry ? entry.blocks : []))
      .reduce((sum, one) => sum + world.tokensOf(one), 0);
  const { rounds, headerTokens } = world.recording;
  const last = rounds.at(-1)?.before ?? [];
  const before = rounds.slice(0, -1).reduce((sum, round) => sum + tokensIn([...round.before, ...round.reply]), 0);
  const { compact } = thresholdsFor(policy, { world, request: { windowTokens: window } });
  const room = compact - headerTokens - before - tokensIn(last) / 2;
  const perThousand = world.tokensOf(filler(2_000)) - world.tokensOf(filler(1_000));
  const outcome = await run(filled(Math.floor((1_000 * room) / perThousand)), { policy, window });
  const [only] = outcome.compactions;
  if (only === undefined || only.round !== outcome.rounds - 1) throw new Error(`compacted before round ${only?.round}`);
  return { ...outcome, ...only };
}

const filler = (words: number): TextBlock => ({ type: "text", text: `So: ${"tick ".repeat(words)}` });

const wordsOf = (blocks: readonly Block[]): string =>
  blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");

describe("a compaction that is made from what was said", () => {
  it("has the user's words in a ledger, and the newest content of the files read last", async () => {
    const { said } = await compacted(session, palimpsest);
    for (const words of [first, "Now the face."]) expect(said).toContain(`>\n${words}\n</user-message>`);
    expect(said).toContain(
      "Content of /clock/hands.ts, read again just now:\nthe content of /clock/hands.ts, number 3",
    );
    expect(said).not.toContain("/clock/hands.ts, number 1");
    expect(said).toContain("number 2");
  });

  it("is as large as its texts are, and its call wrote the summary alone", async () => {
    const { world, blocks, tokensAfter, spending } = await compacted(session, palimpsest);
    const leavesTokens = blocks.reduce((sum, block) => sum + world.tokensOf(block), 0);
    expect(tokensAfter).toBe(world.recording.headerTokens + leavesTokens);
    expect(spending.outputTokens).toBeGreaterThan(0);
    expect(spending.outputTokens).toBeLessThan(leavesTokens / 2);
  });

  it("leaves what waits for its answer, and nothing else of what was said", async () => {
    const { kept, said, blocks } = await compacted([...session, says("y", "my", text("Done.")), waiting], palimpsest);
    expect(kept).toEqual(["u3"]);
    expect(said).toContain("And the weights?");
    expect(blocks.every(({ type }) => type === "text")).toBe(true);
  });

  it("keeps the first request through all of them, at a size that does not grow", async () => {
    const more = Array.from({ length: 12 }, (_, n): readonly Raw[] => [
      user(`v${n}`, `More of it, ${n}.`),
      says(`c${n}`, `mc${n}`, text(`${n} ${"tick ".repeat(60_000)}`)),
    ]).flat();
    const { compactions } = await run([...session, says("y", "my", text("Done.")), ...more, waiting], {
      policy: palimpsest,
      window: 200_000,
    });
    expect(compactions.length).toBeGreaterThan(3);
    for (const { said } of compactions) expect(said).toContain(first);
    const sizes = compactions.map(({ tokensAfter }) => tokensAfter);
    expect(Math.max(...sizes)).toBeLessThan((sizes[0] ?? 0) + 12 * 60);
  });

  it("has the messages inside the summary, under a policy without a ledger", async () => {
    const { blocks } = await compacted(session, claudeCode);
    const summary = wordsOf(blocks.slice(0, 1));
    expect(summary).toContain(first);
    expect(summary.endsWith("</system-reminder>")).toBe(true);
  });

  it("puts back what is still to be done, under a policy that does", async () => {
    const todos = [
      { content: "Oil the cogs", status: "in_progress" },
      { content: "Sweep the tower", status: "completed" },
    ];
    const planned = [
      ...session,
      says("p", "mp", { type: "tool_use", id: "tp", name: "TodoWrite", input: { todos } }),
      result("rp", "tp", "ok\n".repeat(1_000)),
    ];
    const restoredUnder = async (policy: Policy) => wordsOf((await compacted(planned, policy)).blocks.slice(1));
    for (const policy of [palimpsest, claudeCode]) {
      const restored = await restoredUnder(policy);
      expect(restored).toContain("- Oil the cogs (in_progress)");
      expect(restored).not.toContain("Sweep");
    }
    expect(await restoredUnder(compacting(getPreset("opencode")))).toBe("");
  });

  it.each([24_000, 64_000])("fits a window of %d tokens, however much was read", async (window) => {
    const long = [...session, ...Array.from({ length: 40 }, (_, n) => read(10 + n, `/more/${n}.ts`)).flat()];
    const { compactions } = await run(long, { policy: palimpsest, window });
    expect(compactions.length).toBeGreaterThan(0);
    for (const { tokensAfter } of compactions) expect(tokensAfter).toBeLessThan(0.9 * window);
  });
});
