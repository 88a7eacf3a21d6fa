import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { SandboxUse } from "palimpsest/internal/ports/sandbox";
import { parsedOrUndefined } from "palimpsest/internal/schema/json";
import { replaceFile } from "palimpsest/internal/store/files/disk";

/**
 * That nothing holds commands on this machine, for the first chat here; later ones say it only in the status line, until
 * the reason is another. Must not reject: a notice that can't be remembered is given again.
 */
export async function sandboxNotice(use: SandboxUse, home: string): Promise<string | undefined> {
  if (use.kind !== "unheld" || use.because !== "absent") return undefined;
  const path = join(home, "notices.json");
  const given = givenShape.safeParse(parsedOrUndefined(await readFile(path, "utf8").catch(() => ""))).data ?? {};
  if (given.noSandbox === use.why) return undefined;
  const data = Buffer.from(`${JSON.stringify({ ...given, noSandbox: use.why }, undefined, 2)}\n`);
  await replaceFile({ path, data, sync: "unsynced" }).catch(() => undefined);
  return `There is no sandbox on this machine (${use.why}): what you allow runs with all your rights, and more is asked about.\nTo have one, ${use.remedy}. \`palimpsest doctor\` says this again.`;
}

const givenShape = z.looseObject({ noSandbox: z.string().optional() });
