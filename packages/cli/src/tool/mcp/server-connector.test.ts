import { realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { eventServer, httpServer } from "../../../../../test/fixture/mcp/http-server.ts";
import { injected, pixel } from "../../../../../test/fixture/mcp/made-server.ts";
import type { ProgramStart } from "palimpsest/internal/ports/sandbox";
import type { ToolServer } from "palimpsest/internal/ports/tool-server";
import type { RemoteServer, StdioServer } from "palimpsest/internal/schema/server-definition";
import { signalGroup } from "../signal-group.ts";
import {
  serverConnector,
  type SdkClient,
  createToolServer,
  type MessageLimits,
  fetchBounded,
  limitMessages,
} from "./server-connector.ts";
import { listPagesMax, messageBytesMax } from "./limits.ts";
import { createServer } from "node:http";

const program = join(import.meta.dirname, "../../../../../test/fixture/mcp/stdio-server.ts");
const connect = serverConnector({ version: "0.0.0" });
const never = new AbortController().signal;

const stdio = (...args: readonly string[]): StdioServer => ({
  kind: "stdio",
  name: "a",
  command: process.execPath,
  args: [program, ...args],
  env: {},
});

/** Programs that are no servers. */
const script = (lines: string): StdioServer => ({ ...stdio(), command: "/bin/sh", args: ["-c", lines] });
const notServers = {
  dies: script("echo no >&2; printf '\\033[31mconfiguration' >&2; exit 7"),
  mute: script("trap '' TERM; exec sleep 60"),
  garbage: script("while :; do echo '{ garbage'; sleep 0.02; done"),
  endless: script("yes x | tr -d '\\n'"),
} as const;

/** Process groups that are on record, and those that were. */
let recorded: number[] = [];
let forgotten: number[] = [];
afterEach(() => {
  const running = recorded.filter((leader) => signalGroup(leader, 0) || !forgotten.includes(leader));
  if (running.length > 0) throw new Error(`left running, or on record: ${running.join(", ")}`);
  [recorded, forgotten] = [[], []];
});

async function start(definition: StdioServer | RemoteServer, signal = never) {
  return await connect(
    {
      definition,
      env: { PATH: process.env["PATH"] ?? "", ONLY: "this" },
      cwd: await realpath(tmpdir()),
      record: async (leader) => {
        recorded.push(leader);
        return async () => void forgotten.push(leader);
      },
    },
    signal,
  );
}

async function failure(definition: StdioServer | RemoteServer, signal = never): Promise<string> {
  const made = await start(definition, signal);
  return made.kind === "failed" ? made.why : "it is connected";
}

async function server(definition: StdioServer | RemoteServer): Promise<ToolServer> {
  const made = await start(definition);
  if (made.kind === "failed") throw new Error(made.why);
  onTestFinished(() => made.server.close());
  return made.server;
}

const namesOf = async (made: ToolServer): Promise<readonly string[]> => {
  const listed = await made.listTools(never);
  return listed.kind === "listed" ? listed.tools.map(({ name }) => name) : [listed.why];
};

const call = (made: ToolServer, tool: string, input = {}) => made.call({ tool, input }, never);
const text = (said: string) => ({ kind: "answer", content: [{ type: "text", text: said }], isError: false });

describe("a program", () => {
  test("lists and calls: text, error, image; a greeting on its stdout does no harm", async () => {
    const made = await server(stdio("good", "odd.name/with:signs"));
    expect(made.instructions).toBe("Be kind.");
    expect(await namesOf(made)).toContain("odd.name/with:signs");
    expect(await call(made, "echo", { a: [1] })).toEqual(text('{"a":[1]}'));
    expect(await call(made, "odd.name/with:signs")).toEqual(text("did odd.name/with:signs"));
    expect(await call(made, "fail")).toMatchObject({ isError: true, content: [{ text: "it went wrong" }] });
    expect(await call(made, "draw")).toMatchObject({ content: [{ type: "image", data: pixel }] });
    await made.close();
  });

  test("sees only the environment that it is given", async () => {
    const made = await server(stdio("good"));
    const answer = await call(made, "environment");
    expect(JSON.stringify(answer)).toContain("ONLY");
    expect(JSON.stringify(answer)).not.toContain("HOME");
    await made.close();
  });

  test("is told of: another list, and its end", async () => {
    const made = await server(stdio("good"));
    const heard: string[] = [];
    const closed = Promise.withResolvers<void>();
    made.onChange((change) => {
      heard.push(change);
      if (change === "closed") closed.resolve();
    });
    await call(made, "grow");
    expect(await namesOf(made)).toContain("grown");
    expect(await call(made, "die")).toMatchObject({ kind: "failed" });
    await closed.promise;
    expect(heard).toEqual(["tools", "closed"]);
    expect(await call(made, "echo")).toMatchObject({ kind: "failed" });
  });

  test("that dies at once is told with its exit code and the end of its stderr", async () => {
    expect(await failure(notServers.dies)).toMatch(
      /^it ended with exit code 7; its stderr ends: no\n.*configuration$/s,
    );
  });

  test("that is not there is told by its name", async () => {
    const made = await start({ ...stdio(), command: "no-such-program" });
    expect(made).toEqual({ kind: "failed", why: "there is no program no-such-program" });
  });

  test.each(["mute", "garbage"] as const)(
    "that says nothing of use (%s) is ended when nobody waits any more",
    async (way) => {
      const why = await failure(notServers[way], AbortSignal.timeout(700));
      expect(why).not.toBe("it is connected");
      expect(why.includes("are no messages")).toBe(way === "garbage");
    },
  );

  test("that sends a line without end is ended", async () => {
    expect(await failure(notServers.endless)).toContain("a line of over");
  });

  test("a call is given up with its signal, and the server goes on", async () => {
    const made = await server(stdio("good"));
    expect(await made.call({ tool: "hang", input: {} }, AbortSignal.timeout(100))).toMatchObject({ kind: "failed" });
    expect(await call(made, "echo")).toEqual(text("{}"));
    await made.close();
  });

  test("what a hostile one says stands where a server's words stand, and is changed by nobody here", async () => {
    const made = await server(stdio("hostile"));
    expect(made.instructions).toBe(injected);
    expect(await call(made, "inject")).toEqual(text(injected));
    await made.close();
  });
});

describe("an address", () => {
  const remote = (url: string, parts: Partial<RemoteServer> = {}): RemoteServer => ({
    kind: "http",
    name: "a",
    url,
    headers: {},
    ...parts,
  });

  test("by Streamable HTTP lists and calls, with the headers of its definition", async () => {
    const far = await httpServer("t-1");
    onTestFinished(() => far.close());
    const made = await server(remote(far.url, { headers: { Authorization: "Bearer t-1" } }));
    expect(made.instructions).toBe("By HTTP.");
    expect(await namesOf(made)).toEqual(["echo", "fail", "draw"]);
    expect(await call(made, "echo", { b: 2 })).toEqual(text('{"b":2}'));
    expect(new Set(far.asked)).toEqual(new Set(["Bearer t-1"]));
    await made.close();
  });

  test.each(["http", "sse"] as const)("of the protocol's first years is spoken to in its way (%s)", async (kind) => {
    const far = await eventServer();
    onTestFinished(() => far.close());
    const made = await server(remote(far.url, { kind }));
    expect(made.instructions).toBe("By events.");
    expect(await call(made, "echo")).toEqual(text("{}"));
    await made.close();
  });

  test("that wants a token says so without a stack of words", async () => {
    const far = await httpServer("t-1");
    onTestFinished(() => far.close());
    expect(await failure(remote(far.url))).toContain("401");
  });

  test("where nobody listens is told with the reason", async () => {
    const gone = await httpServer();
    await gone.close();
    expect(await failure(remote(gone.url))).toContain("ECONNREFUSED");
    expect(await start(remote("nowhere"))).toEqual({ kind: "failed", why: "its address is no URL" });
  });

  test("that does not know us any more counts as ended, so that it is asked anew", async () => {
    const far = await httpServer();
    onTestFinished(() => far.close());
    const made = await server(remote(far.url));
    const closed = new Promise<string>((resolve) => made.onChange(resolve));
    far.forget();
    expect(await call(made, "echo")).toMatchObject({ kind: "failed" });
    expect(await closed).toBe("closed");
  });
});

describe("in a sandbox", () => {
  test("a server whose start is refused is not started, and the reason is told", async () => {
    const enter = async () => ({ kind: "refused", why: "a sandbox is required" }) as const;
    const cwd = await realpath(tmpdir());
    const made = await connect({ definition: stdio("good"), env: {}, cwd, enter }, never);
    expect(made).toEqual({ kind: "failed", why: "it is not started: a sandbox is required" });
  });

  test("what a start left on disk is removed once, when the server has ended, also one that was closed meanwhile", async () => {
    const cwd = await realpath(tmpdir());
    const left: string[] = [];
    const enterAfter = (ms: number) => async (start: ProgramStart) => {
      await wait(ms);
      return { kind: "ready", start, leave: async () => void left.push("left") } as const;
    };
    const env = { PATH: process.env["PATH"] ?? "" };
    const made = await connect({ definition: stdio("good"), env, cwd, enter: enterAfter(0) }, never);
    if (made.kind !== "connected") throw new Error(made.why);
    expect(left).toEqual([]);
    await made.server.close();
    expect(left).toEqual(["left"]);
    const stopped = new AbortController();
    setTimeout(() => stopped.abort(), 20);
    const aborted = await connect({ definition: stdio("good"), env, cwd, enter: enterAfter(200) }, stopped.signal);
    expect(aborted.kind).toBe("failed");
    await expect.poll(() => left).toEqual(["left", "left"]);
  });
});

describe("sdk client", () => {
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
});

const through = async (chunks: readonly string[], ends: MessageLimits["ends"]): Promise<string> =>
  await new Response(
    ReadableStream.from(chunks.map((chunk) => new TextEncoder().encode(chunk))).pipeThrough(
      limitMessages({ bytesMax: 20, ends }),
    ),
  ).text();

test.each(["\n", "\r", "\r\n"])(
  "a stream of many messages may be as long as it likes, with %j at line ends",
  async (end) => {
    const chunks = Array.from({ length: 100 }, () => `data: 12345678${end}${end}`);
    expect(await through(chunks, "empty-line")).toBe(chunks.join(""));
    const bytewise = Array.from(chunks.join(""));
    expect(await through(bytewise, "empty-line")).toBe(chunks.join(""));
  },
);

test.each<[string, readonly string[], MessageLimits["ends"]]>([
  ["at once", ["123456789012345678901"], "empty-line"],
  ["by and by", ["12345", "\n\n12345", "6789012345678901"], "empty-line"],
  ["whose end comes with the rest", ["12345678901234567890", "1\n\n"], "empty-line"],
  ["in many short lines", ["data: 1234\n", "data: 1234\n"], "empty-line"],
  ["in many short lines with two signs at their ends", ["data: 1234\r\n", "data: 1234\r\n"], "empty-line"],
  ["in an answer that is one", ["{\n\n", "1234567890\n\n", "1234567890\n\n"], "never"],
])("a message over the limit breaks it off: %s", async (_, chunks, ends) => {
  await expect(through(chunks, ends)).rejects.toThrow("over 20 bytes");
});

test.each([
  [200, "application/json"],
  [500, "text/event-stream"],
])("an answer %d of %s is held to the limit, whatever lines it has", async (status, type) => {
  const server = createServer((_request, response) => {
    response.writeHead(status, { "content-type": type });
    response.end("1234567\n".repeat(messageBytesMax / 8 + 1));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise((resolve) => void (server.closeAllConnections(), server.close(() => resolve()))));
  const address = server.address();
  const port = address !== null && typeof address === "object" ? address.port : 0;
  const response = await fetchBounded(`http://127.0.0.1:${port}/`);
  expect(response.status).toBe(status);
  await expect(response.text()).rejects.toThrow(`over ${messageBytesMax} bytes`);
});
