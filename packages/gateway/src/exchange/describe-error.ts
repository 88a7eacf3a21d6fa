import { errorCode } from "palimpsest/internal/store/files/disk";
import { GatewayFailure } from "../conversation/gateway-failure.ts";

/**
 * For events, which must hold neither a path nor what a client sent: messages of errors hold both. A name, codes and the line of
 * the source say what failed: `ContextError (store, ENOSPC) at append-entry.ts:70`.
 */
export function describeError(error: unknown): string {
  if (error instanceof GatewayFailure) return error.message;
  if (!(error instanceof Error)) return "unknown";
  const codes = [error, error.cause].flatMap((one) => errorCode(one) ?? []).filter((code) => codeShape.test(code));
  const known = codes.length === 0 ? "" : ` (${[...new Set(codes)].join(", ")})`;
  const [, place] = /\n {4}at [^\n]*[/\\]([\w.-]+\.[jt]s:\d+):\d+\)?(?:\n|$)/.exec(error.stack ?? "") ?? [];
  return `${error.name}${known}${place === undefined ? "" : ` at ${place}`}`;
}

const codeShape = /^[\w-]{1,64}$/;
