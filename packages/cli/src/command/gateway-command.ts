import { createGatewayKey, hashKey } from "@palimpsest/gateway/internal/operate/users";
import { portDefault } from "@palimpsest/gateway/internal/limits";
import { runGateway } from "../gateway/run-gateway.ts";
import { showStatus } from "../gateway/show-status.ts";
import { stopGateway } from "../gateway/stop-gateway.ts";
import { command, type CommandContext, type Outcome } from "../program/command.ts";
import { exitCode, usageError } from "../program/failure.ts";

export const gatewayCommand = command({
  name: "gateway",
  summary: "serve between an existing agent and its model: set the agent's base URL to it",
  operands: {
    action: {
      shown: "status|stop|key",
      takes: "optional",
      summary: "show the running gateway, end it, or make a key for a user; without one of them, serve",
    },
  },
  options: {
    upstream: {
      type: "string",
      shown: "url",
      takes: "many",
      summary:
        "base URL of the model API; anthropic=<url> and openai=<url> set one of both (default: the providers' own)",
    },
    port: {
      type: "string",
      shown: "n",
      summary: `port to listen on; 0 takes any free one (default ${portDefault})`,
    },
    host: { type: "string", shown: "address", summary: "address to listen on (default 127.0.0.1)" },
    config: {
      type: "string",
      shown: "file",
      summary: "config file (default: gateway.json in the home, if it is there)",
    },
    insecure: { type: "boolean", summary: "listen beyond this machine without TLS: something before it speaks TLS" },
  },
  json: "with status: the whole status; with key: `key` and `keySha256`",
  details: [
    "The first line on stdout is the base URL for clients. It answers until it is stopped with Ctrl-C: then it takes no more requests and waits for running replies. SIGHUP reads the config again, as does a change of the file.",
    "`palimpsest run claude` starts a client through it, and the gateway if none runs.",
    "Without users in the config, only this machine reaches it, and the clients' own keys go upstream.",
  ],
  run: async (context, { operands: { action }, options, format }) => {
    if (action === undefined) return runGateway(context, options);
    const wrong = (["port", "host", "config"] as const).find((name) => options[name] !== undefined);
    if (wrong !== undefined || options.upstream.length > 0 || options.insecure)
      return usageError(`${action} takes no options of a start`, "Leave them out.");
    if (action === "status") return showStatus(context, format);
    if (action === "stop") return stopGateway(context);
    if (action === "key") return printKey(context, format);
    return usageError(`the gateway has no ${action}`, "There are status, stop and key.");
  },
});

/** Only the hash is kept: who loses the key makes another. */
async function printKey({ out }: CommandContext, format: "text" | "json"): Promise<Outcome> {
  const key = createGatewayKey();
  const keySha256 = hashKey(key);
  if (format === "json") await out.json({ key, keySha256 });
  else await out.write(`For the user:   ${key}\nFor the config: "keySha256": "${keySha256}"\n`);
  return exitCode.fine;
}
