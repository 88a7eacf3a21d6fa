import { expect, it } from "vitest";
import { openContext } from "../../packages/palimpsest/src/open/open-context.ts";
import { fileStore } from "../../packages/palimpsest/src/store/files/store.ts";
import { memoryStore } from "../../packages/palimpsest/src/store/memory/store.ts";
import { mapStore } from "../../examples/map-store.ts";
import { temporaryFolder } from "../contract/temporary-folder.ts";

it.each([
  ["files", async () => fileStore({ folder: await temporaryFolder() })],
  ["memory", async () => memoryStore()],
])("a context in %s finds what another session of its store holds, only if it is asked to", async (_, make) => {
  const store = await make();
  const open = (session: string) => openContext({ model: "claude-sonnet-5-5", session, store });
  const first = await open("first");
  await first.user("The zebra is in the north.");
  await first.close();
  const second = await open("second");
  await second.user("Where is the okapi?");
  expect(await second.recall("zebra")).toEqual([]);
  expect(await second.recall("zebra", { scope: "project" })).toMatchObject([
    { kind: "user", snippet: "The zebra is in the north.", session: { id: "first", source: "session" } },
  ]);
  expect(await second.recall("okapi", { kind: "user" })).toMatchObject([{ kind: "user", session: undefined }]);
  expect(await second.recall("okapi", { kind: "reply" })).toEqual([]);
  await second.close();
});

it("the caller's scanner masks what is indexed, in addition to our rules", async () => {
  const folder = await temporaryFolder();
  const secretScanner = {
    scan: (text: string) => {
      const start = text.indexOf("xyzzy");
      return Promise.resolve(start === -1 ? [] : [{ kind: "word", start, end: start + 5, line: 1 }]);
    },
  };
  const store = fileStore({ folder });
  const context = await openContext({ model: "claude-sonnet-5-5", session: "one", store, secretScanner });
  await context.user("The zebra says xyzzy, with password=hunter22zoo there");
  const [hit] = await context.recall("zebra", { scope: "project" });
  expect(hit?.snippet).toBe("The zebra says [secret: word], with password=[secret: password] there");
  expect(hit?.session?.title).not.toContain("xyzzy");
  await context.close();
});

it("a store without an index finds nothing in other sessions", async () => {
  const context = await openContext({ model: "claude-sonnet-5-5", session: "one", store: mapStore(new Map()) });
  await context.user("The zebra.");
  expect(await context.recall("zebra")).toHaveLength(1);
  expect(await context.recall("zebra", { scope: "project" })).toEqual([]);
  await context.close();
});
