import { describe, expect, it } from "vitest";
import { formatMemory } from "../../memory/directory/memory-text.ts";
import type { Memory, MemoryType } from "../../ports/memories.ts";
import { millis } from "../../schema/brand.ts";
import { memoryMemories } from "../../store/memory/memory-memories.ts";
import { rankMemories } from "./rank-memories.ts";

async function createMemories(
  drafts: readonly (readonly [name: string, description: string, type: MemoryType])[],
): Promise<readonly Memory[]> {
  const memories = memoryMemories({ deps: { now: () => millis(0) } });
  await memories.commit({
    author: "user",
    provenance: { at: millis(0), trust: "trusted" },
    message: "test",
    changes: drafts.map(([name, description, type], at) => ({
      path: `${at}.md`,
      expected: "absent",
      text: formatMemory({ name, description, type, body: "" }),
    })),
  });
  return (await memories.list()).filter(({ role }) => role === "memory");
}

const drafts = [
  ["Test runner", "run vitest with one worker on this machine", "feedback"],
  ["Deploys", "production deploys happen on Tuesdays from main", "project"],
  ["Role", "the user is a data engineer who knows Python", "user"],
  ["Grafana", "the dashboard of request latency", "reference"],
  ["好みの書式", "コードのインデントはタブ", "feedback"],
] as const;

const rank = async (message: string): Promise<readonly string[]> =>
  (await rankMemories(message, await createMemories(drafts))).map(({ name }) => name);

describe("memories that have to do with a message", () => {
  it.each([
    ["The tests are failing, how should they be run?", ["Test runner"]],
    ["When is the next deploy to production?", ["Deploys"]],
    ["Look at the latency dashboard for slow requests", ["Grafana"]],
    ["インデントはどうする？", ["好みの書式"]],
  ])("%s", async (message, expected) => {
    expect(await rank(message)).toEqual(expected);
  });

  it.each(["Please fix the bug in the parser.", "Thanks, that is all for this one!", "", "machine learning"])(
    "are none for %j: one common word is not enough",
    async (message) => {
      expect(await rank(message)).toEqual([]);
    },
  );
});
