/**
 * Runs the real Claude Agent SDK against the simulator: a turn with a sub-agent, then texts that make it compact, each turn
 * with a home of its own, so that nothing but the store can be resumed from. Says as JSON what came of it.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Responder, serveSimulator, Simulator } from "@palimpsest/simulator";
import { fileStore } from "palimpsest";
import { agentSessions } from "palimpsest/claude-agent-sdk";
import type * as substitute from "../../../examples/agent-sdk-substitute.ts";

interface SdkFunctions {
  forkSession(session: string, options: object): Promise<{ readonly sessionId: string }>;
  getSessionMessages(session: string, options: object): Promise<readonly unknown[]>;
  deleteSession(session: string, options: object): Promise<void>;
}

const [folder = ""] = process.argv.slice(2);
const requests: string[] = [];
const responder: Responder = {
  name: "delegating",
  respond: ({ request }) => {
    const last = JSON.stringify(request.messages.at(-1));
    requests.push(JSON.stringify(request.messages));
    if (last.includes("TEXT ONLY")) return say("<summary>A heron was seen.</summary>");
    if (last.includes('"tool_result"')) return say("The agent is back.");
    if (last.includes("Look at the lake")) return say("I saw a heron-77.");
    if (!last.includes("Have an agent look.")) return say("Read.");
    const input = { description: "look", prompt: "Look at the lake", subagent_type: "general-purpose" };
    return { move: { kind: "say", blocks: [{ type: "tool_use", name: "Agent", input }] } };
  },
};
const say = (text: string) => ({ move: { kind: "say" as const, blocks: [{ type: "text" as const, text }] } });

const server = await serveSimulator(new Simulator({ responder }), { port: 0 });
if (server.kind === "failed") throw new Error(server.message);
const name = "@anthropic-ai/claude-agent-sdk";
// The long test compiles our types against the SDK's own.
// oxlint-disable-next-line typescript/no-unsafe-assignment
const sdk: typeof substitute & SdkFunctions = await import(name);
const cwd = join(folder, "project");
mkdirSync(cwd, { recursive: true });
const memory = agentSessions({ store: fileStore({ folder: join(folder, "sessions") }) });

const texts = [1, 2, 3, 4, 5].map(
  (text) => `Text ${text} has kingfisher-${text}. ${`Line of text ${text}. `.repeat(9_000)}`,
);
let resume: string | undefined;
let boundaries = 0;
const results: string[] = [];
const carriesOn: boolean[] = [];
for (const [turn, prompt] of ["The word is ibis-1.", "Have an agent look.", ...texts].entries()) {
  const home = join(folder, `home-${turn}`);
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: home,
    CLAUDE_CONFIG_DIR: home,
    CLAUDE_CODE_AUTO_COMPACT_WINDOW: "100000",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    ANTHROPIC_BASE_URL: server.url,
    ANTHROPIC_API_KEY: "none",
    IS_SANDBOX: "1",
  };
  const from = requests.length;
  const options = { ...(await memory.options()), model: "claude-sonnet-4-5", cwd, env, settingSources: [], resume };
  for await (const message of sdk.query({ prompt, options })) {
    if (message.type === "system" && message.subtype === "compact_boundary") boundaries += 1;
    if (message.type !== "result") continue;
    resume = message.session_id;
    results.push(message.result);
  }
  const before = ["", "ibis-1", "The agent is back."][turn] ?? `kingfisher-${turn - 2}`;
  carriesOn.push(requests[from]?.includes(before) ?? false);
}
const session = resume ?? "";
const [{ sessionId } = { sessionId: "" }] = await memory.sessionStore.listSessions(
  cwd.replaceAll(/[^A-Za-z0-9]/g, "-"),
);
const subkeys = await memory.sessionStore.listSubkeys({ projectKey: cwd.replaceAll(/[^A-Za-z0-9]/g, "-"), sessionId });
const receipts = await memory.receipts(session);
const [heron] = await memory.recall("ibis-1", { session });
const inStore = { dir: cwd, sessionStore: memory.sessionStore };
const fork = await sdk.forkSession(session, inStore);
const forked = (await sdk.getSessionMessages(fork.sessionId, inStore)).length;
await sdk.deleteSession(fork.sessionId, inStore);
process.stdout.write(
  JSON.stringify({
    messages: (await sdk.getSessionMessages(session, inStore)).length,
    forked,
    afterDeletion: (await sdk.getSessionMessages(fork.sessionId, inStore)).length,
    isListed: sessionId === session,
    subkeys,
    boundaries,
    results,
    carriesOn,
    receipts: receipts.map(({ receipt }) => [receipt?.tokensBefore, receipt?.tokensAfter]),
    recalled: heron?.snippet,
  }),
);
await server.close();
