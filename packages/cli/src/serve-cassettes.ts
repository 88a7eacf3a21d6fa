import { cassetteProblemText } from "@palimpsest/simulator/internal/cassette/folder";
import { CassettePlayer } from "@palimpsest/simulator/internal/cassette/player";
import { CassetteRecorder } from "@palimpsest/simulator/internal/cassette/recorder";
import { servePlayer, serveRecorder } from "@palimpsest/simulator/internal/cassette/serve";
import type { ServeOptions, ServeOutcome } from "@palimpsest/simulator/internal/http/serve";
import { codeOf } from "palimpsest/internal/store/files/failure";
import type { CommandContext, Outcome } from "./command.ts";
import { exitCode } from "./exit-code.ts";
import { failure, type Failure } from "./failure.ts";
import { humanCount, oneLine } from "./human.ts";
import { type Cassettes, portInUse } from "./simulate-cassette.ts";
import { untilStopped } from "./until-stopped.ts";

interface Serve {
  readonly cassettes: Cassettes;
  readonly port: number;
  readonly hostname: string | undefined;
}

/** Records or plays until it is stopped. */
export async function serveCassettes(context: CommandContext, { cassettes, port, hostname }: Serve): Promise<Outcome> {
  const at: ServeOptions = { port, ...(hostname === undefined ? {} : { hostname }) };
  const served =
    cassettes.kind === "record"
      ? await beginRecording(context, { ...cassettes, at })
      : await beginPlaying(context, { ...cassettes, at });
  if (served.kind === "failure") return served;
  const { serving, told } = served;
  if (serving.kind === "failed")
    return serving.code === "EADDRINUSE"
      ? portInUse(port)
      : failure({ code: exitCode.machine, message: serving.message, hint: "Choose another address or port." });
  await context.out.write(`${serving.url}\n`);
  await context.err.write(`${told}; stop with Ctrl-C.\n`);
  await untilStopped();
  await serving.close();
  return exitCode.fine;
}

interface Begun {
  readonly kind: "begun";
  readonly serving: ServeOutcome;
  readonly told: string;
}

type Begin<Kind extends Cassettes["kind"]> = Extract<Cassettes, { kind: Kind }> & { readonly at: ServeOptions };

async function beginRecording(
  context: CommandContext,
  { folder, upstream, at }: Begin<"record">,
): Promise<Begun | Failure> {
  const onLost = (message: string): void => void tell(context, message);
  const recorder = await CassetteRecorder.open({ folder, upstream, onLost }).catch(notAFolder);
  if (recorder === undefined) return noFolder(folder);
  const serving = await serveRecorder(recorder, at);
  return { kind: "begun", serving, told: `${upstream} answers; cassettes go to ${folder}` };
}

async function beginPlaying(context: CommandContext, { folder, speed, at }: Begin<"play">): Promise<Begun | Failure> {
  const onMiss = (message: string): void => void tell(context, message);
  const opening = await CassettePlayer.open({ folder, speed, onMiss }).catch(notAFolder);
  if (opening === undefined) return noFolder(folder);
  if (opening.kind === "absent")
    return failure({ code: exitCode.notFound, message: `no folder is called ${folder}`, hint: "--record makes one." });
  const { player } = opening;
  for (const problem of player.problems) await tell(context, `not used: ${cassetteProblemText(problem)}`);
  if (player.cassetteCount === 0)
    return failure({
      code: exitCode.notFound,
      message: `${folder} holds no cassette that can be read`,
      hint: "Record some with --record and --upstream.",
    });
  const serving = await servePlayer(player, at);
  return { kind: "begun", serving, told: `${humanCount(player.cassetteCount)} cassettes of ${folder} answer` };
}

/** On stderr: stdout holds the URL alone, for scripts. */
async function tell({ err }: CommandContext, message: string): Promise<void> {
  await err.write(`${oneLine(message)}\n`);
}

const noFolder = (folder: string): Failure =>
  failure({ code: exitCode.refused, message: `${folder} is no folder`, hint: "Name a folder for cassettes." });

function notAFolder(error: unknown): undefined {
  const code = codeOf(error);
  if (code !== "ENOTDIR" && code !== "EEXIST") throw error;
}
