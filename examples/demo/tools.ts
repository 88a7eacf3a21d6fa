import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ToolCall } from "palimpsest";

const text = { type: "string" };
const define = (name: string, description: string, properties: Readonly<Record<string, object>>) => ({
  name,
  description,
  input_schema: { type: "object", properties, required: Object.keys(properties) },
});

export const toolDefinitions = [
  define("read", "Reads a file of the project.", { path: text }),
  define("search", "Prints the lines of a file that contain the text.", { path: text, query: text }),
  define("edit", "Replaces a text of a file, which must be there exactly once.", { path: text, from: text, to: text }),
  define("write", "Writes a file.", { path: text, content: text }),
  define("test", "Runs all tests.", {}),
  define("recall", "Finds what was said earlier in this conversation.", { query: text }),
];

export interface ToolOutcome {
  readonly text: string;
  readonly isError: boolean;
}

/** Runs a call in the project's folder. `recall` is a matter of the conversation, not of the project. */
export async function runTool(cwd: string, call: ToolCall): Promise<ToolOutcome> {
  const field = (key: string): string => textField(call, key);
  const path = join(cwd, field("path"));
  switch (call.name) {
    case "read":
      return done(await readFile(path, "utf8"));
    case "search":
      return done(
        (await readFile(path, "utf8"))
          .split("\n")
          .filter((line) => line.includes(field("query")))
          .join("\n"),
      );
    case "edit": {
      const parts = (await readFile(path, "utf8")).split(field("from"));
      if (parts.length !== 2) return { text: `The text is there ${parts.length - 1} times.`, isError: true };
      await writeFile(path, parts.join(field("to")));
      return done("Changed.");
    }
    case "write":
      await writeFile(path, field("content"));
      return done("Written.");
    case "test":
      return await runTests(cwd);
    default:
      return { text: `There is no tool ${call.name}.`, isError: true };
  }
}

/** Empty if the model left it out. */
export function textField({ input }: ToolCall, key: string): string {
  const value = input[key];
  return typeof value === "string" ? value : "";
}

const done = (output: string): ToolOutcome => ({ text: output, isError: false });

/** In one process, because that is much faster; without the environment, which could ask for colours. */
export const runTests = (cwd: string): Promise<ToolOutcome> =>
  new Promise((resolve) => {
    execFile(process.execPath, ["--test", "--test-isolation=none"], { cwd, env: {} }, (error, stdout) =>
      resolve({ text: stdout, isError: error !== null }),
    );
  });
