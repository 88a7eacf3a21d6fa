import { expect, test } from "vitest";
import { listPagesMax } from "./limits.ts";
import { type SdkClient, createToolServer } from "./sdk-client.ts";

const { signal } = new AbortController();
const tool = (name: string) => ({ name, inputSchema: { type: "object" } });

function server(parts: Partial<SdkClient>) {
  const client: SdkClient = {
    listTools: async () => ({ tools: [] }),
    callTool: async () => ({ content: [] }),
    getInstructions: () => undefined,
    close: async () => undefined,
    ...parts,
  };
  let changed = (): void => undefined;
  const made = createToolServer({ client, onToolsChanged: (listener) => (changed = listener) });
  return { client, made, change: () => changed() };
}

test("a list comes page by page, without what has no known form", async () => {
  const pages = [{ tools: [tool("a"), { name: 5 }], nextCursor: "2" }, { tools: [tool("b")] }];
  const cursors: unknown[] = [];
  const listTools = async (params: { cursor?: string }) => pages[cursors.push(params.cursor) - 1];
  const { made } = server({ listTools });
  expect(await made.listTools(signal)).toMatchObject({ kind: "listed", tools: [{ name: "a" }, { name: "b" }] });
  expect(cursors).toEqual([undefined, "2"]);
});

test("a list without end is ended", async () => {
  let pages = 0;
  const listTools = async () => {
    pages += 1;
    return { tools: [], nextCursor: String(pages) };
  };
  expect(await server({ listTools }).made.listTools(signal)).toEqual({ kind: "listed", tools: [] });
  expect(pages).toBe(listPagesMax);
});

test.each<[string, () => Promise<unknown>, object]>([
  ["parts", async () => ({ content: [{ type: "text", text: "x" }] }), { kind: "answer", isError: false }],
  ["an error", async () => ({ content: [], isError: true }), { kind: "answer", isError: true }],
  ["data alone", async () => ({ structuredContent: { a: 1 } }), { content: [{ type: "text", text: '{"a":1}' }] }],
  [
    "data and a text",
    async () => ({ content: [{ type: "text", text: "x" }], structuredContent: { a: 1 } }),
    { content: [{ text: "x" }] },
  ],
  ["no known form", async () => ({ content: "x" }), { kind: "failed" }],
  ["a throw", () => Promise.reject(new Error("gone")), { kind: "failed", why: "gone" }],
])("an answer with %s", async (_, callTool, expected) => {
  expect(await server({ callTool }).made.call({ tool: "a", input: {} }, signal)).toMatchObject(expected);
});

test("tells of another list and of the end, but not of an end that was wanted", async () => {
  const { client, made, change } = server({ close: () => Promise.reject(new Error("gone already")) });
  const heard: string[] = [];
  made.onChange((what) => void heard.push(what));
  change();
  client.onclose?.();
  expect(heard).toEqual(["tools", "closed"]);
  await made.close();
  client.onclose?.();
  expect(heard).toEqual(["tools", "closed"]);
});
