/** What a user can do about a turn that ended without an answer. How it is said depends on where they read it. */
export type Remedy =
  | "compact"
  | "rewind"
  | "other-model"
  | "smaller-window"
  | "new-session"
  | "open-again"
  | "say-again"
  | "say-less"
  | "go-on"
  | "wait"
  | "check-key"
  | "check-account"
  | "check-address"
  | "check-network"
  | "check-disk"
  | "check-hooks"
  | "check-tools"
  | "check-settings";

/** One at least: a message that names none leaves its reader alone. */
export type Remedies = readonly [Remedy, ...Remedy[]];
