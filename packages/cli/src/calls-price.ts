import { CostLedger } from "palimpsest/internal/cache/costs";
import { callsCost } from "palimpsest/internal/context/compact/spent";
import type { NanoUsd } from "palimpsest/internal/schema/brand";
import type { PaidCall } from "palimpsest/internal/schema/edit";
import type { ModelOverride } from "palimpsest/internal/schema/model";
import { findModel } from "palimpsest/internal/tokens/registry";

/** Undefined where there is no call, or a model has no known price. */
export type PriceOf = (calls: readonly PaidCall[]) => NanoUsd | undefined;

/** `models`: what the person's own settings say of them. */
export function callsPricer(models: readonly ModelOverride[]): PriceOf {
  const costs = new CostLedger(models);
  return (calls) => {
    const isKnown = calls.length > 0 && calls.every(({ model }) => findModel(model, models) !== undefined);
    return isKnown ? callsCost({ costs }, calls) : undefined;
  };
}
