import { CostLedger } from "../cache/costs.ts";
import { callsCost } from "../loop/compact/spent.ts";
import type { NanoUsd } from "../schema/brand.ts";
import type { PaidCall } from "../schema/edit.ts";
import type { ModelOverride } from "../schema/model.ts";
import { findModel } from "../tokens/registry.ts";

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
