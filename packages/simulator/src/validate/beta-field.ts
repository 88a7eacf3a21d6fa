import type { CheckInput } from "./check-input.ts";

/** A field that a request may have only with a beta. */
export interface BetaField {
  readonly path: string;
  readonly value: (request: CheckInput["request"]) => unknown;
  /** Any of them lets the field in. */
  readonly betas: readonly string[];
  /** Models from this version on take the field without a beta. */
  readonly generalSince?: number;
}
