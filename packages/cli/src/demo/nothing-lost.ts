import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expand } from "palimpsest/internal/session/expand";
import type { SessionId } from "palimpsest/internal/schema/brand";
import { counted } from "../human.ts";
import { logCall, logPath } from "./facts.ts";
import type { Stage } from "./stage.ts";
import { logOf, storeOf } from "./store-of.ts";

/** Every message and every result is still there, whatever the view shows, under the id that stands for it. */
export async function claimNothingLost({ teller, place, watched }: Stage, session: SessionId): Promise<void> {
  const deps = await storeOf(place);
  const source = await logOf(deps, session);
  try {
    const text = new TextDecoder().decode(await source.read({ start: 0, end: source.size }));
    const said = watched.says.filter((says) => text.includes(JSON.stringify(says).slice(1, -1)));
    const results = [];
    for (const call of watched.calls) if ("bytes" in (await expand(deps, source, call))) results.push(call);
    await teller.claim({
      label: "lost",
      isSo: said.length === watched.says.length && results.length === watched.calls.length,
      text: `nothing: all ${counted(said.length, "message")} and ${counted(results.length, "result")} are there, each under its id`,
    });
    const whole = await expand(deps, source, logCall);
    const log = await readFile(join(place.cwd, logPath), "utf8");
    await teller.claim({
      label: "expanded",
      isSo: "bytes" in whole && new TextDecoder().decode(whole.bytes).trimEnd() === log.trimEnd(),
      text: "the whole log comes back byte for byte",
    });
  } finally {
    await source.close();
  }
}
