import { expect, test } from "vitest";
import { toolbox } from "../../test/fixture/toolbox.ts";
import type { WireTool } from "../schema/wire/request.ts";
import { countToolTokens } from "../simulator/tokenizer.ts";
import { definitionsTokensMax } from "./limits.ts";

const wireTools = async (): Promise<readonly WireTool[]> =>
  (await toolbox()).tools.map(({ name, description, inputSchema }) => ({
    name,
    description,
    input_schema: inputSchema,
  }));

test("the tools stand in a fixed order and their definitions are the same bytes each time", async () => {
  const [once, again] = [await wireTools(), await wireTools()];
  expect(once.map(({ name }) => name)).toEqual(["read", "write", "edit", "bash", "grep", "glob", "todo", "recall"]);
  expect(JSON.stringify(again)).toBe(JSON.stringify(once));
  expect(JSON.stringify(once)).not.toMatch(/\$schema|\/tmp|\/home/);
});

test("all definitions together stay small", async () => {
  const tokens = (await wireTools()).reduce((sum, tool) => sum + countToolTokens(tool), 0);
  expect(tokens).toBeGreaterThan(500);
  expect(tokens).toBeLessThanOrEqual(definitionsTokensMax);
});

test("every schema is an object that says what must be given", async () => {
  const required = Object.fromEntries(
    (await toolbox()).tools.map(({ name, inputSchema }) => [name, [inputSchema["type"], inputSchema["required"]]]),
  );
  expect(required).toEqual({
    read: ["object", undefined],
    write: ["object", ["file_path", "content"]],
    edit: ["object", ["file_path", "old_string", "new_string"]],
    bash: ["object", ["command"]],
    grep: ["object", ["pattern"]],
    glob: ["object", ["pattern"]],
    todo: ["object", ["todos"]],
    recall: ["object", ["id"]],
  });
});

test("what reads back is never offloaded, and only what changes nothing may run beside others", async () => {
  const { tools } = await toolbox();
  expect(tools.filter((tool) => tool.offload === "never").map(({ name }) => name)).toEqual(["read", "recall"]);
  expect(tools.filter((tool) => tool.effect === "read").map(({ name }) => name)).toEqual([
    "read",
    "grep",
    "glob",
    "recall",
  ]);
});
