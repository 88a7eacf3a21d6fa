import { createInterface } from "node:readline/promises";
import type { CommandContext, Outcome } from "../command.ts";
import { canAsk } from "../compact/ask.ts";
import type { Failure } from "../failure.ts";

/** Whoever starts without a key sees what it is about all the same, if they want to. */
export async function offerDemo(context: CommandContext, told: Failure): Promise<Outcome> {
  if (!canAsk(context)) return { ...told, hint: `${told.hint ?? ""} \`palimpsest demo\` needs no key.`.trimStart() };
  const { stdin, err } = context;
  await err.write(`There is no key for a model yet.\n${told.hint ?? ""}\n`);
  await err.write("Watch the demo meanwhile? It needs none. [y/N] ");
  const lines = createInterface({ input: stdin, terminal: false });
  const [line] = await Promise.race([
    new Promise<readonly string[]>((resolve) => lines.once("line", (typed) => resolve([typed]))),
    new Promise<readonly string[]>((resolve) => lines.once("close", () => resolve([]))),
  ]);
  lines.close();
  stdin.pause();
  if (!/^y(es)?$/i.test((line ?? "").trim())) return told.code;
  const { demoCommand } = await import("../command/demo.ts");
  return demoCommand.run(context, []);
}
