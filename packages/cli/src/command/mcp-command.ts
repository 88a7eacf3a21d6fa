import { finished } from "node:stream/promises";
import { join, resolve } from "node:path";
import { Writable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { createMcpServer } from "palimpsest/internal/adapter/mcp/create-mcp-server";
import { serveMcpHttp } from "palimpsest/internal/adapter/mcp/serve-mcp-http";
import { type Millis, millis } from "palimpsest/internal/schema/brand";
import { makeFolder } from "palimpsest/internal/store/files/disk";
import { fileWorkingTree } from "palimpsest/internal/store/files/file-working-tree";
import { createSocketSecret, readSocketSecret } from "palimpsest/internal/store/files/socket-secret";
import { watchMemories } from "../agent/memory/open-agent-memory.ts";
import { createMask, projectRecallSources } from "../host/project-recall.ts";
import { openWorkspace } from "../host/workspace.ts";
import { command, type CommandContext, type Outcome } from "../program/command.ts";
import { exitCode, failure, type Failure, usageError } from "../program/failure.ts";
import type { Output } from "../program/output.ts";
import { readOwnVersion } from "../program/read-own-version.ts";
import { reportProblems } from "../program/report-problems.ts";
import { stopSignal } from "../program/stop-signal.ts";
import { sessionFailure } from "../session/session-failure.ts";

const portDefault = 8788;

export const mcpCommand = command({
  name: "mcp",
  summary: "serve this project's sessions and memories to other agents, by MCP",
  options: {
    http: { type: "boolean", summary: "serve HTTP at this machine's own address instead of stdin and stdout" },
    port: {
      type: "string",
      shown: "n",
      summary: `with --http: port to listen on; 0 takes any free one (default ${portDefault})`,
    },
    host: { type: "string", shown: "address", summary: "with --http: address to listen on (default 127.0.0.1)" },
    project: { type: "string", shown: "folder", summary: "the project's folder (default: the current one)" },
    "read-only": { type: "boolean", summary: "leave out memory_save" },
  },
  details: [
    "An agent's client starts it: claude mcp add palimpsest -- palimpsest mcp. It ends when the client closes its input.",
    "With --http the first line on stdout is the address; it answers until it is stopped with Ctrl-C. A client sends the token as `Authorization: Bearer …`; stderr says which file holds it, readable for you alone.",
    "Tools: recall, sessions, view, memory_read, memory_log, memory_save. Sessions and memories are resources too; prompts: decisions, continue. Secrets are masked in all that leaves.",
    "What a client's model saves is untrusted until you vouch for it (`palimpsest memory edit --trust`). With memory off (autoMemoryEnabled), nothing is saved.",
  ],
  run: async (context, { options }) => {
    const port = parsePort(options.port);
    if (typeof port !== "number") return port;
    const [wrong] = options.http ? [] : (["port", "host"] as const).filter((name) => options[name] !== undefined);
    if (wrong !== undefined) return usageError(`--${wrong} works with --http`, "Add --http, or leave it out.");
    const opened = await openServers(context, {
      cwd: options.project === undefined ? context.cwd : resolve(context.cwd, options.project),
      readOnly: options["read-only"] ? "read-only" : undefined,
    });
    if (opened.kind === "failure") return opened;
    try {
      return options.http
        ? await serveHttp(context, { ...opened, port, host: options.host })
        : await serveStdio(context, opened.createServer);
    } finally {
      await opened.close();
    }
  },
});

function parsePort(written: string | undefined): number | Failure {
  const port = written === undefined ? portDefault : Number(written);
  return /^\d+$/.test(written ?? "0") && port <= 65_535
    ? port
    : usageError(`${written} is no port`, "A port is a whole number from 0 to 65535; 0 takes any that is free.");
}

const now = (): Millis => millis(Date.now());

interface OpenedServers {
  readonly kind: "open";
  readonly home: string;
  readonly createServer: () => Promise<McpServer>;
  readonly close: () => Promise<void>;
}

async function openServers(
  context: CommandContext,
  { cwd, readOnly }: { readonly cwd: string; readonly readOnly: "read-only" | undefined },
): Promise<OpenedServers | Failure> {
  const { env } = context;
  const workspace = openWorkspace({ ...context, cwd });
  const { reading } = await workspace.settings();
  const wrong = await reportProblems(context, reading.problems);
  if (wrong !== undefined) return wrong;
  const project = await workspace.project();
  if (project.kind === "failed") return sessionFailure(project, "new");
  const { deps, root } = project;
  const closers: (() => Promise<void>)[] = [];
  // The client's own agent may have a shell that reaches the memory folder, so that its edits are not the user's.
  const warnings = await watchMemories(
    { now },
    { memories: deps.memories, session: { onClose: (close) => closers.push(close) } },
  );
  for (const warning of warnings) await context.err.write(`${warning}\n`);
  const options = {
    store: { open: async () => ({ kind: "open", ...deps }) as const },
    memory: readOnly ?? (reading.settings.autoMemoryEnabled.value ? "read-write" : "read-only"),
    recallSources: projectRecallSources({ project, home: workspace.home, env }),
    maskText: createMask(),
    workingTree: fileWorkingTree({ deps: { now }, root, programFolders: env["PATH"] ?? "" }),
    version: readOwnVersion(),
  } as const;
  return {
    kind: "open",
    home: workspace.home,
    createServer: () => createMcpServer(options),
    close: async () => {
      for (const close of closers) await close();
    },
  };
}

/** Until the client closes its end, or the system asks the process to end. */
async function serveStdio(
  { stdin, out, err }: CommandContext,
  createServer: OpenedServers["createServer"],
): Promise<Outcome> {
  if (out.isTerminal) await err.write("An MCP client talks to this on stdin and stdout. End it with Ctrl-C.\n");
  const server = await createServer();
  const transport = new StdioServerTransport(stdin, toWritable(out));
  const stop = stopSignal();
  const over = Promise.withResolvers<void>();
  const end = (): void => over.resolve();
  stop.signal.addEventListener("abort", end);
  // oxlint-disable-next-line unicorn/prefer-add-event-listener
  server.server.onclose = end;
  finished(stdin, { writable: false }).then(end, end);
  await server.connect(transport);
  const answered = followRequests(transport);
  await over.promise;
  await Promise.race([answered(), wait(answerMsMax, undefined, { ref: false })]);
  stop.release();
  await server.close();
  return exitCode.fine;
}

/** How long requests are answered after the client has closed its end. It may not read the answers any more. */
const answerMsMax = 2_000;

/** The function that is returned resolves when no request waits for an answer. */
function followRequests(transport: StdioServerTransport): () => Promise<void> {
  const waiting = new Set<string | number>();
  const idle = Promise.withResolvers<void>();
  let isEnding = false;
  const look = (): void => {
    if (isEnding && waiting.size === 0) idle.resolve();
  };
  const { onmessage } = transport;
  // oxlint-disable-next-line unicorn/prefer-add-event-listener
  transport.onmessage = (message) => {
    if ("method" in message && "id" in message) waiting.add(message.id);
    onmessage?.(message);
  };
  const send = transport.send.bind(transport);
  transport.send = async (message) => {
    await send(message);
    if (!("method" in message) && message.id !== undefined) waiting.delete(message.id);
    look();
  };
  return () => {
    isEnding = true;
    look();
    return idle.promise;
  };
}

/** Nothing else writes to stdout meanwhile: it holds the protocol only. */
function toWritable(out: Output): Writable {
  const write = async (chunk: Buffer, done: () => void): Promise<void> => {
    await out.bytes(chunk);
    done();
  };
  return new Writable({ write: (chunk: Buffer, _encoding, done) => void write(chunk, done) });
}

async function serveHttp(
  { out, err }: CommandContext,
  { home, createServer, port, host }: OpenedServers & { readonly port: number; readonly host: string | undefined },
): Promise<Outcome> {
  const token = await readToken(join(home, "mcp"));
  if (token.kind === "failure") return token;
  const serving = await serveMcpHttp({ createServer, token: token.text, port, host });
  if (serving.kind === "failed")
    return serving.code === "EADDRINUSE"
      ? failure({ code: exitCode.busy, message: `port ${port} is in use`, hint: "Choose another one with --port." })
      : failure({ code: exitCode.machine, message: serving.message, hint: "Choose another address or port." });
  const stop = stopSignal();
  await out.write(`${serving.url}\n`);
  await err.write(`The token is in ${token.path}; stop with Ctrl-C.\n`);
  if (!stop.signal.aborted)
    await new Promise<void>((done) => {
      stop.signal.addEventListener("abort", () => done());
    });
  await serving.close();
  return exitCode.fine;
}

/** The same for every project and every start, so that a client is set up once. */
async function readToken(
  folder: string,
): Promise<{ readonly kind: "token"; readonly text: string; readonly path: string } | Failure> {
  await makeFolder(folder);
  let read = await readSocketSecret(folder);
  if (read.kind === "missing") {
    await createSocketSecret(folder);
    read = await readSocketSecret(folder);
  }
  return read.kind === "secret"
    ? { kind: "token", text: read.secret, path: join(folder, "secret") }
    : failure({ code: exitCode.refused, message: read.message, hint: `Correct it, or delete ${folder}.` });
}
