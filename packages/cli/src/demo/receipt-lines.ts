import { openCounted } from "palimpsest/internal/session/counted";
import { pastReceipts, type RecordedEdit } from "palimpsest/internal/session/past-receipts";
import type { SessionId } from "palimpsest/internal/schema/brand";
import { boundaryFacts, type BoundaryFacts } from "../boundary-facts.ts";
import { counted, humanCount, humanPercent } from "../human.ts";
import type { DemoPlace } from "./demo-agent.ts";
import { logOf, storeOf } from "./store-of.ts";

/** A line an edit: the session is gone in a moment, so nobody needs what `receipts` says of taking it back. */
export async function receiptLines(place: DemoPlace, session: SessionId): Promise<readonly string[]> {
  const deps = await storeOf(place);
  const source = await logOf(deps, session);
  try {
    const { fold } = await openCounted(deps, { source, origin: "ours", tailBytes: source.size });
    const facts = boundaryFacts(fold.path.entries);
    return (await pastReceipts(fold, source)).map((edit) => lineOf(edit, facts.get(edit.id)));
  } finally {
    await source.close();
  }
}

const headColumns = 26;

function lineOf({ kind, count, cause, state, receipt }: RecordedEdit, boundary: BoundaryFacts | undefined): string {
  const why = cause ?? boundary?.trigger;
  const what = `${kind}${count === undefined ? "" : ` of ${humanCount(count)}`}${why === undefined ? "" : ` (${why})`}`;
  const facts = [
    ...(receipt === undefined
      ? ["before anything was sent"]
      : [
          `${humanCount(receipt.tokensBefore)} → ${humanCount(receipt.tokensAfter)} tokens`,
          paysText(receipt.price.breakEvenRounds),
        ]),
    ...(boundary?.auditScore === undefined ? [] : [`audit ${humanPercent(boundary.auditScore)}`]),
    ...(state === "undone" ? ["undone"] : []),
  ];
  return `${what.padEnd(headColumns)}${facts.join(", ")}`;
}

function paysText(rounds: number | undefined): string {
  if (rounds === undefined) return "saves nothing";
  return rounds === 0 ? "pays at once" : `pays after ${counted(rounds, "round")}`;
}
