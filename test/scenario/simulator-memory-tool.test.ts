import Anthropic from "@anthropic-ai/sdk";
import { betaMemoryTool } from "@anthropic-ai/sdk/helpers/beta/memory";
import { BetaLocalFilesystemMemoryTool } from "@anthropic-ai/sdk/tools/memory/node";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Responder } from "../../packages/simulator/src/responder/responder.ts";
import { extractResponder } from "../../packages/simulator/src/responder/extract-responder.ts";
import { simulatorFetch } from "../../packages/simulator/src/http/simulator-fetch.ts";
import { parseScenario } from "../../packages/simulator/src/scenario/read-scenario.ts";
import { scriptResponder } from "../../packages/simulator/src/scenario/script-responder.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";

const model = "claude-opus-5";

/** The official client's own memory tool over files in a folder of this test. */
class Remembering {
  readonly folder: string;
  readonly #tool: BetaLocalFilesystemMemoryTool;

  constructor(folder: string, tool: BetaLocalFilesystemMemoryTool) {
    this.folder = join(folder, "memories");
    this.#tool = tool;
  }

  static async begin(): Promise<Remembering> {
    const folder = await mkdtemp(join(tmpdir(), "memory-tool-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    return new Remembering(folder, await BetaLocalFilesystemMemoryTool.init(folder));
  }

  /** Runs until the model calls no more; gives what was called, and what came back. */
  async run(responder: Responder, ask: string): Promise<readonly Ran[]> {
    const fetch = simulatorFetch(new Simulator({ responder }));
    const client = new Anthropic({ apiKey: "sk-test", maxRetries: 0, baseURL: "http://simulator", fetch });
    const runner = client.beta.messages.toolRunner({
      model,
      max_tokens: 2_000,
      tools: [betaMemoryTool(this.#tool)],
      messages: [{ role: "user", content: ask }],
    });
    await runner.runUntilDone();
    const blocks = runner.params.messages.flatMap(({ content }) => (typeof content === "object" ? content : []));
    return blocks.flatMap((call) => {
      if (call.type !== "tool_use") return [];
      const result = blocks.find((block) => block.type === "tool_result" && block.tool_use_id === call.id);
      const { command } = call.input as { command: string };
      return [{ command, result: JSON.stringify(result) }];
    });
  }

  file(name: string): Promise<string> {
    return readFile(join(this.folder, name), "utf8");
  }
}

interface Ran {
  readonly command: string;
  readonly result: string;
}

describe("the provider's memory tool, run by the official client", () => {
  it("takes all six commands from a scenario", async () => {
    const commands = [
      { command: "create", path: "/memories/a.md", file_text: "one\ntwo\n" },
      { command: "str_replace", path: "/memories/a.md", old_str: "two", new_str: "three" },
      { command: "insert", path: "/memories/a.md", insert_line: 0, insert_text: "zero\n" },
      { command: "view", path: "/memories/a.md" },
      { command: "create", path: "/memories/gone.md", file_text: "gone" },
      { command: "delete", path: "/memories/gone.md" },
      { command: "rename", old_path: "/memories/a.md", new_path: "/memories/b.md" },
      { command: "view", path: "/memories" },
    ];
    const moves = [...commands.map((input) => ({ tools: [{ name: "memory", input }] })), { text: "Written down." }];
    const reading = parseScenario({ file: "memory.yaml", text: JSON.stringify({ name: "memory", moves }) });
    if (reading.kind !== "scenario") throw new Error(JSON.stringify(reading));
    const remembering = await Remembering.begin();
    const ran = await remembering.run(scriptResponder(reading.scenario), "Keep what matters.");
    expect(ran.map(({ command }) => command)).toEqual(commands.map(({ command }) => command));
    for (const { result } of ran) expect(result).not.toContain("is_error");
    expect(ran[3]?.result).toContain("three");
    expect(ran[7]?.result).toContain("b.md");
    expect(await readdir(remembering.folder)).toEqual(["b.md"]);
    expect(await remembering.file("b.md")).toBe("zero\none\nthree\n");
  });

  it("is used by the extract responder when it is asked to remember something", async () => {
    const remembering = await Remembering.begin();
    const first = await remembering.run(extractResponder, "Remember that I prefer tabs.");
    expect(first.map(({ command }) => command)).toEqual(["view", "create"]);
    expect(await remembering.file("user.md")).toBe("# Memories: user\n- Remember that I prefer tabs.\n");
    const second = await remembering.run(extractResponder, "And remember: I am a pilot. Never push on Fridays.");
    expect(second.map(({ command }) => command)).toEqual(["view", "view", "create", "str_replace"]);
    expect(await remembering.file("user.md")).toBe(
      "# Memories: user\n- And remember: I am a pilot.\n- Remember that I prefer tabs.\n",
    );
    expect(await remembering.file("feedback.md")).toBe("# Memories: feedback\n- Never push on Fridays.\n");
  });

  it("is left alone once everything is written down", async () => {
    const remembering = await Remembering.begin();
    const ask = "Remember that I prefer tabs.";
    await remembering.run(extractResponder, ask);
    const again = await remembering.run(extractResponder, ask);
    expect(again.map(({ command }) => command)).toEqual(["view", "view"]);
    expect(await remembering.file("user.md")).toBe("# Memories: user\n- Remember that I prefer tabs.\n");
  });

  it("takes the room of a definition and of an instruction that nobody sent", async () => {
    const client = new Anthropic({
      apiKey: "sk-test",
      baseURL: "http://simulator",
      fetch: simulatorFetch(new Simulator()),
    });
    const sizeOf = async (tools: Anthropic.ToolUnion[]): Promise<number> =>
      (await client.messages.countTokens({ model, tools, messages: [{ role: "user", content: "Hi" }] })).input_tokens;
    const one: Anthropic.Tool = { name: "a", input_schema: { type: "object" } };
    const memory = await sizeOf([one, { type: "memory_20250818", name: "memory" }]);
    expect(memory - (await sizeOf([one]))).toBeGreaterThan(300);
    const deferred = await sizeOf([one, { type: "memory_20250818", name: "memory", defer_loading: true }]);
    expect(deferred).toBe(await sizeOf([one]));
  });
});
