import { homeFolder, locateProject } from "palimpsest/internal/store/files/project";
import { randomUUID } from "node:crypto";
import { join, resolve } from "node:path";
import { checkUserKey, findClientUpstreams } from "../gateway/client-upstream.ts";
import { clientNames, isClientName, setUpClient } from "../gateway/set-up-client.ts";
import { ensureGateway } from "../gateway/ensure-gateway.ts";
import { checkProgram, runClient } from "../gateway/run-client.ts";
import { command } from "../program/command.ts";
import { exitCode, failure, usageError } from "../program/failure.ts";

export const runCommand = command({
  name: "run",
  summary: "start another agent (claude, opencode, codex, pi) through the gateway",
  operands: {
    client: { shown: clientNames.join("|"), summary: "the agent to start; its program must be on the PATH" },
    args: { shown: "args", takes: "many", summary: "its own arguments, after --" },
  },
  options: {
    upstream: {
      type: "string",
      shown: "url",
      takes: "many",
      summary:
        "if a gateway has to be started: as in `palimpsest gateway` (default: the base URL that the client would have used)",
    },
    config: { type: "string", shown: "file", summary: "if a gateway has to be started: its config file" },
  },
  details: [
    "Starts the gateway in the background if none is running; it keeps running afterwards (stop it with `palimpsest gateway stop`). The base URL is set only for this process; no file of the client is changed.",
    "The exit code is the client's. Its sessions belong to the project of the current folder: `palimpsest sessions list`.",
  ],
  unknownOptionHint: "The client's own arguments come after --: `palimpsest run claude -- -p …`.",
  run: async (context, { operands: { client, args }, options }) => {
    if (!isClientName(client))
      return usageError(
        `unknown client ${client}`,
        `Clients: ${clientNames.join(", ")}. For any other client, set its base URL to what \`palimpsest gateway\` prints.`,
      );
    const missing = await checkProgram(context, client);
    if (missing !== undefined) return missing;
    const home = homeFolder(context.env);
    const project = await locateProject({ uuid: randomUUID }, { home, cwd: context.cwd });
    if (project.kind === "failed") return failure({ code: exitCode.machine, message: project.message });
    const configPath = options.config === undefined ? join(home, "gateway.json") : resolve(context.cwd, options.config);
    const keyless = checkUserKey({ client, env: context.env, configPath });
    if (keyless !== undefined) return keyless;
    const upstreams = await findClientUpstreams({ client, env: context.env, project: project.root, configPath });
    const gateway = await ensureGateway(context, { home, client: upstreams, ...options });
    if (gateway.kind === "failure") return gateway;
    const setup = await setUpClient({ client, args, env: context.env, home, url: gateway.url, project: project.root });
    if (setup.kind === "failure") return setup;
    for (const notice of setup.notices) await context.err.write(`${notice}\n`);
    return runClient(context, setup);
  },
});
