import { describe, expect, it } from "vitest";
import { bytesOf } from "../../../test/fixture/log.ts";
import { entryOf, type Raw, result, says, text, user } from "../../../test/fixture/raw.ts";
import { recordingOf } from "../../../test/fixture/recording.ts";
import { Inventory } from "../../cache/inventory.ts";
import { isRerunnable } from "../../layers/2-clear/clearable.ts";
import type { Policy } from "../../layers/policy.ts";
import { presetOf } from "../../presets/catalogue.ts";
import type { Block } from "../../schema/block.ts";
import { tokens } from "../../schema/brand.ts";
import { thresholdsOf } from "../../tokens/thresholds.ts";
import { replayWorld } from "../replay-world.ts";
import { ReplayedView } from "../replayed-view.ts";
import { ExtractedCompactions } from "./extracted.ts";

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

/** As far as it was said before the last reply. */
async function recorded(raws: readonly Raw[], policy: Policy, window = 200_000) {
  const lines = [...raws, answered].map((raw, at, all) =>
    JSON.stringify({ parentUuid: all[at - 1]?.uuid ?? null, sessionId: "s", ...raw }),
  );
  const world = replayWorld(await recordingOf(bytesOf(lines)));
  const inventory = new Inventory({ count: world.tokensOf, isClearable: isRerunnable, markerTokens: 20 });
  const view = new ReplayedView({ watch: inventory });
  const thresholds = thresholdsOf({
    rule: policy.thresholds,
    window: tokens(window),
    outputTokensMax: tokens(32_000),
    autoCompact: "on",
  });
  const compactions = new ExtractedCompactions({ world, policy, thresholds });
  for (const [at, { before, reply }] of world.recording.rounds.entries()) {
    view.say(before);
    compactions.heard(before);
    if (at === world.recording.rounds.length - 1) break;
    view.say(reply);
    compactions.heard(reply);
  }
  const compact = () => {
    const made = compactions.make(view);
    if (made === undefined) throw new Error("there is nothing to compact");
    view.compact(made);
    return { ...made, said: wordsOf(made.summary) };
  };
  return { world, view, compactions, compact };
}

const wordsOf = (blocks: readonly Block[]): string =>
  blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");

const palimpsest = presetOf("palimpsest");
const claudeCode = presetOf("claude-code-2026");

describe("a compaction that is made from what was said", () => {
  it("has the person's words in a ledger, and the newest content of the files read last", async () => {
    const { compact } = await recorded(session, palimpsest);
    const { said } = compact();
    for (const words of [first, "Now the face."]) expect(said).toContain(`>\n${words}\n</user-message>`);
    expect(said).toContain(
      "Content of /clock/hands.ts, read again just now:\nthe content of /clock/hands.ts, number 3",
    );
    expect(said).not.toContain("/clock/hands.ts, number 1");
    expect(said).toContain("number 2");
  });

  it("is as large as its texts are, and its call wrote the summary alone", async () => {
    const { world, compactions, compact } = await recorded(session, palimpsest);
    expect(compactions.size).toEqual({ outputTokens: 3_000, leavesTokens: 11_000 });
    const { summary, outputTokens } = compact();
    const leavesTokens = summary.reduce((sum, block) => sum + world.tokensOf(block), 0);
    expect(compactions.size).toEqual({ outputTokens, leavesTokens });
    expect(outputTokens).toBeGreaterThan(0);
    expect(outputTokens).toBeLessThan(leavesTokens / 2);
  });

  it("leaves what waits for its answer, and nothing else of what was said", async () => {
    const { view, world, compactions, compact } = await recorded(
      [...session, says("y", "my", text("Done.")), waiting],
      palimpsest,
    );
    expect(compactions.keptTokens(view)).toBe(world.tokensOf({ type: "text", text: "And the weights?" }));
    const { kept, summary } = compact();
    expect(kept).toEqual(["u3"]);
    const shown = view.next()?.flatMap(({ content }) => content) ?? [];
    expect(wordsOf(shown)).toBe(wordsOf([...summary, { type: "text", text: "And the weights?" }]));
  });

  it("keeps the first request through ten of them, at a size that does not grow", async () => {
    const { view, compactions, compact } = await recorded(session, palimpsest);
    const sizes = Array.from({ length: 10 }, (_, n) => {
      const { said } = compact();
      expect(said).toContain(first);
      const more = [user(`v${n}`, `More of it, ${n}.`), says(`c${n}`, `mc${n}`, text("Done."))];
      for (const raw of more) sayTo(raw);
      return compactions.size.leavesTokens;
    });
    expect(Math.max(...sizes)).toBeLessThan((sizes[0] ?? 0) + 10 * 60);

    function sayTo(raw: Raw): void {
      const entries = [entryOf(raw)];
      view.say(entries);
      compactions.heard(entries);
    }
  });

  it("has nothing to say where nothing was done yet", async () => {
    const { view, compactions } = await recorded([user("u1", first)], palimpsest);
    expect(compactions.make(view)).toBeUndefined();
    expect(compactions.keptTokens(view)).toBe(0);
  });

  it("has the messages inside the summary, under a policy without a ledger, and no more than it restores", async () => {
    const { compact } = await recorded(session, claudeCode);
    const { said, summary } = compact();
    expect(said).toContain(first);
    expect(wordsOf(summary.slice(0, 1)).endsWith("</system-reminder>")).toBe(true);
    const bare = { ...claudeCode, compact: { call: "plain", restores: "nothing", lastRung: "none" } } as const;
    expect((await recorded(session, bare)).compact().summary).toHaveLength(1);
  });

  it("puts back what is still to be done, under a policy that does", async () => {
    const todos = [
      { content: "Oil the cogs", status: "in_progress" },
      { content: "Sweep the tower", status: "completed" },
    ];
    const planned = [
      ...session,
      says("p", "mp", { type: "tool_use", id: "tp", name: "TodoWrite", input: { todos } }),
      result("rp", "tp", "ok"),
    ];
    const restoredUnder = async (policy: Policy) =>
      wordsOf((await recorded(planned, policy)).compact().summary.slice(1));
    for (const policy of [palimpsest, claudeCode]) {
      const restored = await restoredUnder(policy);
      expect(restored).toContain("- Oil the cogs (in_progress)");
      expect(restored).not.toContain("Sweep");
    }
    expect(await restoredUnder(presetOf("opencode"))).toBe("");
  });

  it.each([8_000, 32_000])("fits a window of %d tokens, however much was read", async (window) => {
    const long = [...session, ...Array.from({ length: 40 }, (_, n) => read(10 + n, `/more/${n}.ts`)).flat()];
    const { compactions, compact } = await recorded(long, palimpsest, window);
    compact();
    expect(compactions.size.leavesTokens).toBeLessThan(0.8 * window);
  });
});
