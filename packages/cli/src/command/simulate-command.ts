import { openWorkspace } from "../host/workspace.ts";
import type { Responder } from "@palimpsest/simulator/internal/responder/responder";
import { extension } from "@palimpsest/simulator/internal/extension";
import { faultSyntaxes } from "@palimpsest/simulator/internal/fault/fault";
import { conditionForm, laneForm, scenarioForm, stepForm } from "@palimpsest/simulator/internal/scenario/scenario-form";
import { command, type CommandContext } from "../program/command.ts";
import { exitCode, failure, type Failure, usageError } from "../program/failure.ts";
import { parseCassetteOptions, portInUse } from "../simulate/parse-cassette-options.ts";
import { reportProblems } from "../program/report-problems.ts";
import { responderNames, chooseResponder } from "../simulate/choose-responder.ts";
import { untilStopped } from "../program/stop-signal.ts";

const fields = ({ shape }: { readonly shape: object }): string => Object.keys(shape).join(" ");

export const simulateCommand = command({
  name: "simulate",
  summary: "serve a Messages API on this machine that needs no key and refuses what the real one refuses",
  options: {
    port: { type: "string", shown: "n", summary: "port to listen on; 0 takes any free one (default 8787)" },
    host: { type: "string", shown: "address", summary: "address to listen on (default 127.0.0.1)" },
    scenario: {
      type: "string",
      shown: "file",
      summary: "answer by a scenario: YAML, or a module exporting `scenario`",
    },
    replay: { type: "string", shown: "session|file", summary: "answer with the replies of a recorded session" },
    responder: {
      type: "string",
      alias: "actor",
      shown: responderNames.join("|"),
      summary: "who answers without either (default echo)",
    },
    seed: {
      type: "string",
      shown: "n",
      summary: "the same seed gives the same ids, signatures and faults (default the scenario's, else 0)",
    },
    clock: {
      type: "string",
      shown: "real|virtual",
      summary: "virtual: time passes only by header and delays (default real)",
    },
    fault: {
      type: "string",
      shown: "fault probability",
      takes: "many",
      summary: "make some requests fail: 'overloaded 0.1', 'rate-limit retry-after=3 0.05'; may be repeated",
    },
    trace: { type: "string", shown: "file", summary: "write every request and reply to a new file of JSON lines" },
    [extension.flag.name]: { type: "boolean", summary: extension.flag.summary },
    record: {
      type: "string",
      shown: "folder",
      summary: "forward requests to --upstream and keep each exchange as a cassette",
    },
    upstream: { type: "string", shown: "url", summary: "base URL of the API to which --record forwards requests" },
    cassette: {
      type: "string",
      shown: "folder",
      summary: "answer with the cassettes of a folder, and with nothing else",
    },
    "cassette-speed": {
      type: "string",
      shown: "real|instant",
      summary: "real: events with their recorded delays (default instant)",
    },
  },
  details: [
    "The first line on stdout is the base URL for clients (ANTHROPIC_BASE_URL). It answers until it is stopped with Ctrl-C.",
    "Any key is accepted; each key has its own prompt cache. A request can move the clock (x-simulator-advance-ms) and ask for a fault (x-simulator-fault).",
    "A cassette holds a request and its answer, without keys: headers are kept by an allow-list, secrets in bodies are masked. The same request gets the same answer, several recorded ones in their order; any other request gets 404 with the first difference.",
    `Faults, with the number that counts where none is given: ${faultSyntaxes().join(", ")}.`,
    `Fields of a scenario: ${fields(scenarioForm)}; of a lane: ${fields(laneForm)}; of a step: ${fields(stepForm)}; of a condition: ${fields(conditionForm)}.`,
  ],
  run: async (context, { options }) => {
    const server = readServerOptions(options);
    if (server.kind === "failure") return server;
    const { port: _port, host: _host, record, upstream, cassette, "cassette-speed": speed, ...ofSimulator } = options;
    const cassettes = parseCassetteOptions({ record, upstream, cassette, "cassette-speed": speed }, ofSimulator);
    if (cassettes?.kind === "failure") return cassettes;
    if (cassettes !== undefined) {
      const { serveCassettes } = await import("../simulate/serve-cassettes.ts");
      return serveCassettes(context, { cassettes, port: server.port, hostname: options.host });
    }
    const chosen = await chooseResponder(context, options);
    if (chosen.kind === "failure") return chosen;
    const { reading } = await openWorkspace(context).settings();
    const wrong = await reportProblems(context, reading.problems);
    if (wrong !== undefined) return wrong;
    const { launchSimulator } = await import("@palimpsest/simulator/internal/launch-simulator");
    const launched = await launchSimulator({
      ...server,
      seed: server.seed ?? chosen.seed ?? 0,
      hostname: options.host,
      responder: chosen.responder,
      faults: options.fault,
      trace: options.trace,
      models: reading.settings.models.value,
      extensions: extension.flag.options(options[extension.flag.name]),
      onTraceError: (error) => void context.err.write(`the trace ends here: ${error.message}\n`),
    });
    if (launched.kind === "failed") return notLaunched(launched, { ...options, port: server.port });
    await context.out.write(`${launched.url}\n`);
    await announceResponder(context, { responder: chosen.responder, trace: options.trace });
    await untilStopped();
    await launched.close();
    return exitCode.fine;
  },
});

interface ServerOptions {
  readonly kind: "server";
  readonly port: number;
  readonly seed: number | undefined;
  readonly clock: "real" | "virtual";
}

const portDefault = 8787;

function readServerOptions(options: {
  readonly port: string | undefined;
  readonly seed: string | undefined;
  readonly clock: string | undefined;
}): ServerOptions | Failure {
  const port = options.port === undefined ? portDefault : Number(options.port);
  if (!/^\d+$/.test(options.port ?? "0") || port > 65_535)
    return usageError(
      `${options.port} is no port`,
      "A port is a whole number from 0 to 65535; 0 takes any that is free.",
    );
  const seed = options.seed === undefined ? undefined : Number(options.seed);
  if (seed !== undefined && !Number.isSafeInteger(seed))
    return usageError(`${options.seed} is no seed`, "A whole number.");
  const clock = options.clock ?? "real";
  if (clock !== "real" && clock !== "virtual")
    return usageError(`there is no clock called ${clock}`, "Clocks: real, virtual.");
  return { kind: "server", port, seed, clock };
}

function notLaunched(
  { code, message }: { readonly code: string; readonly message: string },
  { port, trace = "" }: { readonly port: number; readonly trace: string | undefined },
): Failure {
  if (code === "usage") return usageError(message, "`palimpsest help simulate` lists the faults and their parameters.");
  if (code === "EADDRINUSE") return portInUse(port);
  if (code === "ENOENT")
    return failure({
      code: exitCode.notFound,
      message: `there is no folder for the trace ${trace}`,
      hint: "Make it first, or name a file in another.",
    });
  if (code === "exists")
    return failure({ code: exitCode.refused, message, hint: "Name a file that does not exist yet." });
  return failure({ code: exitCode.machine, message, hint: "Choose another address, port or file." });
}

/** On stderr: stdout holds only the URL, for scripts. */
async function announceResponder(
  context: CommandContext,
  { responder, trace }: { responder: Responder; trace: string | undefined },
) {
  await context.err.write(
    `${responder.name} answers; stop with Ctrl-C.${trace === undefined ? "" : ` Trace: ${trace}`}\n`,
  );
}
