import { describe, expect, it, test } from "vitest";
import { countTokens } from "@palimpsest/simulator/internal/prompt/count-tokens";
import { builtInDefinitions } from "./built-in-definitions.ts";
import { agentMemoriesIntro, agentMemoryRules } from "./prompt.ts";

/** Every request of such an agent carries it. */
const promptTokensMax = 300;

describe("what built-in agents are told", () => {
  it.each(builtInDefinitions)("$name: as it was reviewed, in few words", ({ description, prompt }) => {
    expect({ description, prompt }).toMatchSnapshot();
    expect(countTokens(prompt)).toBeLessThanOrEqual(promptTokensMax);
  });
});

test("what an agent is told about its memory is as it was reviewed", () => {
  expect(agentMemoryRules({ name: "reviewer", readOnly: "claude-code" })).toMatchSnapshot("rules");
  expect(agentMemoriesIntro).toMatchSnapshot("introduction of the list");
});
