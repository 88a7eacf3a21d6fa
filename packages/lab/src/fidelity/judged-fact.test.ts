import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { madeRecording } from "../../../../test/fixture/replay/made-recording.ts";
import { parametersFor } from "../../../../test/property/runs.ts";
import { entryId } from "palimpsest/internal/schema/brand";
import { type Fact, factKinds } from "./fact.ts";
import { type Fate, fateInView, countFatesByKind, RecallByRound, ShownText } from "./judged-fact.ts";

const fact = (words: string, id = "e1"): Fact => ({
  kind: "commands",
  words,
  round: 0,
  ids: new Set([entryId(id)]),
  calls: new Set(),
  said: undefined,
});

describe("a fact's fate", () => {
  it("is told by the view, and by recall where the view says nothing", () => {
    const shown = new ShownText([{ role: "user", content: [{ type: "text", text: "npm test, and e2" }] }]);
    expect(fateInView(fact("npm test", "e2"), shown)).toBe("shown");
    expect(fateInView(fact("npm run", "e2"), shown)).toBe("named");
    expect(fateInView(fact("npm run"), shown)).toBeUndefined();
  });

  it("is to be found where one of the first five hits names it", async () => {
    const hits = ["a", "b", "c", "d", "e", "f"].map((id) => [id, `${id}-again`]);
    const recall = new RecallByRound({ append: async () => undefined, search: async () => hits }, []);
    const found = await Promise.all(["a", "e-again", "f", "x"].map((id) => recall.finds(fact(id, id), 0)));
    expect(found).toEqual([true, true, false, false]);
  });

  it("is searched for in what was said by then, and no further", async () => {
    const heard: (string | undefined)[] = [];
    let searches = 0;
    const recall = new RecallByRound(
      { append: async ({ id }) => void heard.push(id), search: async () => ((searches += 1), []) },
      madeRecording([{}, {}, {}]).rounds,
    );
    await recall.finds(fact("x"), 0);
    expect(heard).toEqual(["u0"]);
    await recall.finds(fact("x"), 0);
    expect(searches).toBe(1);
    await recall.finds(fact("x"), 2);
    expect(heard).toEqual(["u0", "a0", "u1", "a1", "u2"]);
    expect(searches).toBe(2);
    await expect(recall.finds(fact("x"), 1)).rejects.toThrow("before the last indexed round");
  });

  it("is one for each fact: of every kind, shown, recoverable and lost are all, and those named are recoverable", () => {
    const fates = fc.constantFrom<Fate>("shown", "named", "found", "lost");
    const judgedFact = fc.record({ kind: fc.constantFrom(...factKinds), fate: fates });
    fc.assert(
      fc.property(fc.array(judgedFact), (drawn) => {
        const counted = countFatesByKind(drawn.map(({ kind, fate }) => ({ fact: { ...fact("x"), kind }, fate })));
        for (const kind of factKinds) {
          const { shown, recoverable, named, lost } = counted[kind];
          expect(shown + recoverable + lost).toBe(drawn.filter((one) => one.kind === kind).length);
          expect(named).toBe(drawn.filter((one) => one.kind === kind && one.fate === "named").length);
          expect(named).toBeLessThanOrEqual(recoverable);
        }
      }),
      parametersFor({ quick: 100, long: 2_000 }),
    );
  });
});
