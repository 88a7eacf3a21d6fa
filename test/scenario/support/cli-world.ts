import { readFileSync, writeFileSync } from "node:fs";
import { chmod, mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { called, type InProcessCalling } from "./called.ts";
import { type Calling, palimpsest, type Said } from "./command-line.ts";
import { newProject, pathOf, type Project } from "./project.ts";

/** A home with one project, and a folder for other tools' files. */
export interface World extends Project {
  readonly work: string;
  /** In the process of the test. */
  readonly call: (...args: readonly string[]) => Promise<Said>;
  readonly callWith: (changes: Partial<InProcessCalling>, ...args: readonly string[]) => Promise<Said>;
  /** As a process of its own. */
  readonly start: (changes: Partial<Calling>, ...args: readonly string[]) => Promise<Said>;
  /** Another tool's file with these lines (or bytes) in it. */
  readonly file: (name: string, content: readonly object[] | string | Uint8Array) => string;
  readonly log: (id: string) => Buffer;
}

export async function newWorld(): Promise<World> {
  const project = await newProject();
  const work = await realpath(await mkdtemp(join(tmpdir(), "work-")));
  const calling = { home: project.home, cwd: work };
  return {
    ...project,
    work,
    call: (...args) => called(calling, ...args),
    callWith: (changes, ...args) => called({ ...calling, ...changes }, ...args),
    start: (changes, ...args) => palimpsest({ ...calling, ...changes }, ...args),
    file: (name, content) => {
      const path = join(work, name);
      const lines = Array.isArray(content)
        ? (content as readonly object[]).map((line) => `${JSON.stringify(line)}\n`).join("")
        : undefined;
      writeFileSync(path, lines ?? (content as string | Uint8Array));
      return path;
    },
    log: (id) => readFileSync(pathOf(project, id)),
  };
}

/** One line that says what is wrong, perhaps one that says what to do, no stack, nothing on stdout. */
export function expectRefusal(said: Said, code: number, ...texts: readonly (string | RegExp)[]): void {
  expect({ code: said.code, signal: said.signal, out: said.out }).toEqual({ code, signal: null, out: "" });
  expect(said.err).toMatch(/^palimpsest: [^\n]+\n( {2}[^\n]+\n)?$/);
  expect(said.err).not.toMatch(/\n\s+at |node:internal|a bug/);
  for (const text of texts) expect(said.err).toMatch(text);
}

/** The one JSON value on stdout of a command that ran, whether its answer was yes or no. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
export function json<Shape>({ code, out, err }: Said): Shape {
  expect([0, 1], err).toContain(code);
  return JSON.parse(out) as Shape;
}

/** Lets any user read the folders of this world, and so those above it that belong to the test run. */
export async function openTheWay({ folder, work }: World): Promise<void> {
  for (const last of [folder, work]) {
    for (let at = last; at.includes("palimpsest-test-"); at = dirname(at)) await chmod(at, 0o755);
  }
}

let serial = 0;
const uuid = (): string => `11111111-0000-4000-8000-${String(++serial).padStart(12, "0")}`;

/** Raw entries as another tool writes them: each continues at the one before unless it says otherwise. */
export function rawLog(): { readonly entries: { uuid: string }[]; readonly add: (fields: object) => string } {
  const entries: { uuid: string }[] = [];
  const add = (fields: object): string => {
    const entry = {
      parentUuid: entries.at(-1)?.uuid ?? null,
      isSidechain: false,
      uuid: uuid(),
      timestamp: "2026-01-01T00:00:00.000Z",
      ...fields,
    };
    entries.push(entry);
    return entry.uuid;
  };
  return { entries, add };
}

export const said = {
  user: (content: string) => ({ type: "user", message: { role: "user", content } }),
  text: (id: string, words: string) => ({
    type: "assistant",
    message: { id, role: "assistant", content: [{ type: "text", text: words }] },
  }),
  thinking: (id: string) => ({
    type: "assistant",
    message: { id, role: "assistant", content: [{ type: "thinking", thinking: "hm", signature: "for another" }] },
  }),
  call: (id: string, toolUse: string) => ({
    type: "assistant",
    message: {
      id,
      role: "assistant",
      content: [{ type: "tool_use", id: toolUse, name: "Read", input: { path: toolUse } }],
    },
  }),
  result: (toolUse: string, content: string) => ({
    type: "user",
    message: { role: "user", content: [{ type: "tool_result", tool_use_id: toolUse, content }] },
  }),
  boundary: (logicalParentUuid: string) => ({
    type: "system",
    subtype: "compact_boundary",
    content: "Conversation compacted",
    parentUuid: null,
    logicalParentUuid,
    compactMetadata: { trigger: "auto", preTokens: 1 },
  }),
  summary: (content: string) => ({
    type: "user",
    isCompactSummary: true,
    isVisibleInTranscriptOnly: true,
    message: { role: "user", content },
  }),
};
