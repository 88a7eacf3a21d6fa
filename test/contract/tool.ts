import { hash } from "node:crypto";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Tool, ToolPlan } from "../../packages/palimpsest/src/ports/tool.ts";
import { millis, toolUseId } from "../../packages/palimpsest/src/schema/brand.ts";
import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import { createReadFiles } from "../../packages/palimpsest/src/context/read-files.ts";
import { temporaryFolder } from "./temporary-folder.ts";

export interface ToolUnderTest {
  readonly name: string;
  readonly make: () => Promise<Tool>;
  /** That the tool takes and that does no harm. The file `a.txt`, which was read before, holds one line, `a`. */
  readonly input: JsonObject;
}

/** What no tool takes: models send all of it. */
const wrongInputs: readonly JsonObject[] = [
  { no_such_field: 1 },
  { path: 7, file_path: [], command: {}, query: null, pattern: 1, url: 2, id: 3, name: 4, note: 5, questions: "x" },
];

/** The rules of the port. */
export function toolContract({ name, make, input }: ToolUnderTest): void {
  const planned = async (tool: Tool, given: JsonObject): Promise<ToolPlan> => {
    const cwd = await temporaryFolder();
    const path = join(cwd, "a.txt");
    await writeFile(path, "a\n");
    const files = createReadFiles();
    const { mtimeMs: modifiedMs } = await stat(path);
    files.set(path, { hash: hash("sha256", "a\n", "hex"), modifiedMs, shownBy: toolUseId("toolu_0") });
    return tool.plan(given, { toolUse: toolUseId("toolu_1"), cwd, files, now: millis(0) });
  };

  describe(`the tool ${name}`, () => {
    it("has a name and a schema that the API takes, and a description; the same bytes each time it is made", async () => {
      const [tool, again] = [await make(), await make()];
      expect(tool.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      expect(tool.description).toMatch(/\S/);
      expect(tool.inputSchema["type"]).toBe("object");
      const bytesOf = ({ description, inputSchema }: Tool) => JSON.stringify([description, inputSchema]);
      expect(bytesOf(again)).toBe(bytesOf(tool));
    });

    it.each(wrongInputs)("tells the model what is wrong with its input, and runs nothing: %j", async (wrong) => {
      const plan = await planned(await make(), wrong);
      expect(plan).toMatchObject({ kind: "wrong", message: expect.stringMatching(/\S/) as unknown });
    });

    it("takes what its schema takes, and says what it would touch before it runs", async () => {
      const tool = await make();
      expect(z.fromJSONSchema({ ...tool.inputSchema }).safeParse(input).error?.issues).toBeUndefined();
      const plan = await planned(tool, input);
      if (plan.kind === "wrong") return expect.unreachable(plan.message);
      for (const act of plan.acts) if (act.kind === "read" || act.kind === "write") expect(act.path).toMatch(/^\//);
    });

    it("does not reject where it is aborted before it runs, and has a line for people", async () => {
      const plan = await planned(await make(), input);
      if (plan.kind === "wrong") return expect.unreachable(plan.message);
      const outcome = await plan.run(AbortSignal.abort());
      expect(outcome.summary).toMatch(/^[^\n]+$/);
    });
  });
}
