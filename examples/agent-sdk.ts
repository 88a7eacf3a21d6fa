import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Responder, serveSimulator, Simulator } from "@palimpsest/simulator";
import * as substitute from "./agent-sdk-substitute.ts";

/** Reads texts; looks up what it has forgotten. */
const reader: Responder = {
  name: "reader",
  respond: ({ request }) => {
    const last = JSON.stringify(request.messages.at(-1));
    if (last.includes("TEXT ONLY")) return say("<summary>The user gave some long texts to read.</summary>");
    const [found] = last.includes('"tool_result"') ? (/periwinkle-\d/.exec(last) ?? ["nothing"]) : [];
    if (found !== undefined) return say(`It was ${found}.`);
    if (!last.includes("What was the code word of text 1?")) return say("I have read it.");
    const input = { query: "code word text 1 periwinkle" };
    return { move: { kind: "say", blocks: [{ type: "tool_use", name: "mcp__palimpsest__recall", input }] } };
  },
};
const say = (text: string) => ({ move: { kind: "say" as const, blocks: [{ type: "text" as const, text }] } });

const sdkName = "@anthropic-ai/claude-agent-sdk";

/** `query` of the SDK, or of a substitute if it is not installed, and options that have a simulated model answer it. */
export async function simulatedAgentSdk() {
  const server = await serveSimulator(new Simulator({ responder: reader }), { port: 0 });
  if (server.kind === "failed") throw new Error(server.message);
  const folder = await mkdtemp(join(tmpdir(), "agent-sdk-"));
  const cwd = join(folder, "project");
  await mkdir(cwd);
  // It may not be installed, so the compiler can't know its types.
  // oxlint-disable-next-line typescript/no-unsafe-assignment
  const sdk: typeof substitute = await import(sdkName).catch(() => substitute);
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: folder,
    CLAUDE_CONFIG_DIR: join(folder, "claude"), // else the SDK looks for transcripts in this process's home
    CLAUDE_CODE_AUTO_COMPACT_WINDOW: "100000",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    ANTHROPIC_BASE_URL: server.url,
    ANTHROPIC_API_KEY: "none",
    IS_SANDBOX: "1",
  };
  return {
    name: sdk === substitute ? "a substitute" : sdkName,
    query: sdk.query,
    claude: { model: "claude-sonnet-4-5", cwd, env, settingSources: [] },
    sessionsFolder: join(folder, "sessions"),
    close: async () => {
      await server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
