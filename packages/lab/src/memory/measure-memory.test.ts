import { beforeAll, describe, expect, it } from "vitest";
import { getPreset } from "palimpsest/internal/policy/policy-catalogue";
import type { DreamRule } from "palimpsest/internal/layers/6-dream/plan";
import { madeProject, rulesThatChange } from "../../../../test/fixture/replay/made-project.ts";
import { collectEvents, findStaleness, holdsText, SaidRuns, saysSame } from "./judge-memory.ts";
import { findLaterFacts } from "./later-facts.ts";
import { addFigures, measureMemory, type MemoryFigures } from "./measure-memory.ts";
import { everyMessage, extractBy, type MeasuredSession, type MemoryStrategy, noMemories } from "./memory-strategy.ts";
import { orderSessions } from "./project-session.ts";

const { background } = getPreset("palimpsest");
const rule = background?.extraction ?? { turnsMax: 5 };
const extraction = extractBy("extraction", { rule });
const isLasting = (message: string): boolean => /\b(?:always|never)\b/i.test(message);

describe("the measured project", () => {
  let sessions: readonly MeasuredSession[] = [];
  beforeAll(async () => {
    sessions = await madeProject(rulesThatChange);
  });
  const measure = (strategy: MemoryStrategy, dream?: DreamRule): Promise<MemoryFigures> =>
    measureMemory(sessions, { strategy, dream, isLasting });

  it("knows nothing without memories, and pays nothing for them", async () => {
    expect(await measure(noMemories)).toMatchObject({
      needed: 12,
      held: 0,
      shown: 0,
      lastingKept: 0,
      memories: 0,
      startTokens: 0,
      forks: 0,
      extractionCost: 0,
      carryingCost: 0,
    });
  });

  it("holds everything if each message is kept, and carries it from session to session", async () => {
    const [all, extracted] = [await measure(everyMessage), await measure(extraction)];
    expect(all).toMatchObject({ held: all.needed, shown: all.needed, lastingKept: all.lasting, extractionCost: 0 });
    expect(all.sourced).toBe(all.memories);
    expect(all.carryingCost).toBeGreaterThan(1.5 * extracted.carryingCost);
  });

  it("holds what the rule-based model extracts through the engine, each sentence of it said", async () => {
    const figures = await measure(extraction);
    expect(figures).toMatchObject({ held: figures.needed, lastingKept: figures.lasting, dreams: 0, dreamCost: 0 });
    expect(figures.sourced).toBe(figures.memories);
    expect(figures.fromLasting).toBe(figures.memories);
    expect(figures.stale).toBeGreaterThan(0);
  });

  it("holds what a reader chose, and nothing else", async () => {
    const chooses = (message: string): boolean => message.startsWith("Always ask Priya");
    const figures = await measure(extractBy("a reader", { rule, chooses }));
    expect(figures).toMatchObject({ memories: 1, held: 1, sourced: 1 });
  });

  it("has nothing stale after a dream, and lost nothing that is needed", async () => {
    const figures = await measure(extraction, background?.dream);
    expect(figures.dreams).toBe(4);
    expect(figures.staleBeforeDream).toBe(12);
    expect(figures.staleAfterDream).toBe(0);
    expect(figures.held).toBe(figures.needed);
    expect(figures.dreamCost).toBeGreaterThan(0);
  });
});

it("figures of several projects add up", async () => {
  const [one] = [
    await measureMemory(await madeProject(rulesThatChange.slice(0, 4)), { strategy: extraction, isLasting }),
  ];
  const twice = addFigures(one, one);
  expect(twice.sessions).toBe(8);
  expect(twice.conversationCost).toBeCloseTo(2 * one.conversationCost, 6);
});

it("of copies of one session only the longest counts", async () => {
  const [first, second, third] = await madeProject([
    { said: ["a b c"] },
    { said: ["d e f", "g h i"] },
    { said: ["x y z"] },
  ]);
  if (first === undefined || second === undefined || third === undefined) throw new Error("three were made");
  const copy = { ...second, name: "copy", said: second.said.slice(0, 1), begunAt: first.begunAt };
  expect(orderSessions([third, copy, second, first]).map(({ name }) => name)).toEqual(["made-0", "made-1", "made-2"]);
});

describe("the judge", () => {
  it("finds what was said again in other words, and not what only shares common ones", async () => {
    const sessions = await madeProject([
      { said: ["Please use table driven tests for these cases.", "Look at the parser, please."] },
      { said: ["Please look at the importer."] },
      { said: ["Why are there no table driven tests again?"] },
    ]);
    expect(findLaterFacts(sessions)).toMatchObject([
      { text: "Please use table driven tests for these cases.", session: 0, neededIn: 2 },
    ]);
  });

  it("sees whether a memory holds a statement, and whether each sentence of it was said", async () => {
    expect(holdsText("Table driven tests are wanted for all cases.", "use table driven tests for these cases")).toBe(
      true,
    );
    expect(holdsText("Tests are wanted.", "use table driven tests for these cases")).toBe(false);
    const said = new SaidRuns();
    for (const session of await madeProject([{ said: ["Always run the linter before you commit."] }]))
      said.add(session);
    expect(said.bears("Always run the linter before you commit.")).toBe(true);
    expect(said.bears("Always run the linter before you commit. It takes nine minutes on the server.")).toBe(false);
  });

  it("calls stale what was contradicted later, or names a file that was removed later", async () => {
    const events = collectEvents(
      await madeProject([
        { said: ["Deploy the website on Friday."], command: "rm -f docs/old-plan.md && git mv a.txt b.txt" },
        { said: ["Never deploy the website on Friday."], command: "git rm docs/plan.md" },
      ]),
    );
    const stale = (body: string, session = 0) => findStaleness({ path: "x.md", body, session }, events);
    expect(stale("Deploy the website on Friday.")).toBe("contradicted");
    expect(stale("Deploy the website on Friday.", 1)).toBeUndefined();
    expect(stale("The plan is in docs/plan.md.")).toBe("gone");
    expect(stale("The plan is in docs/old-plan.md.")).toBeUndefined();
    expect(stale("Deploy the importer on Monday.")).toBeUndefined();
  });

  it("tells the same from its opposite", () => {
    expect(saysSame("Deploy the website on Friday.", "On Friday deploy the website!")).toBe(true);
    expect(saysSame("Deploy the website on Friday.", "Never deploy the website on Friday.")).toBe(false);
  });
});
