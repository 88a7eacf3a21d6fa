import { globSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isObject, parseJson, textField as textAt } from "../../packages/palimpsest/src/schema/json.ts";
import { temporaryFolder } from "../contract/temporary-folder.ts";
import { called } from "./support/called.ts";

interface Turn {
  readonly session: string;
  /** What became of each call. */
  readonly outcomes: readonly unknown[];
}

async function world() {
  const folder = await temporaryFolder();
  const [home, cwd] = [join(folder, "home"), join(folder, "project")];
  mkdirSync(cwd);
  const turn = async (call: string, ...args: readonly string[]): Promise<Turn> => {
    writeFileSync(join(cwd, "s.yaml"), `name: s\nmoves:\n  - tools: [${call}]\n  - text: Done.\n`);
    const options = [
      "--model",
      "simulator",
      "--scenario",
      join(cwd, "s.yaml"),
      "--output-format",
      "stream-json",
      ...args,
    ];
    const said = await called({ home, cwd }, "-p", "Go", ...options);
    const lines = said.out
      .trim()
      .split("\n")
      .map(parseJson)
      .filter((line) => isObject(line));
    const session = textAt(lines.at(-1) ?? {}, "session_id") ?? "";
    return {
      session,
      outcomes: lines.flatMap(({ type, outcome }) => (type === "call-end" ? [outcome] : [])),
    };
  };
  const previewed = (session: string): string =>
    String(globSync(join(home, `projects/*/${session}/tool-results/*`))[0]);
  return { turn, previewed };
}

const long = "{ name: bash, input: { command: seq 1 20000 } }";
const reading = (path: string): string => `{ name: read, input: { file_path: "${path}", limit: 2 } }`;

it("a fork, and a fork of it, read the file that an inherited preview names; a session of its own does not", async () => {
  const { turn, previewed } = await world();
  const first = await turn(long, "--allow", "Bash(seq:*)");
  expect(first.outcomes).toEqual(["done"]);
  const path = previewed(first.session);
  const forked = await turn(reading(path), "--resume", first.session, "--fork");
  expect(forked.session).not.toBe(first.session);
  expect(forked.outcomes).toEqual(["done"]);
  expect((await turn(reading(path), "--resume", forked.session)).outcomes).toEqual(["done"]);
  expect((await turn(reading(path), "--resume", forked.session, "--fork")).outcomes).toEqual(["done"]);
  expect((await turn(reading(path))).outcomes).toEqual(["denied"]);
  const later = await turn(long, "--resume", forked.session, "--allow", "Bash(seq:*)");
  expect((await turn(reading(previewed(later.session)), "--resume", first.session)).outcomes).toEqual(["denied"]);
});
