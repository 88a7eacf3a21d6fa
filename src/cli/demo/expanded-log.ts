import { expand } from "../../loop/expand.ts";
import type { SessionId } from "../../schema/brand.ts";
import { humanBytes } from "../../schema/human-bytes.ts";
import type { DemoPlace } from "./demo-agent.ts";
import { stationLog } from "./project.ts";
import { storeOf } from "./resumed.ts";
import { logCall } from "./script.ts";
import type { Teller } from "./teller.ts";

export interface ExpandedLog {
  readonly place: DemoPlace;
  readonly session: SessionId;
}

/** The whole of what only a preview was ever shown of, as `palimpsest expand` prints it. */
export async function expandLog(teller: Teller, { place, session }: ExpandedLog): Promise<void> {
  const deps = await storeOf(place);
  const source = await deps.transcripts.openForReading(session);
  if (source === undefined) throw new Error("the demo's session is gone");
  const expanded = await expand(deps, source, logCall);
  await source.close();
  const log = stationLog();
  const isExact = "bytes" in expanded && new TextDecoder().decode(expanded.bytes) === log;
  await teller.claim({
    label: "expanded",
    isSo: isExact,
    text: `the whole of it, ${humanBytes(log.length)}, byte for byte`,
  });
}
