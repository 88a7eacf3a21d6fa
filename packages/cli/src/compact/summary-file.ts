import { resolve } from "node:path";
import { createEngine } from "../host/engine.ts";
import type { CommandContext } from "../command.ts";
import { exitCode } from "../exit-code.ts";
import { failure, type Failure } from "../failure.ts";
import { oneLine } from "../human.ts";
import { pipedText } from "../piped-text.ts";
import { summaryBytesMax } from "./limits.ts";

export type GivenSummary = { readonly kind: "given"; readonly text: string } | Failure;

/** A summary that a person has written: the content of a file, or what comes through the pipe for `-`. */
export async function givenSummary(context: CommandContext, name: string): Promise<GivenSummary> {
  const read = name === "-" ? given(await pipedText(context.stdin, "required")) : await summaryIn(context, name);
  if (read.kind === "failure" || read.text !== "") return read;
  return failure({
    code: exitCode.usage,
    message: "the summary is empty",
    hint: "Give a file that holds one, or - and send it through a pipe.",
  });
}

const given = (text: string): GivenSummary => ({ kind: "given", text: text.trim() });

async function summaryIn(context: CommandContext, name: string): Promise<GivenSummary> {
  const source = await createEngine(context).openFile(resolve(context.cwd, name));
  if (source === undefined)
    return failure({ code: exitCode.notFound, message: `no file that you may read is called ${oneLine(name)}` });
  try {
    if (source.size <= summaryBytesMax)
      return given(new TextDecoder().decode(await source.read({ start: 0, end: source.size })));
    return failure({ code: exitCode.refused, message: `${oneLine(name)} is too large for a summary` });
  } finally {
    await source.close();
  }
}
