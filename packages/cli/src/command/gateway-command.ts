import { createGatewayKey, hashKey } from "@palimpsest/gateway/internal/operate/users";
import { portDefault } from "@palimpsest/gateway/internal/limits";
import { runGateway } from "../gateway/run-gateway.ts";
import { showStatus } from "../gateway/show-status.ts";
import { stopGateway } from "../gateway/stop-gateway.ts";
import { command, type CommandContext, type Outcome } from "../program/command.ts";
import { exitCode, usageError } from "../program/failure.ts";

const statusCommand = command({
  name: "status",
  summary: "show the running gateway: conversations, savings, edits, the upstream's state, and the link to its page",
  json: "the whole status",
  details: [
    "Counts are since the gateway was started; only today's spending is since midnight UTC. docs/gateway.md explains the figures.",
    "The link contains the gateway's secret: whoever has it sees everything.",
  ],
  run: (context, { format }) => showStatus(context, format),
});

const stopCommand = command({
  name: "stop",
  summary: "stop the running gateway, after its running replies",
  run: (context) => stopGateway(context),
});

const keyCommand = command({
  name: "key",
  summary: "create a key for a user, and its hash for the config",
  json: "`key` and `keySha256`",
  details: ["Only the hash is stored, by you in the config: a lost key has to be replaced."],
  run: (context, { format }) => printKey(context, format),
});

const actions = [statusCommand, stopCommand, keyCommand];

export const gatewayCommand = command({
  name: "gateway",
  summary: "run a proxy between an existing agent and its model; point the agent's base URL at it",
  operands: {
    action: {
      shown: "status|stop|key",
      takes: "optional",
      summary: "show the running gateway, stop it, or create a key for a user; without an action, serve",
    },
  },
  options: {
    upstream: {
      type: "string",
      shown: "url",
      takes: "many",
      summary:
        "base URL of the model API; anthropic=<url> or openai=<url> sets only that one (default: the providers' own)",
    },
    port: {
      type: "string",
      shown: "n",
      summary: `port to listen on; 0 picks any free one (default ${portDefault})`,
    },
    host: { type: "string", shown: "address", summary: "address to listen on (default 127.0.0.1)" },
    config: {
      type: "string",
      shown: "file",
      summary: "config file (default: gateway.json in the home, if it exists)",
    },
    insecure: {
      type: "boolean",
      summary: "listen beyond this machine without TLS, because a proxy in front of the gateway terminates it",
    },
  },
  json: "with status: the whole status; with key: `key` and `keySha256`",
  details: [
    "The first line on stdout is the base URL for clients. Ctrl-C stops it: it accepts no more requests and waits for running replies; a second Ctrl-C stops it at once. The config is reloaded when the file changes or on SIGHUP.",
    "`palimpsest gateway status --help` explains an action.",
    "`palimpsest run claude` starts a client through it, and the gateway too if none is running.",
    "Without users in the config, only this machine can reach it, and the clients' own keys go upstream.",
  ],
  actions,
  run: async (context, { operands: { action }, options, format }) => {
    if (action === undefined) return runGateway(context, options);
    const wrong = (["port", "host", "config"] as const).find((name) => options[name] !== undefined);
    if (wrong !== undefined || options.upstream.length > 0 || options.insecure)
      return usageError(`\`gateway ${action}\` takes no server options`, "Leave them out.");
    const named = actions.find(({ name }) => name === action);
    if (named === undefined) return usageError(`unknown action ${action}`, "Actions: status, stop, key.");
    return named.run({ ...context, called: `${context.called} ${action}` }, format === "json" ? ["--json"] : []);
  },
});

/** Only the hash is stored: a lost key has to be replaced. */
async function printKey({ out }: CommandContext, format: "text" | "json"): Promise<Outcome> {
  const key = createGatewayKey();
  const keySha256 = hashKey(key);
  if (format === "json") await out.json({ key, keySha256 });
  else await out.write(`For the user:   ${key}\nFor the config: "keySha256": "${keySha256}"\n`);
  return exitCode.fine;
}
