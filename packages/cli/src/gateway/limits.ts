import { drainSecondsMax } from "@palimpsest/gateway/internal/operate/limits";

/** How long `palimpsest run` waits for a gateway to start: a cold start on a busy machine takes several seconds. */
export const startMsMax = 20_000;

/** How often a command checks whether a gateway has started or stopped. A shorter interval would not be noticed. */
export const pollMs = 50;

/** How long no gateway may be seen before a start counts as failed: one that gives way to another leaves a short gap. */
export const goneMs = 500;

/** The longest drain that a config allows, and a minute to write what is pending. */
export const stopMsMax = drainSecondsMax * 1_000 + 60_000;

/** Conversations that `gateway status` lists: they fit on a screen. The status page and `--json` have more. */
export const rowsShown = 20;

/** A client's settings file is small; a larger one is not read. */
export const settingsBytesMax = 1024 * 1024;
