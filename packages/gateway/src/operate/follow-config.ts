import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";
import { errorCode } from "palimpsest/internal/store/files/disk";
import type { ConfigOutcome, GatewayConfig } from "./gateway-config.ts";
import type { GatewayListener } from "./gateway-event.ts";
import { configSettleMs } from "./limits.ts";

/** Keys that a running gateway can change. The others need a restart. */
const liveKeys = [
  "users",
  "names",
  "origins",
  "drainSeconds",
  "tls",
  "context",
  "paths",
  "prices",
] as const satisfies (keyof GatewayConfig)[];
const startKeys = ["upstream", "host", "port", "insecure", "log"] as const satisfies (keyof GatewayConfig)[];

export interface ConfigDifference {
  readonly changed: readonly string[];
  /** Changed as well, but only the next start reads it. */
  readonly afterRestart: readonly string[];
  /** Why nothing was applied. Absent if the config was accepted. */
  readonly refused?: string | undefined;
}

export function compareConfigs(running: GatewayConfig, next: GatewayConfig): ConfigDifference {
  const differs = (key: keyof GatewayConfig): boolean => JSON.stringify(running[key]) !== JSON.stringify(next[key]);
  const live = findLiveKeys(running, next);
  return {
    changed: live.filter(differs),
    afterRestart: [...startKeys, ...liveKeys.filter((key) => !live.includes(key))].filter(differs),
  };
}

/** The running config, with the values of `next` for every key that can change without a restart. */
export const applyLiveKeys = (running: GatewayConfig, next: GatewayConfig): GatewayConfig => ({
  ...running,
  ...Object.fromEntries(findLiveKeys(running, next).map((key) => [key, next[key]])),
});

/** A running server can renew its certificate, but can't switch TLS on or off. */
function findLiveKeys(running: GatewayConfig, next: GatewayConfig): readonly (typeof liveKeys)[number][] {
  const isTlsLive = (running.tls === undefined) === (next.tls === undefined);
  return liveKeys.filter((key) => key !== "tls" || isTlsLive);
}

export interface FollowConfigOptions {
  /** Absent: there is no file to watch, only `reload`. */
  readonly path: string | undefined;
  readonly read: () => ConfigOutcome;
  /** Applies what can change at run time, and returns what that was. */
  readonly apply: (config: GatewayConfig) => ConfigDifference;
  readonly onEvent: GatewayListener;
}

export interface ConfigFollower {
  /** Also called on SIGHUP. An invalid config changes nothing. */
  reload(): void;
  close(): void;
}

/** Watches the folder: editors replace files. */
export function followConfig({ path, read, apply, onEvent }: FollowConfigOptions): ConfigFollower {
  let timer: NodeJS.Timeout | undefined;
  const reload = (): void => {
    const outcome = read();
    if (outcome.kind !== "config") return onEvent({ kind: "config-refused", message: outcome.message });
    const { changed, afterRestart, refused } = apply(outcome.config);
    if (refused !== undefined) return onEvent({ kind: "config-refused", message: refused });
    if (changed.length > 0 || afterRestart.length > 0) onEvent({ kind: "config-loaded", changed, afterRestart });
  };
  const settle = (): void => {
    clearTimeout(timer);
    timer = setTimeout(reload, configSettleMs).unref();
  };
  const watcher = path === undefined ? undefined : watchFile(path, settle);
  return {
    reload,
    close: () => {
      clearTimeout(timer);
      watcher?.close();
    },
  };
}

/** Undefined if the folder can't be watched: then only SIGHUP reloads. */
function watchFile(path: string, onChange: () => void): FSWatcher | undefined {
  try {
    return watch(dirname(path), { persistent: false }, (_, name) => {
      if (name === null || name === basename(path)) onChange();
    }).on("error", () => undefined);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  }
}
