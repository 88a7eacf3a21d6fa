import { formatCassetteProblem } from "@palimpsest/simulator/internal/cassette/read-cassette-folder";
import { CassettePlayer } from "@palimpsest/simulator/internal/cassette/cassette-player";
import {
  CassetteRecorder,
  servePlayer,
  serveRecorder,
} from "@palimpsest/simulator/internal/cassette/cassette-recorder";
import type { ServeOptions, ServeOutcome } from "@palimpsest/simulator/internal/http/serve-simulator";
import { errorCode } from "palimpsest/internal/store/files/disk";
import type { CommandContext, Outcome } from "../program/command.ts";
import { exitCode, failure, type Failure } from "../program/failure.ts";
import { formatNumber, joinLines } from "../text/format.ts";
import { type Cassettes, portInUse } from "./parse-cassette-options.ts";
import { untilStopped } from "../program/stop-signal.ts";

/** Records or plays until it is stopped. */
export async function serveCassettes(
  context: CommandContext,
  {
    cassettes,
    port,
    hostname,
  }: { readonly cassettes: Cassettes; readonly port: number; readonly hostname: string | undefined },
): Promise<Outcome> {
  const serveOptions: ServeOptions = { port, ...(hostname === undefined ? {} : { hostname }) };
  const started =
    cassettes.kind === "record"
      ? await beginRecording(context, { ...cassettes, serveOptions })
      : await beginPlaying(context, { ...cassettes, serveOptions });
  if (started.kind === "failure") return started;
  const { serving, announcement } = started;
  if (serving.kind === "failed")
    return serving.code === "EADDRINUSE"
      ? portInUse(port)
      : failure({ code: exitCode.machine, message: serving.message, hint: "Choose another address or port." });
  await context.out.write(`${serving.url}\n`);
  await context.err.write(`${announcement}; stop with Ctrl-C.\n`);
  await untilStopped();
  await serving.close();
  return exitCode.fine;
}

interface ServeStart {
  readonly kind: "begun";
  readonly serving: ServeOutcome;
  readonly announcement: string;
}

type ServeStartInput<Kind extends Cassettes["kind"]> = Extract<Cassettes, { kind: Kind }> & {
  readonly serveOptions: ServeOptions;
};

async function beginRecording(
  context: CommandContext,
  { folder, upstream, serveOptions }: ServeStartInput<"record">,
): Promise<ServeStart | Failure> {
  const onLost = (message: string): void => void tell(context, message);
  const recorder = await CassetteRecorder.open({ folder, upstream, onLost }).catch(ignoreNotAFolder);
  if (recorder === undefined) return noFolder(folder);
  const serving = await serveRecorder(recorder, serveOptions);
  return { kind: "begun", serving, announcement: `${upstream} answers; cassettes go to ${folder}` };
}

async function beginPlaying(
  context: CommandContext,
  { folder, speed, serveOptions }: ServeStartInput<"play">,
): Promise<ServeStart | Failure> {
  const onMiss = (message: string): void => void tell(context, message);
  const opening = await CassettePlayer.open({ folder, speed, onMiss }).catch(ignoreNotAFolder);
  if (opening === undefined) return noFolder(folder);
  if (opening.kind === "absent")
    return failure({ code: exitCode.notFound, message: `no folder is called ${folder}`, hint: "--record makes one." });
  const { player } = opening;
  for (const problem of player.problems) await tell(context, `not used: ${formatCassetteProblem(problem)}`);
  if (player.cassetteCount === 0)
    return failure({
      code: exitCode.notFound,
      message: `${folder} holds no cassette that can be read`,
      hint: "Record some with --record and --upstream.",
    });
  const serving = await servePlayer(player, serveOptions);
  return {
    kind: "begun",
    serving,
    announcement: `${formatNumber(player.cassetteCount)} cassettes of ${folder} answer`,
  };
}

/** On stderr: stdout holds only the URL, for scripts. */
async function tell({ err }: CommandContext, message: string): Promise<void> {
  await err.write(`${joinLines(message)}\n`);
}

const noFolder = (folder: string): Failure =>
  failure({ code: exitCode.refused, message: `${folder} is no folder`, hint: "Name a folder for cassettes." });

function ignoreNotAFolder(error: unknown): undefined {
  const code = errorCode(error);
  if (code !== "ENOTDIR" && code !== "EEXIST") throw error;
}
