import { visibleWidth } from "@earendil-works/pi-tui";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { millis, nanoUsd, tokens } from "palimpsest/internal/schema/brand";
import { computeThresholds } from "palimpsest/internal/tokens/thresholds";
import type { Phase, Status } from "../state/chat-state.ts";
import { createTheme } from "../theme.ts";
import { openingQuietMs } from "../limits.ts";
import { drawPhase, drawStatus, drawQueue, drawWarning } from "./draw-status.ts";

const theme = createTheme("none");
const ansi = createTheme("ansi");
const rule = {
  outputReserveTokensMax: 20_000,
  compactBufferTokens: 13_000,
  warningBufferTokens: 20_000,
  blockingBufferTokens: 3_000,
  inputLimit: "ignored",
} as const;
const thresholds = computeThresholds({
  rule,
  window: tokens(200_000),
  outputTokensMax: tokens(32_000),
  autoCompact: "on",
});
const status: Status = {
  model: "claude-sonnet-4-5",
  usedTokens: tokens(60_000),
  thresholds,
  autoCompact: "on",
  hitRate: 0.914,
  costNanos: nanoUsd(123_400_000),
  unpricedRequests: 0,
  billing: "real",
  mode: "acceptEdits",
  sandbox: "held",
  background: { notes: "running", extraction: "idle", dream: "idle", preparation: "none", jobs: 2, agents: 0 },
  team: "",
};

describe("until an agent is there", () => {
  const unknown = Object.fromEntries(Object.keys(thresholds).map((name) => [name, tokens(0)]));
  const nobody: Status = { ...status, model: "", usedTokens: tokens(0), thresholds: { ...thresholds, ...unknown } };

  test("the status line says that it is being opened, and nothing warns", () => {
    expect(drawStatus(nobody, { width: 80, theme })).toBe("opening…");
    expect(drawWarning(nobody, { width: 80, theme })).toEqual([]);
  });

  test("a spinner comes only when it takes a while", () => {
    const after = (ms: number): readonly string[] =>
      drawPhase({ kind: "opening" }, { width: 80, theme, since: millis(5_000), now: millis(5_000 + ms) });
    expect(after(openingQuietMs - 1)).toEqual([]);
    expect(after(2_000)[0]).toMatch(/^. opening · 2 s$/u);
  });
});

test("the status line names the team", () => {
  const line = drawStatus({ ...status, team: "docs (leader) · 2 teammates" }, { width: 140, theme });
  expect(line).toContain("accept edits │ docs (leader) · 2 teammates │ notes");
});

describe("the status line drops what is least important", () => {
  test.each<[number, string]>([
    [120, "claude-sonnet-4-5 │ ███░░░░░░░ 64% left │ cache 91% │ $0.12 │ accept edits │ notes · 2 jobs"],
    [80, "claude-sonnet-4-5 │ ███░░░░░░░ 64% left │ $0.12 │ accept edits │ notes · 2 jobs"],
    [60, "claude-sonnet-4-5 │ ███░░░░░░░ 64% left │ accept edits"],
    [40, "███░░░░░░░ 64% left │ accept edits"],
    [20, "64% left"],
    [5, "64% …"],
  ])("%i columns", (width, line) => {
    expect(drawStatus(status, { width, theme })).toBe(line);
  });

  test.each<[number, string]>([
    [120, "claude-sonnet-4-5 │ ███░░░░░░░ 64% left │ cache 91% │ $0.12 │ accept edits │ no sandbox │ notes · 2 jobs"],
    [60, "███░░░░░░░ 64% left │ accept edits │ no sandbox"],
    [40, "64% left │ accept edits │ no sandbox"],
    [30, "64% left │ accept edits"],
  ])("commands that nothing holds are told longer than what is left of money and model: %i columns", (width, line) => {
    expect(drawStatus({ ...status, sandbox: "none" }, { width, theme })).toBe(line);
  });

  test("a wider terminal never shows fewer parts", () => {
    const parts = (width: number): readonly string[] => drawStatus(status, { width, theme }).split(" │ ");
    fc.assert(
      fc.property(fc.integer({ min: 20, max: 120 }), (width) => {
        expect(parts(width + 1).length).toBeGreaterThanOrEqual(parts(width).length);
        expect(visibleWidth(drawStatus(status, { width, theme: ansi }))).toBeLessThanOrEqual(width);
      }),
    );
  });

  test("what is not there takes no room: no mode by default, nothing beside the conversation, no cache before a request", () => {
    const background = {
      notes: "idle",
      extraction: "idle",
      dream: "idle",
      preparation: "none",
      jobs: 0,
      agents: 0,
    } as const;
    const fresh: Status = { ...status, mode: "default", background, usedTokens: tokens(0), costNanos: nanoUsd(0) };
    expect(drawStatus(fresh, { width: 120, theme })).toBe("claude-sonnet-4-5 │ ░░░░░░░░░░ 100% left │ $0.00");
  });

  test("a price that nobody knows is not $0.00", () => {
    const costs = (costNanos: number, unpricedRequests: number): string =>
      drawStatus({ ...status, costNanos: nanoUsd(costNanos), unpricedRequests }, { width: 120, theme });
    expect(costs(0, 2)).toContain(" │ price unknown │ ");
    expect(costs(123_400_000, 2)).toContain(" │ $0.12 and more │ ");
  });

  test("a simulated price says so", () => {
    expect(drawStatus({ ...status, billing: "simulated" }, { width: 120, theme })).toMatch(/\$[\d.]+ simulated │/);
  });

  test("a long or foreign name of a model is cut and drives nothing", () => {
    const line = drawStatus({ ...status, model: `\u001B[2J${"漢".repeat(99)}` }, { width: 120, theme });
    expect(line).toMatch(/^\\x1b\[2J漢+… │/);
    expect(visibleWidth(line)).toBeLessThanOrEqual(120);
  });
});

describe("near the threshold", () => {
  const at = (used: number, more: Partial<Status> = {}): Status => ({ ...status, ...more, usedTokens: tokens(used) });

  test.each<[string, Status, string, readonly string[]]>([
    ["fine", at(60_000), "64% left", []],
    [
      "warning",
      at(150_000),
      "10% left !",
      ["! 10% left until the conversation is compacted. /compact does it now, and shows the summary first."],
    ],
    [
      "warning where nothing compacts",
      at(150_000, { autoCompact: "off" }),
      "10% left !",
      ["! 10% of the context is left, and nothing compacts it by itself: /compact makes room."],
    ],
    ["full", at(199_000), "0% left !", ["! The context is full: /compact or /undo makes room."]],
  ])("%s", (_, shown, left, warning) => {
    expect(drawStatus(shown, { width: 120, theme })).toContain(`${left} │`);
    expect(drawWarning(shown, { width: 120, theme })).toEqual(warning);
  });

  test("the colour changes with it", () => {
    const room = { width: 120, theme: ansi };
    expect(drawStatus(at(150_000), room)).toContain(ansi.warning("10% left !"));
    expect(drawStatus(at(199_000), room)).toContain(ansi.bad("0% left !"));
  });
});

describe("what goes on", () => {
  const look = { width: 60, theme, now: millis(12_400), since: millis(0) };
  test.each<[Phase, readonly string[]]>([
    [{ kind: "idle" }, []],
    [{ kind: "responding" }, ["⠴ responding · 12 s · esc to interrupt"]],
    [{ kind: "interrupting" }, ["⠴ interrupting · 12 s"]],
    [{ kind: "asking", tool: "bash" }, ["⠴ bash waits for your answer · 12 s"]],
    [{ kind: "waiting", attempt: 2, until: millis(15_000) }, ["⠴ asking again in 3 s (try 2) · esc to interrupt"]],
  ])("%j", (phase, lines) => {
    expect(drawPhase(phase, look)).toEqual(lines);
  });

  test("moves with the time, says minutes, and gives up its hint where it is narrow", () => {
    expect(drawPhase({ kind: "thinking" }, { ...look, now: millis(125_080), width: 30 })).toEqual([
      "⠸ thinking · 2 min 5 s",
    ]);
  });
});

test("of messages that wait, the first are shown and the others counted", () => {
  expect(drawQueue(["one\ntwo", "b", "c", "d", "e"], { width: 40, theme })).toEqual([
    "  ↳ one two",
    "  ↳ b",
    "  ↳ c",
    "    and 2 more",
  ]);
  expect(drawQueue([], { width: 40, theme })).toEqual([]);
});
