import { CostLedger } from "../cache/costs.ts";
import { pastRequests } from "../loop/agent/past-costs.ts";
import type { Session } from "../loop/session.ts";

type CostsByPayer = Readonly<Record<"own" | "inherited", CostLedger>>;

/** What the log of a session says was paid: for itself, and before it was forked or copied. */
export function costsSoFar(session: Session, models: ConstructorParameters<typeof CostLedger>[0]): CostsByPayer {
  const costs = { own: new CostLedger(models), inherited: new CostLedger(models) };
  for (const paid of pastRequests({ entries: session.fold.path.everyBranch, session: session.id }))
    costs[paid.paidBy].add(paid);
  return costs;
}
