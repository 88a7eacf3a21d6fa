import { expect, it } from "vitest";
import { entryOf, result, says, text, user } from "../../../../test/fixture/raw.ts";
import { createSessionRecall } from "./judged-fact.ts";

it("finds what was said by its own words, quotation marks and all", async () => {
  const recall = createSessionRecall();
  const raws = [
    user("u1", 'Mend the "copper hands" of the clock.'),
    says("a1", "m1", { type: "tool_use", id: "t1", name: "Bash", input: { command: "wind spring" } }),
    result("r1", "t1", "error: the spring is broken"),
    says("a2", "m2", text("It needs a new one.")),
  ];
  for (const raw of raws) await recall.append(entryOf(raw));
  const first = async (query: string) => (await recall.search(query))[0]?.[0];
  expect(await first('Mend the "copper hands" of the clock.')).toBe("u1");
  expect(await first('hands "copper')).toBe("u1");
  expect(await first("error: the spring is broken")).toBe("t1");
  expect(await recall.search("…")).toEqual([]);
});
