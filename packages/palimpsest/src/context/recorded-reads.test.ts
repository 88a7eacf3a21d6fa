import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../../test/contract/temporary-folder.ts";
import { testAgent } from "../../../../test/fixture/agent.ts";
import {
  append,
  call,
  cleared,
  openedForTest,
  reopened,
  reply,
  testDeps,
  user,
} from "../../../../test/fixture/session.ts";
import { playing, says } from "../../../../test/scenario/support/simulated.ts";
import { toolUseId } from "../schema/brand.ts";
import { Simulator } from "@palimpsest/simulator/internal/simulator";
import { editTool } from "@palimpsest/cli/internal/tool/file/edit-tool";
import { readTool } from "@palimpsest/cli/internal/tool/file/read-tool";
import { readKnownFile } from "@palimpsest/cli/internal/tool/file/text-file";
import { createReadFiles, listRecordedReads } from "./read-files.ts";
import { type Draft, resultDraft } from "../transcript/draft.ts";
import { appendBoundary } from "../session/append-boundary.ts";

const file = (hash: string) => ({ path: "/a", hash, modifiedMs: 1 });
const resultOf = (id: string, readFile: object): Draft => ({
  ...resultDraft({ toolUse: toolUseId(id), content: "1\tx" }),
  readFile,
});

async function withReads() {
  const deps = testDeps();
  const session = await openedForTest(deps);
  await append(session, user("Go."), reply("msg_1", call("toolu_1"), call("toolu_2")));
  await append(session, resultOf("toolu_1", file("old")), resultOf("toolu_2", file("new")));
  return { deps, session, known: () => createReadFiles(listRecordedReads(session.fold)).get("/a")?.hash };
}

test("a file counts as read while the view shows it, in the state that was seen last", async () => {
  const { session, known } = await withReads();
  expect(known()).toBe("new");
  await append(session, cleared("toolu_2"));
  expect(known()).toBe("old");
  await append(session, cleared("toolu_1"));
  expect(known()).toBeUndefined();
});

test("behind a boundary nothing counts as read", async () => {
  const { deps, session, known } = await withReads();
  await appendBoundary(deps, session, { summary: "All so far.", trigger: "manual" });
  expect(known()).toBeUndefined();
});

test("a record in another form is none", async () => {
  const { session, known } = await withReads();
  await append(session, reply("msg_2", call("toolu_3")), resultOf("toolu_3", { path: "/a", hash: 1 }));
  expect(known()).toBe("new");
});

test("a file that was read or changed may be changed after a reopening, unless it has changed since", async () => {
  const folder = await temporaryFolder();
  const [read, edited] = [join(folder, "read.txt"), join(folder, "edited.txt")];
  for (const path of [read, edited]) await writeFile(path, "one\n");
  const deps = testDeps();
  const session = await openedForTest(deps);
  const called = (name: string, input: object) => [{ type: "tool_use" as const, name, input: { ...input } }];
  const simulator = new Simulator({
    responder: playing(
      called("read", { file_path: read }),
      called("read", { file_path: edited }),
      called("edit", { file_path: edited, old_string: "one", new_string: "two" }),
      says("Done."),
    ),
  });
  await testAgent({ deps, session, simulator, tools: [readTool({ isShown: () => true }), editTool()] }).turn("Go.");
  const again = await reopened(deps, session);
  const files = createReadFiles(listRecordedReads(again.fold));
  await again.close();
  expect(await readKnownFile(files, read)).toMatchObject({ kind: "seen" });
  expect(await readKnownFile(files, edited)).toMatchObject({ kind: "seen", file: { bytes: Buffer.from("two\n") } });
  await writeFile(read, "three\n");
  expect(await readKnownFile(files, read)).toEqual({
    kind: "refused",
    message: `${read}: it has changed since you read it; read it again, then change it`,
  });
});
