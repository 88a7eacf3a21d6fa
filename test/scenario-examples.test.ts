import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import {
  field,
  isArray,
  isObject,
  type Json,
  type JsonObject,
  parseJson,
} from "../packages/palimpsest/src/schema/json.ts";
import { forkAgents } from "../packages/palimpsest/src/ports/agents.ts";
import { toolbox } from "./fixture/toolbox.ts";

interface Call {
  readonly name: string;
  readonly input: JsonObject;
}

/** Every `{ name, input }` at any depth. */
function callsIn(json: Json | undefined): readonly Call[] {
  if (isArray(json)) return json.flatMap(callsIn);
  if (!isObject(json)) return [];
  const [name, input] = [field(json, "name"), field(json, "input")];
  if (typeof name === "string" && isObject(input)) return [{ name, input }];
  return Object.values(json).flatMap(callsIn);
}

const callsOf = (yaml: string): readonly Call[] => callsIn(parseJson(JSON.stringify(parse(yaml))));

const root = resolve(import.meta.dirname, "..");
const page = readFileSync(join(root, "docs/scenarios.md"), "utf8");
/** Calls the tools of other clients, by their names. */
const forOthers = "examples/scenarios/real-client.yaml";
const sources: readonly (readonly [string, string])[] = [
  ...[...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, yaml = ""]) => ["docs/scenarios.md", yaml] as const),
  ...globSync("examples/scenarios/*.yaml", { cwd: root, exclude: [forOthers] }).map(
    (file) => [file, readFileSync(join(root, file), "utf8")] as const,
  ),
];

describe("scenarios that people copy", () => {
  it.each(sources)("%s calls tools that there are, with input that they take", async (_, yaml) => {
    const { tools } = await toolbox({ agents: { agents: forkAgents, types: [], places: "both" } });
    const calls = callsOf(yaml);
    expect(calls.length).toBeGreaterThan(0);
    for (const { name, input } of calls) {
      const tool = tools.find((one) => one.name === name);
      expect(tool, name).toBeDefined();
      const read = z.fromJSONSchema({ ...tool?.inputSchema }).safeParse(input);
      expect(read.error?.issues, `${name} ${JSON.stringify(input)}`).toBeUndefined();
    }
  });
});
